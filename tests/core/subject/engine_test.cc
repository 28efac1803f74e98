// The engine moves exactly what a plan says: hand-made plans, strided buffers, pieces, failures.
#include "core/subject/engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "core/layout/notation.h"
#include "core/subject/local_memory.h"
#include "core/world/sim.h"
#include "tests/core/subject/case_run.h"

namespace reshardcheck {
namespace {

/// Two ranks, one u8 tensor: rank 0 holds `source`, rank 1 receives into `target`. The plan is the test's.
struct HandMade {
  Case value = case_of("u8[4,4] 1@0 R -> 1@1 R");
  std::vector<std::uint8_t> source;
  std::vector<std::uint8_t> target;
  std::vector<std::int64_t> source_strides = {4, 1};
  std::vector<std::int64_t> target_strides = {4, 1};
  Plan plan;
  EngineOptions options;

  HandMade() : source(16), target(16, 255) {
    for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::uint8_t>(i);
    plan.dims = 2;
  }

  /// Adds a transfer of rows x columns.
  Transfer& add(std::vector<Run> rows, std::vector<Run> columns) {
    Box box;
    box.elements = 1;
    for (const auto& [dim, runs] : {std::pair(0, rows), std::pair(1, columns)}) {
      box.dims[static_cast<std::size_t>(dim)] = {static_cast<std::uint32_t>(plan.runs.size()),
                                                 static_cast<std::uint32_t>(runs.size())};
      std::int64_t length = 0;
      for (const Run& run : runs) length += run.length;
      box.elements *= length;
      plan.runs.insert(plan.runs.end(), runs.begin(), runs.end());
    }
    plan.boxes.push_back(box);
    Transfer transfer;
    transfer.to = 1;
    transfer.box = static_cast<std::uint32_t>(plan.boxes.size() - 1);
    plan.transfers.push_back(transfer);
    return plan.transfers.back();
  }

  LocalTensor local(std::vector<std::uint8_t>& memory, const std::vector<std::int64_t>& strides) const {
    return {reinterpret_cast<std::byte*>(memory.data()), 0, {4, 4}, strides};
  }

  /// Runs the plan; returns the outcomes of both ranks.
  std::vector<Outcome> run(Traffic* traffic = nullptr) {
    std::vector<Outcome> outcomes(2);
    const PlanIndex index(plan, 2);
    SimWorld world;
    Traffic own;
    world.run(
        {.world_ranks = 2, .seed = 1, .faults = value.options.faults, .topology = {}},
        [&](Endpoint& endpoint) {
          BatchTensor tensor{&value.tensors[0], {}, {}};
          if (endpoint.rank() == 0) tensor.source = local(source, source_strides);
          if (endpoint.rank() == 1) tensor.target = local(target, target_strides);
          Engine engine;
          const EngineTensor work{&tensor, &plan, &index};
          outcomes[static_cast<std::size_t>(endpoint.rank())] = engine.run(endpoint, {&work, 1}, options);
        },
        traffic != nullptr ? *traffic : own);
    return outcomes;
  }

