// Executor: right subjects pass on every kind of case, and every oracle fails a subject that it must fail.
#include "verifier/executor.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <stdexcept>

#include "core/plan/planner.h"
#include "core/subject/registry.h"
#include "core/world/sim.h"
#include "tests/verifier/generated_mix.h"
#include "tests/verifier/hand_ranks.h"
#include "tests/verifier/hand_subject.h"
#include "verifier/gather_broadcast_oracle.h"

namespace reshardcheck {
namespace {

Verdict verdict_on(std::string_view text, HandHooks hooks, ExecutorOptions options = {}) {
  HandSubject subject(std::move(hooks));
  Executor executor(options);
  return *executor.run(parsed_case(text), subject);
}

Verdict verdict_of(std::string_view subject, std::string_view text) {
  auto made = make_subject(subject);
  EXPECT_TRUE(made.ok());
  Executor executor;
  return *executor.run(parsed_case(text), **made);
}

constexpr std::string_view plain = "u8[4,6] 2@0 S(0) -> 2@2 S(1)";

RC_GTEST_PROP(Executor, PassesEveryReferenceOnEveryCase, ()) {
  const Case value = generated::mix();
  RC_ASSERT(validate(value).ok());
  for (const char* name : {"reference", "reference:direct", "reference:gather_broadcast"}) {
    auto subject = make_subject(name);
    Executor executor;
    const Verdict verdict = *executor.run(value, **subject);
    RC_LOG(to_text(value) + "\n" + verdict.detail);
    RC_ASSERT(verdict == Verdict{});
  }
}

RC_GTEST_PROP(Executor, PassesAHandMadeReshardOnEveryCase, ()) {
  const Case value = generated::mix();
  HandSubject subject;
  Executor executor;
  const Verdict verdict = *executor.run(value, subject);
  RC_LOG(to_text(value) + "\n" + verdict.detail);
  RC_ASSERT(verdict == Verdict{});
}

RC_GTEST_PROP(Executor, KeepsNothingFromTheCasesBefore, ()) {
  const Case first = generated::mix();
  const Case second = generated::mix();
  auto subject = make_subject("reference");
  auto broken = make_subject("mutant:overrun");
  Executor executor;
  const Verdict fresh = *executor.run(second, **broken);
  (void)*executor.run(first, **broken);
  RC_ASSERT(executor.run(first, **subject)->kind == VerdictKind::pass);
  RC_ASSERT(*executor.run(second, **broken) == fresh);
}

TEST(Executor, DefinitionFailsASubjectThatExchangesTwoElements) {
  const Verdict verdict = verdict_on(plain, {.after = [](int, Rank rank, const Batch& batch) {
                                       std::byte* data = batch.tensors[0].target.data;
                                       if (rank == 3) std::swap(data[0], data[2]);
                                     }});
  EXPECT_EQ(verdict.kind, VerdictKind::mismatch);
  EXPECT_EQ(verdict.oracle, "definition");
  EXPECT_EQ(verdict.wrong_elements, 2);
  EXPECT_EQ(verdict.detail,
            "rank 3 holds element [0,5] where element [0,3] belongs (tensor 0, local [0,0]); 2 of 24 elements wrong");
}

TEST(Executor, SeesASubjectThatDoesNothing) {
  const Verdict verdict = verdict_on(plain, {.instead = [](int, Endpoint&, const Batch&) { return Outcome::done(); }});
  EXPECT_EQ(verdict.kind, VerdictKind::unwritten);
  EXPECT_EQ(verdict.wrong_elements, 24);
}

TEST(Executor, SeesASubjectThatKeepsTheDataOfTheFirstRefit) {
  const std::string twice = std::string(plain) + " | refits=2";
  std::vector<std::byte> kept(64);
  const Verdict verdict = verdict_on(twice, {.after = [&](int call, Rank rank, const Batch& batch) {
                                       if (rank != 2) return;
                                       std::byte* data = batch.tensors[0].target.data;
                                       if (call % 2 == 0) kept.assign(data, data + 3);
                                       if (call % 2 == 1) std::copy_n(kept.begin(), 3, data);
                                     }});
  EXPECT_EQ(verdict.kind, VerdictKind::stale);
  EXPECT_EQ(verdict.wrong_elements, 3);
}

TEST(Executor, SeesDamageInOneCallOfMany) {
  const std::string often = std::string(plain) + " | refits=5";
  for (const int bad : {0, 4, 5, 9}) {
    const Verdict verdict = verdict_on(often, {.after = [&](int call, Rank rank, const Batch& batch) {
                                         if (rank == 2 && call == bad)
                                           batch.tensors[0].target.data[1] ^= std::byte{0x20};
                                       }});
    EXPECT_EQ(verdict.kind, VerdictKind::mismatch) << bad;
    EXPECT_EQ(verdict.wrong_elements, 1);
  }
}

TEST(Executor, GuardFailsASubjectThatWritesPastTheEnd) {
  const Verdict verdict = verdict_on(plain, {.after = [](int, Rank rank, const Batch& batch) {
                                       if (rank == 2) batch.tensors[0].target.data[12] = std::byte{1};
                                     }});
  EXPECT_EQ(verdict.kind, VerdictKind::guard);
}

TEST(Executor, SourceCheckFailsASubjectThatWritesToItsSource) {
  const Verdict verdict = verdict_on(plain, {.after = [](int call, Rank rank, const Batch& batch) {
                                       if (rank == 1 && call == 1) batch.tensors[0].source.data[5] ^= std::byte{1};
                                     }});
  EXPECT_EQ(verdict.kind, VerdictKind::source_modified);
}

TEST(Executor, CallsAnExceptionACrash) {
  const Verdict verdict =
      verdict_on(plain, {.instead = [](int, Endpoint& endpoint, const Batch&) {
                   if (endpoint.rank() == 2) throw std::runtime_error("empty shard");
                   return endpoint.barrier() == CommStatus::ok ? Outcome::done() : Outcome::error("stuck");
                 }});
  EXPECT_EQ(verdict.kind, VerdictKind::crash);
  EXPECT_NE(verdict.detail.find("empty shard"), std::string::npos);
}

TEST(Executor, CallsACircleOfWaitsAHang) {
  const Verdict verdict = verdict_on(plain, {.instead = [](int, Endpoint& endpoint, const Batch&) {
                                       std::byte byte{};
                                       const CommStatus status = endpoint.receive(endpoint.rank() ^ 1, {&byte, 1});
                                       return Outcome::error("receive failed", status);
                                     }});
  EXPECT_EQ(verdict.kind, VerdictKind::hang);
  EXPECT_NE(verdict.detail.find("rank 0"), std::string::npos);
}

TEST(Executor, CallsASendThatNobodyReceivesAHang) {
  const Verdict verdict = verdict_on(plain, {.after = [](int, Rank, const Batch&) {},
                                             .instead =
                                                 [](int, Endpoint& endpoint, const Batch& batch) {
                                                   if (endpoint.rank() == 0) {
                                                     endpoint.post_send(1, {batch.tensors[0].source.data, 1});
                                                   }
                                                   return Outcome::done();
                                                 }});
  EXPECT_EQ(verdict.kind, VerdictKind::hang);
}

TEST(Executor, TellsADisagreementFromAnErrorOfAll) {
  const auto fails_on = [](Rank last) {
    return HandHooks{.instead = [last](int, Endpoint& endpoint, const Batch&) {
      return endpoint.rank() <= last ? Outcome::error("cannot") : Outcome::done();
    }};
  };
  EXPECT_EQ(verdict_on(plain, fails_on(1)).kind, VerdictKind::disagree);
  EXPECT_EQ(verdict_on(plain, fails_on(3)).kind, VerdictKind::error);
  EXPECT_EQ(verdict_on(std::string(plain) + " | world=6", fails_on(3)).kind, VerdictKind::error);
}

TEST(Executor, JudgesRefusals) {
  const auto refuses = [](bool declared, bool writes) {
    HandHooks hooks;
    if (declared) hooks.unsupported = "no uneven shards";
    hooks.instead = [writes](int, Endpoint& endpoint, const Batch& batch) {
      if (writes && endpoint.rank() == 2) batch.tensors[0].target.data[0] ^= std::byte{1};
      return Outcome::unsupported("no uneven shards");
    };
    return hooks;
  };
  EXPECT_EQ(verdict_on(plain, refuses(true, false)).kind, VerdictKind::unsupported);
  EXPECT_EQ(verdict_on(plain, refuses(true, true)).kind, VerdictKind::mismatch);
  EXPECT_EQ(verdict_on(plain, refuses(false, false)).kind, VerdictKind::valid_rejected);
}

TEST(Executor, ProverFailsAWrongPlanThoughTheDataArrive) {
  HandHooks hooks;
  hooks.plan = [](const TensorCase& tensor, const Topology& topology) {
    Plan plan = make_plan(PlannerKind::direct, tensor.source, tensor.target, topology);
    plan.transfers.pop_back();
    return plan;
  };
  const Verdict verdict = verdict_on(plain, hooks);
  EXPECT_EQ(verdict.kind, VerdictKind::unwritten);
  EXPECT_EQ(verdict.oracle, "prover");
  ExecutorOptions without;
  without.oracles.prover = false;
  EXPECT_EQ(verdict_on(plain, hooks, without).kind, VerdictKind::pass);
}

TEST(Executor, ProverAcceptsARightPlan) {
  HandHooks hooks;
  hooks.plan = [](const TensorCase& tensor, const Topology& topology) {
    return make_plan(PlannerKind::replica_aware, tensor.source, tensor.target, topology);
  };
  EXPECT_EQ(verdict_on(plain, hooks), Verdict{});
}

TEST(Executor, SeesTrafficAboveThePromise) {
  // Two target replicas in one domain: the pieces may enter it once, 4 bytes; the direct planner lets them enter twice.
  const std::string_view text = "u8[4] 2@0 S(0) -> 2@2 R | domain=2";
  class Promising : public Subject {
   public:
    explicit Promising(std::unique_ptr<Subject> inner) : inner_(std::move(inner)) {}
    [[nodiscard]] std::string_view name() const override { return "promising"; }
    std::unique_ptr<Session> open(Endpoint& endpoint, const SessionOptions& options) override {
      return inner_->open(endpoint, options);
    }
    void begin_case() override { inner_->begin_case(); }
    [[nodiscard]] bool promises_minimal_traffic() const override { return true; }

   private:
    std::unique_ptr<Subject> inner_;
  };
  Executor executor;
  Promising direct(*make_subject("reference:direct"));
  Promising aware(*make_subject("reference:replica_aware"));
  const Verdict verdict = *executor.run(parsed_case(text), direct);
  EXPECT_EQ(verdict.kind, VerdictKind::excess_traffic);
  EXPECT_EQ(verdict.detail, "8 bytes crossed domains in pass 0, 4 would do");
  EXPECT_EQ(executor.run(parsed_case(text), aware)->kind, VerdictKind::pass);
  EXPECT_EQ(executor.run(parsed_case(std::string(text) + " faults=stall@9"), direct)->kind, VerdictKind::pass);
  EXPECT_EQ(verdict_of("reference:direct", text).kind, VerdictKind::pass);
}

TEST(Executor, NeverPassesAFaultThatChangesTheData) {
  for (const char* fault : {"drop@0", "corrupt@1", "truncate@0", "kill@2", "stall@0"}) {
    const Verdict verdict = verdict_of("reference", std::string(plain) + " | faults=" + fault);
    EXPECT_TRUE(verdict.failed()) << fault;
  }
  EXPECT_EQ(verdict_of("reference", std::string(plain) + " | faults=drop@0").kind, VerdictKind::hang);
  EXPECT_EQ(verdict_of("reference", std::string(plain) + " | faults=corrupt@0").kind, VerdictKind::mismatch);
  EXPECT_EQ(verdict_of("reference", std::string(plain) + " | faults=kill@1").kind, VerdictKind::crash);
}

TEST(Executor, RefusesACaseThatNeedsTooMuchAndSaysHowMuch) {
  ExecutorOptions small;
  small.max_bytes = 1'000'000;
  Executor executor(small);
  HandSubject subject;
  const Case large = parsed_case("f64[1000,1000] 1@0 R -> 1@1 R");
  const Result<Verdict> refused = executor.run(large, subject);
  ASSERT_FALSE(refused.ok());
  const std::string needed = std::to_string(*Executor::bytes_needed(large));
  EXPECT_EQ(refused.error().reason, "the case needs " + needed + " bytes of memory, 1000000 are allowed");
  EXPECT_GE(*Executor::bytes_needed(large), 2 * 8'000'000);
}

TEST(Executor, SaysWhenTheMemoryOverflows) {
  EXPECT_FALSE(Executor::bytes_needed(parsed_case("f64[1000000000,1000000000] 1@0 R -> 64x64@1 R,R")).ok());
  EXPECT_TRUE(Executor::bytes_needed(parsed_case("f64[0,1000000000000] 2@0 S(1) -> 1@2 R")).ok());
}

TEST(Executor, ReportsWhoServedWhom) {
  Executor executor;
  auto subject = make_subject("reference:direct");
  EXPECT_EQ(executor.run(parsed_case("u8[6] 2@0 R -> 3@2 R | fill=provenance"), **subject)->kind, VerdictKind::pass);
  std::int64_t elements = 0;
  for (const Served& served : executor.provenance().served) elements += served.elements;
  EXPECT_EQ(elements, 18);
  EXPECT_EQ(executor.run(parsed_case("u8[6] 2@0 R -> 3@2 R"), **subject)->kind, VerdictKind::pass);
  EXPECT_TRUE(executor.provenance().served.empty());
}

TEST(NaiveOracle, FailsATargetThatIsNotWhatTheMapSays) {
  HandRanks ranks(parsed_case("bf16[5,4] 2@0 S(0) -> 2@2 S(1,padded) | gap=1"));
  NaiveMaps maps;
  maps.assign(ranks.value());
  ranks.run([](Call) {});
  RankReport& report = ranks[3].report();
  check_naive(maps, ranks.fill(), {1, 0}, ranks[3].buffers(), report);
  EXPECT_EQ(report.naive.wrong_elements, 0);
  ranks.target(3, 0).data[2] ^= std::byte{1};
  check_naive(maps, ranks.fill(), {1, 0}, ranks[3].buffers(), report);
  EXPECT_EQ(report.naive.wrong_elements, 1);
  EXPECT_EQ(ranks.verdict().kind, VerdictKind::mismatch);
  EXPECT_EQ(ranks.verdict().oracle, "naive");
}

TEST(NaiveOracle, FailsASourceThatWasFilledWrongly) {
  HandRanks ranks(parsed_case("bf16[5,4] 2@0 S(0) -> 2@2 S(1)"));
  NaiveMaps maps;
  maps.assign(ranks.value());
  ranks.run([](Call) {});
  ranks.source(1, 0).data[3] ^= std::byte{1};
  check_naive(maps, ranks.fill(), {1, 0}, ranks[1].buffers(), ranks[1].report());
  EXPECT_EQ(ranks.verdict().kind, VerdictKind::error);
  EXPECT_EQ(ranks.verdict().oracle, "naive");
}

TEST(NaiveOracle, FailsALayoutThatIsNotTheOneOfTheBuffers) {
  HandRanks ranks(parsed_case("u8[10] 4@0 S(0) -> 1@4 R"));
  NaiveMaps maps;
  const Case other = parsed_case("u8[10] 4@0 S(0,balanced) -> 1@4 R");
  maps.assign(other);
  ranks.run([](Call) {});
  check_naive(maps, ranks.fill(), {1, 0}, ranks[2].buffers(), ranks[2].report());
  EXPECT_EQ(ranks.verdict().oracle, "naive");
}

/// Delivers by hand, damages one byte of a target, and lets the gather-broadcast oracle alone look.
Verdict gather_broadcast_verdict(std::string_view text, std::optional<Rank> damaged) {
  HandRanks ranks(parsed_case(text));
  NaiveMaps maps;
  maps.assign(ranks.value());
  ranks.run([](Call) {});
  if (damaged) ranks.target(static_cast<std::size_t>(*damaged), 0).data[0] ^= std::byte{1};
  SimWorld world;
  RunOptions options;
  options.world_ranks = static_cast<std::int64_t>(ranks.size());
  Traffic traffic;
  const Call last{ranks.fill().passes() - 1, ranks.fill().refits() - 1};
  const RankBody body = [&](Endpoint& endpoint) {
    RankCheck& rank = ranks[static_cast<std::size_t>(endpoint.rank())];
    check_by_gather_broadcast(endpoint, ranks.value(), maps, last, rank.buffers(), rank.report());
  };
  EXPECT_EQ(world.run(options, body, traffic).status, CommStatus::ok);
  return ranks.verdict();
}

TEST(GatherBroadcastOracle, FailsATargetThatIsNotWhatItMoved) {
  for (const char* text : {"u8[4,6] 2@0 S(0) -> 2@2 S(1)", "f32[5,3] 2x2@0 S(0),R -> 3@1 S(0,padded) | gap=2",
                           "bf16[200,300] 2@0 S(0) -> 3@2 S(1)", "f64[] 1@3 R -> 3@2 R",
                           "u8[4] 2@0 R -> 4@0 R ; u8[70000] 3@1 S(0) -> 2@0 S(0)"}) {
    EXPECT_EQ(gather_broadcast_verdict(text, std::nullopt), Verdict{}) << text;
    const Verdict verdict = gather_broadcast_verdict(text, 3);
    EXPECT_EQ(verdict.kind, VerdictKind::mismatch) << text;
    EXPECT_EQ(verdict.oracle, "gather_broadcast") << text;
    EXPECT_EQ(verdict.wrong_elements, 1) << text;
  }
}

}  // namespace
}  // namespace reshardcheck
