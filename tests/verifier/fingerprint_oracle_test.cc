// Goal: the fingerprint alone tells a right reshard from a wrong one.
// Method: references and every mutant of the catalogue on drawn cases over the sim world. After every call the
// fingerprint, which knows no expected value, must say what the check of every element against its definition says.
// Calls in which a source changed are left out: there is no right answer to compare with.
#include "verifier/fingerprint_oracle.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>

#include "core/layout/notation.h"
#include "core/subject/registry.h"
#include "core/world/sim.h"
#include "tests/verifier/fingerprint_test_layouts.h"
#include "verifier/fill.h"
#include "verifier/rank_check.h"

namespace reshardcheck {
namespace {

using namespace fingerprint_tests;

/// What the two judges said of a run, up to the first call in which one of them found something.
struct Judgement {
  bool by_definition = false;
  std::string by_fingerprint;  // a sentence, or nothing
  bool source_changed = false;
};

class FingerprintRun {
 public:
  Judgement judge(const Case& value, Subject& subject) {
    const Fill fill(value);
    assign(value, fill);
    subject.begin_case();
    Judgement judgement;
    for (int pass = 0; pass < fill.passes(); ++pass) {
      for (RankCheck& rank : ranks_) rank.begin_pass(pass);
      for (int refit = 0; refit < fill.refits(); ++refit) {
        for (RankCheck& rank : ranks_) rank.fill_sources({pass, refit});
        if (!call(value, subject, {pass, refit})) return judgement;  // without an end there is nothing to judge
        judgement = judge_call(value, {pass, refit});
        if (judgement.by_definition || !judgement.by_fingerprint.empty()) return judgement;
      }
    }
    return judgement;
  }

 private:
  void assign(const Case& value, const Fill& fill) {
    ranks_.clear();
    ranks_.resize(static_cast<std::size_t>(value.world_ranks()));
    std::int64_t bytes = 0;
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      ranks_[rank].assign(value, fill, static_cast<Rank>(rank));
      bytes += ranks_[rank].bytes();
    }
    memory_.resize(static_cast<std::size_t>(bytes) + 64);
    std::byte* place = memory_.data() + (64 - reinterpret_cast<std::uintptr_t>(memory_.data()) % 64) % 64;
    for (RankCheck& rank : ranks_) {
      rank.place(place);
      place += rank.bytes();
    }
  }

  bool call(const Case& value, Subject& subject, Call at) {
    RunOptions options;
    options.world_ranks = std::ssize(ranks_);
    options.seed = value.options.seed + static_cast<std::uint64_t>(at.pass * 64 + at.refit);
    options.topology = Topology::of(value.options);
    Traffic traffic;
    const SessionOptions session{options.topology, value.options.chunk_bytes};
    const WorldOutcome outcome = world_.run(
        options,
        [&](Endpoint& endpoint) {
          RankCheck& rank = ranks_[static_cast<std::size_t>(endpoint.rank())];
          if (at == Call{}) rank.open(subject, endpoint, session);
          rank.call(endpoint, at);
        },
        traffic);
    return outcome.status == CommStatus::ok && std::all_of(ranks_.begin(), ranks_.end(), [](const RankCheck& rank) {
             return !rank.report().threw && rank.report().outcome.is_done();
           });
  }

  Judgement judge_call(const Case& value, Call at) {
    Judgement judgement;
    std::vector<std::vector<TensorStates>> states;
    for (RankCheck& rank : ranks_) {
      states.push_back(fingerprint_rank(key_, rank.buffers().tensors()));
      rank.check(at);
      judgement.by_definition = judgement.by_definition || rank.report().definition.wrong_elements > 0;
      judgement.source_changed = judgement.source_changed || rank.report().source_change.has_value();
    }
    const auto finding = judge_fingerprints(key_, value, states);
    if (finding) judgement.by_fingerprint = finding->text;
    return judgement;
  }