  bool all_done() {
    const std::vector<Outcome> outcomes = run();
    return std::all_of(outcomes.begin(), outcomes.end(), [](const Outcome& outcome) { return outcome.is_done(); });
  }
};

TEST(Engine, PlacesAProductOfRunsWhereTheOffsetsSay) {
  HandMade hand;
  // Rows 3 and 0 (in this order), columns 1..2 and 3, to rows 0 and 2, columns 0..1 and 3.
  hand.add({{3, 1, 3, 0}, {0, 1, 0, 2}}, {{1, 2, 1, 0}, {3, 1, 3, 3}});
  ASSERT_TRUE(hand.all_done());
  const std::vector<std::uint8_t> expected = {13, 14, 255, 15, 255, 255, 255, 255, 1, 2, 255, 3, 255, 255, 255, 255};
  EXPECT_EQ(hand.target, expected);
}

TEST(Engine, FollowsTheStridesOfBothSides) {
  HandMade hand;
  hand.source_strides = {1, 4};  // a transposed view
  hand.target.assign(24, 255);
  hand.target_strides = {6, 1};  // a gap of two behind each row
  hand.add({{0, 4, 0, 0}}, {{0, 4, 0, 0}});
  ASSERT_TRUE(hand.all_done());
  for (std::size_t row = 0; row < 4; ++row) {
    for (std::size_t column = 0; column < 6; ++column) {
      EXPECT_EQ(hand.target[row * 6 + column], column < 4 ? column * 4 + row : 255);
    }
  }
}

TEST(Engine, SendsAMessageInAsManyPiecesAsTheChunkAsksFor) {
  for (const std::int64_t chunk : {0, 1, 3, 4, 16, 17}) {
    HandMade hand;
    hand.options.chunk_bytes = chunk;
    hand.add({{0, 4, 0, 0}}, {{0, 4, 0, 0}});
    Traffic traffic;
    const std::vector<Outcome> outcomes = hand.run(&traffic);
    EXPECT_TRUE(outcomes[0].is_done() && outcomes[1].is_done());
    EXPECT_EQ(hand.target, hand.source);
    EXPECT_EQ(traffic.messages, chunk == 0 ? 1U : static_cast<std::uint64_t>((16 + chunk - 1) / chunk));
  }
}

TEST(Engine, ReportsAPlaceOutsideTheLocalTensorAndWritesNothing) {
  HandMade hand;
  hand.add({{0, 1, 0, 0}}, {{0, 2, 0, 3}});  // columns 3..4 of a target that has four
  const std::vector<Outcome> outcomes = hand.run();
  EXPECT_EQ(outcomes[1].kind, OutcomeKind::error);
  EXPECT_EQ(hand.target, std::vector<std::uint8_t>(16, 255));
}

TEST(Engine, SkipsAPlaceOutsideTheLocalTensorWhenAMutantAsksForIt) {
  HandMade hand;
  EngineDeviation deviation;
  hand.options.deviation = &deviation;
  hand.add({{0, 1, 0, 0}}, {{0, 2, 0, 3}});
  ASSERT_TRUE(hand.all_done());
  std::vector<std::uint8_t> expected(16, 255);
  expected[3] = 0;
  EXPECT_EQ(hand.target, expected);
}

TEST(Engine, ReportsAMessageThatNeverComes) {
  HandMade hand;
  hand.add({{0, 1, 0, 0}}, {{0, 4, 0, 0}}).sent = false;
  const std::vector<Outcome> outcomes = hand.run();
  EXPECT_EQ(outcomes[1].kind, OutcomeKind::error);
  EXPECT_EQ(outcomes[1].comm, CommStatus::deadlock);
}

TEST(Engine, ReportsAMessageOfAnotherSize) {
  HandMade hand;
  hand.value.options.faults = {{FaultKind::truncate, 0, 0}};
  hand.add({{0, 1, 0, 0}}, {{0, 4, 0, 0}});
  EXPECT_EQ(hand.run()[1].comm, CommStatus::size_mismatch);
}

TEST(Engine, ReturnsAtOnceOnARankWithoutTransfers) {
  HandMade hand;
  hand.plan.transfers.clear();
  Traffic traffic;
  const std::vector<Outcome> outcomes = hand.run(&traffic);
  EXPECT_TRUE(outcomes[0].is_done() && outcomes[1].is_done());
  EXPECT_EQ(traffic.messages, 0U);
}

TEST(BoxWalk, MergesWhatIsContiguousInEveryView) {
  HandMade hand;
  hand.add({{0, 4, 0, 0}}, {{0, 4, 0, 0}});
  const std::vector<std::int64_t> shape = {4, 4};
  const std::vector<std::int64_t> dense = {4, 1};
  const std::vector<std::int64_t> gaps = {6, 1};
  std::byte memory{};
  const auto stretches = [&](const std::vector<std::int64_t>& strides) {
    int count = 0;
    const BoxView view{&memory, shape, strides, &Run::from_offset, 0};
    for_each_stretch<1>(hand.plan, hand.plan.boxes[0], {view}, [&](const auto&, std::int64_t) { ++count; });
    return count;
  };
  EXPECT_EQ(stretches(dense), 1);
  EXPECT_EQ(stretches(gaps), 4);
}

TEST(LocalMemory, TakesAndPutsBackTheElementsOfAStridedTensor) {
  HandMade hand;
  const Layout& layout = hand.value.tensors[0].source;
  std::vector<std::uint8_t> memory(24);
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<std::uint8_t>(i);
  const LocalTensor tensor = hand.local(memory, {6, 1});
  const std::vector<std::byte> elements = take_elements(tensor, layout, DType::u8);
  ASSERT_EQ(elements.size(), 16U);
  EXPECT_EQ(std::to_integer<int>(elements[4]), 6);
  const std::vector<std::uint8_t> before = memory;
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = i % 6 < 4 ? 0 : memory[i];
  put_elements(tensor, layout, DType::u8, elements);
  EXPECT_EQ(memory, before);
}

}  // namespace
}  // namespace reshardcheck