  FingerprintKey key_{test_key};
  SimWorld world_;
  std::vector<RankCheck> ranks_;
  Bytes memory_;
};

/// The layout on other ranks, in another order.
Layout scattered(const Layout& layout) {
  std::vector<Rank> ranks;
  for (Rank rank = 0; rank < static_cast<Rank>(layout.mesh().size()) + 2; ++rank) ranks.push_back(rank);
  for (std::size_t i = ranks.size(); i > 1; --i) {
    std::swap(ranks[i - 1], ranks[static_cast<std::size_t>(draw(0, static_cast<std::int64_t>(i) - 1))]);
  }
  ranks.resize(layout.mesh().size());
  const auto extents = layout.mesh().extents();
  const auto placements = layout.placements();
  return *Layout::make(layout.shape(), *Mesh::make({extents.begin(), extents.end()}, ranks),
                       {placements.begin(), placements.end()});
}

Layout draw_side(const Shape& shape) {
  const Layout layout = draw_layout(shape);
  return draw(0, 2) == 0 ? scattered(layout) : layout;
}

Case draw_case() {
  Case value;
  Shape shape;
  DType dtype = DType::u8;
  for (std::int64_t tensors = draw(1, 3); tensors > 0; --tensors) {
    if (value.tensors.empty() || draw(0, 1) == 0) {  // tensors of one shape are what caches and batches confuse
      shape.clear();
      for (std::int64_t dims = draw(1, 3); dims > 0; --dims) shape.push_back(draw(1, 9));
      dtype = draw_dtype();
    }
    const Path path = draw(0, 3) == 0 ? Path::gather_broadcast : Path::reshard;
    value.tensors.push_back({"", dtype, path, draw_side(shape), draw_side(shape)});
  }
  value.options.refits = draw(1, 5);
  value.options.gap_elements = draw(0, 2);
  value.options.chunk_bytes = draw(0, 1) * draw(1, 16);
  value.options.batch_tensors = draw(0, 2);
  value.options.domain_ranks = draw(0, 6);
  value.options.fill = draw(0, 2) == 0 ? FillKind::special : FillKind::hash;
  value.options.seed = static_cast<std::uint64_t>(draw(0, 1'000'000));
  return value;
}

RC_GTEST_PROP(FingerprintOracle, FindsNothingAtAReferenceOnAnyCase, ()) {
  const Case value = draw_case();
  RC_ASSERT(validate(value).ok());
  for (const char* name : {"reference", "reference:direct", "reference:gather_broadcast"}) {
    const auto subject = make_subject(name);
    FingerprintRun run;
    const Judgement judgement = run.judge(value, **subject);
    RC_ASSERT(!judgement.by_definition);
    RC_ASSERT(judgement.by_fingerprint == "");
  }
}

/// Holds the judges against each other on drawn cases; how many times both found the subject wrong.
std::int64_t times_caught(const std::string& subject_name, std::int64_t cases) {
  const auto subject = make_subject(subject_name);
  FingerprintRun run;
  rc::Random random(7);
  std::int64_t caught = 0;
  for (std::int64_t i = 0; i < cases; ++i) {
    const Case value = rc::gen::exec(draw_case)(random.split(), static_cast<int>(i % 100)).value();
    const Judgement judgement = run.judge(value, **subject);
    if (judgement.source_changed) continue;
    EXPECT_EQ(judgement.by_definition, !judgement.by_fingerprint.empty())
        << subject_name << " on " << to_text(value) << "\n"
        << judgement.by_fingerprint;
    caught += judgement.by_definition ? 1 : 0;
  }
  return caught;
}

TEST(FingerprintOracle, SaysOfEveryMutantWhatACheckOfEveryElementSays) {
  constexpr std::array data_verdicts = {"mismatch", "unwritten", "stale"};
  std::int64_t mutants = 0;
  std::int64_t caught = 0;
  for (const SubjectInfo& mutant : subject_catalogue()) {
    const bool wrong_data = std::any_of(data_verdicts.begin(), data_verdicts.end(), [&](const char* verdict) {
      return mutant.expected.find(verdict) != std::string::npos;
    });
    const bool seen = times_caught(mutant.name, 100) > 0;
    mutants += wrong_data ? 1 : 0;
    caught += wrong_data && seen ? 1 : 0;
    EXPECT_FALSE(mutant.expected == "pass" && seen) << mutant.name;
  }
  // A few need cases that are rare, or end in a hang more often than in wrong data; most must have shown themselves.
  EXPECT_GE(10 * caught, 8 * mutants) << caught << " of " << mutants;
}

TEST(FingerprintOracle, SeesATargetReplicaThatIsNotLikeTheOthers) {
  const FingerprintKey key(test_key);
  const Layout source = whole({4});
  const Layout target = *Layout::make({4}, *Mesh::consecutive({2}, 0), {Placement::replicate()});
  Case value;
  value.tensors.push_back({"w", DType::u8, Path::reshard, source, target});
  Bytes right = random_bytes(4, 1);
  Bytes wrong = right;
  wrong[2] ^= std::byte{1};
  const auto rank = [&](Bytes& memory, std::size_t index) {
    BatchTensor tensor{&value.tensors[0], {}, {}};
    if (index == 0) tensor.source = {right.data(), 0, {4}, {1}};
    tensor.target = {memory.data(), index, {4}, {1}};
    return fingerprint_rank(key, {&tensor, 1});
  };
  Bytes copy = right;
  const std::vector<std::vector<TensorStates>> good = {rank(copy, 0), rank(right, 1)};
  EXPECT_FALSE(judge_fingerprints(key, value, good).has_value());
  const std::vector<std::vector<TensorStates>> bad = {rank(copy, 0), rank(wrong, 1)};
  ASSERT_TRUE(judge_fingerprints(key, value, bad).has_value());
  EXPECT_EQ(judge_fingerprints(key, value, bad)->text,
            "target rank 1 and rank 0 hold different bits of the same shard");
}

}  // namespace
}  // namespace reshardcheck
