// Library subjects, as adapters: what crosses the C ABI is what the Subject interface says, a library that cannot be
// used is told in one line, and the structs of the ABI stay as they are.
#include "core/subject/library.h"

#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>

#include "core/subject/abi_view.h"
#include "core/subject/capabilities.h"
#include "core/subject/registry.h"
#include "tests/core/subject/abi_layout.h"
#include "tests/core/subject/case_run.h"

extern "C" int abi_layout_in_c(std::uint64_t* out);

namespace reshardcheck {
namespace {

const std::string example_path = RESHARDCHECK_EXAMPLE_SUBJECT;
const std::string example = "lib:" + example_path;

std::string reason(const std::string& name) {
  const auto made = make_subject(name);
  return made.ok() ? "made" : made.error().reason;
}

// --- loading -------------------------------------------------------------------------------------------------------

TEST(LibrarySubject, HasTheFullTextAsItsName) {
  EXPECT_EQ(subject_of(example)->name(), example);
  EXPECT_EQ(subject_of(example + "?replica=last")->name(), example + "?replica=last");
}

TEST(LibrarySubject, SaysInOneLineWhyALibraryCannotBeUsed) {
  EXPECT_EQ(reason("lib:"), "lib: needs the path of a shared library, such as lib:./libmine.so");
  EXPECT_EQ(reason("lib:/no/such/lib.so?a=b"), "/no/such/lib.so: no such file");
  EXPECT_EQ(reason("lib:/"), "/: not a regular file");
  EXPECT_EQ(reason("lib:/dev/null"), "/dev/null: not a regular file");
  EXPECT_EQ(reason(std::string("lib:a\0b", 7)), "a?b: not a path");
  EXPECT_EQ(reason("lib:a\nb"), "a?b: no such file");
  EXPECT_LT(reason("lib:" + std::string(100'000, 'x')).size(), 500U);
  EXPECT_EQ(reason(example + "?" + std::string(100'000, 'x')), example_path + ": options are too long");
  const std::string newer = RESHARDCHECK_NEWER_SUBJECT;
  EXPECT_EQ(reason("lib:" + newer), newer + ": it speaks ABI version 2, this build speaks 1");
  const std::string incomplete = RESHARDCHECK_INCOMPLETE_SUBJECT;
  EXPECT_EQ(reason("lib:" + incomplete), incomplete + ": the function reshardcheck_subject_capabilities is missing");
}

TEST(LibrarySubject, SaysWhatTheLoaderSaysOfAFileThatIsNoLibrary) {
  const std::string path = testing::TempDir() + "reshardcheck_no_library.so";
  std::ofstream(path) << "this is text\n";
  const std::string why = reason("lib:" + path);
  EXPECT_TRUE(why.starts_with(path + ": not a library: ")) << why;
  EXPECT_EQ(why.find('\n'), std::string::npos);
  std::filesystem::remove(path);
}

TEST(LibrarySubject, IsNeverSearchedFor) {
  EXPECT_EQ(reason("lib:libm.so.6"), "libm.so.6: no such file");
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(std::filesystem::path(example_path).parent_path());
  const std::string bare = std::filesystem::path(example_path).filename();
  EXPECT_EQ(reason("lib:" + bare), "made");
  EXPECT_EQ(reason("lib:./" + bare), "made");
  std::filesystem::current_path(before);
}

// --- running -------------------------------------------------------------------------------------------------------

TEST(LibrarySubject, DeliversThroughTheCallbacks) {
  for (const char* text : {"bf16[8,8] 2@0 S(0) -> 4@2 S(1)", "f32[5,3] 2x2@0 S(0),S(0) -> 2x2@4 R,R",
                           "u8[9,4] 4{7,1,3,5} _S(0,2) -> 2x2@8 S(1),R | gap=2", "f64[] 2@0 R -> 3@1 R | world=6"}) {
    EXPECT_EQ(CaseRun{}.run(case_of(text), *subject_of(example)), "pass") << text;
    EXPECT_EQ(CaseRun{}.run(case_of(text), *subject_of(example + "?replica=last")), "pass") << text;
  }
}

TEST(LibrarySubject, ReportsWhyASessionCouldNotBeOpened) {
  EXPECT_EQ(CaseRun{}.run(case_of("u8[4] 1@0 R -> 1@1 R"), *subject_of(example + "?replica=best")), "error");
}

TEST(LibrarySubject, PromisesNothingThatTheLibraryDoesNot) {
  EXPECT_FALSE(subject_of(example)->promises_minimal_traffic());
}

// --- what a subject takes ------------------------------------------------------------------------------------------

reshardcheck_capabilities everything() {
  reshardcheck_capabilities all{};
  all.rules = all.dtypes = all.memory_kinds = all.paths = ~0U;
  all.overlap = all.strided_local = all.idle_ranks = 1;
  return all;
}

template <typename Change>
std::string refusal(const char* text, Change change) {
  reshardcheck_capabilities capabilities = everything();
  EXPECT_EQ(outside_of(capabilities, case_of(text)), std::nullopt) << text;
  change(capabilities);
  return outside_of(capabilities, case_of(text)).value_or("taken");
}

TEST(Capabilities, RefuseWhatLiesOutside) {
  using Capabilities = reshardcheck_capabilities;
  const char* const text = "bf16[8,8] 2x1@0 S(0,balanced),R -> 2x2@1 S(1),R via gather_broadcast | gap=1 world=6";
  EXPECT_EQ(refusal(text, [](Capabilities& c) { c.max_world_ranks = 5; }), "6 ranks; the subject takes at most 5");
  EXPECT_EQ(refusal(text, [](Capabilities& c) { c.max_dims = 1; }), "2 dims; the subject takes at most 1");
  EXPECT_EQ(refusal(text, [](Capabilities& c) { c.max_axes = 1; }), "2 mesh axes; the subject takes at most 1");
  EXPECT_EQ(refusal(text, [](Capabilities& c) { c.rules = 1U << RESHARDCHECK_CHUNK; }),
            "the subject takes no balanced split");
  EXPECT_EQ(refusal(text, [](Capabilities& c) { c.dtypes = ~(1U << RESHARDCHECK_BF16); }), "the subject takes no bf16");
  EXPECT_EQ(refusal(text, [](Capabilities& c) { c.paths = 1U << RESHARDCHECK_PATH_RESHARD; }),
            "the subject takes no gather_broadcast path");
  EXPECT_EQ(refusal(text, [](Capabilities& c) { c.overlap = 0; }),
            "rank 1 is in a source and in a target mesh; the subject keeps them apart");
  EXPECT_EQ(refusal(text, [](Capabilities& c) { c.strided_local = 0; }),
            "the subject takes no gaps between the rows of local tensors");
  EXPECT_EQ(refusal(text, [](Capabilities& c) { c.idle_ranks = 0; }),
            "rank 5 is in neither mesh of a tensor; the subject takes no idle ranks");
}

TEST(Capabilities, TakeWhatLiesOnTheirBorders) {
  EXPECT_EQ(refusal("u8[4,4] 2x1@0 S(0),R -> 1x2@2 R,S(1)",
                    [](reshardcheck_capabilities& c) {
                      c.max_world_ranks = 4;
                      c.max_dims = c.max_axes = 2;
                      c.rules = 1U << RESHARDCHECK_CHUNK;
                      c.dtypes = 1U << RESHARDCHECK_U8;
                      c.paths = 1U << RESHARDCHECK_PATH_RESHARD;
                      c.overlap = c.strided_local = c.idle_ranks = 0;
                    }),
            "taken");
  EXPECT_EQ(refusal("u8[4] 2@0 R -> 1@2 R", [](reshardcheck_capabilities& c) { c.rules = 0; }), "taken");
}

TEST(Capabilities, MustNameSomethingThatCanRun) {
  EXPECT_TRUE(check_capabilities(everything()).ok());
  for (const auto member : {&reshardcheck_capabilities::dtypes, &reshardcheck_capabilities::memory_kinds,
                            &reshardcheck_capabilities::paths}) {
    reshardcheck_capabilities capabilities = everything();
    capabilities.*member = 0;
    EXPECT_FALSE(check_capabilities(capabilities).ok());
  }
}

// --- the ABI itself ------------------------------------------------------------------------------------------------

// A change of these numbers breaks every library that is out there: it needs a new RESHARDCHECK_ABI_VERSION.
TEST(Abi, StructsStayAsTheyAreInCAndInCpp) {
  static_assert(RESHARDCHECK_ABI_VERSION == 1);
  const std::vector<std::uint64_t> pinned{32, 16, 40, 32, 184, 128, 40, 56, 40, 152, 56, 120, 32, 48};
  const std::vector<std::uint64_t> here{ABI_LAYOUT};
  std::vector<std::uint64_t> in_c(64);
  in_c.resize(static_cast<std::size_t>(abi_layout_in_c(in_c.data())));
  EXPECT_EQ(here, pinned);
  EXPECT_EQ(in_c, pinned);
}

TEST(AbiView, ShowsATensorAsTheCaseHasIt) {
  const Case value = case_of("w = f32[6,4] 2x2@3 S(0,segments=4|2),R -> 1@0 R via gather_broadcast");
  BatchTensor tensor{&value.tensors[0], {}, {}};
  std::array<std::byte, 48> memory{};
  tensor.source = {memory.data(), 2, {3, 4}, {4, 1}};
  AbiView view;
  const reshardcheck_tensor& shown = view.show({{&tensor, 1}, 7})[0];
  EXPECT_EQ(shown.struct_bytes, sizeof(shown));
  EXPECT_STREQ(shown.name, "w");
  EXPECT_EQ(shown.dtype, RESHARDCHECK_F32);
  EXPECT_EQ(shown.width_bytes, 4);
  EXPECT_EQ(shown.path, RESHARDCHECK_PATH_GATHER_BROADCAST);
  ASSERT_EQ(shown.dims, 2U);
  EXPECT_EQ(shown.shape[0], 6);
  ASSERT_EQ(shown.source.axes, 2U);
  EXPECT_EQ(shown.source.extents[1], 2);
  EXPECT_EQ(shown.source.ranks[3], 6);
  EXPECT_EQ(shown.source.placements[0].rule, RESHARDCHECK_SEGMENTS);
  ASSERT_EQ(shown.source.placements[0].size_count, 2U);
  EXPECT_EQ(shown.source.placements[0].sizes[1], 2);
  EXPECT_EQ(shown.source.placements[1].dim, -1);
  EXPECT_EQ(shown.source_local.data, memory.data());
  EXPECT_EQ(shown.source_local.mesh_index, 2);
  EXPECT_EQ(shown.source_local.strides[0], 4);
}

TEST(AbiView, ShowsARankOutsideTheMeshNoPartWhateverMemoryAnEarlierCaseLeft) {
  const Case value = case_of("u8[6] 2@0 S(0) -> 1@2 R");
  BatchTensor tensor{&value.tensors[0], {}, {}};
  tensor.target = {nullptr, LocalTensor::npos, {3, 4}, {4, 1}};
  tensor.target.shape.clear();
  tensor.target.strides.clear();
  AbiView view;
  const reshardcheck_tensor& shown = view.show({{&tensor, 1}, 0})[0];
  for (const reshardcheck_local& local : {shown.source_local, shown.target_local}) {
    EXPECT_EQ(local.mesh_index, -1);
    EXPECT_EQ(local.data, nullptr);
    EXPECT_EQ(local.shape, nullptr);
    EXPECT_EQ(local.strides, nullptr);
  }
}

TEST(AbiView, GivesTheIntervalsOfAMeshIndexAndNoneForOneThatIsNot) {
  const Case value = case_of("u8[6] 2@0 S(0,segments=4|2) -> 1@2 R");
  const BatchTensor tensor{&value.tensors[0], {}, {}};
  AbiView view;
  const reshardcheck_side& side = view.show({{&tensor, 1}, 0})[0].source;
  std::array<reshardcheck_interval, 2> out{};
  EXPECT_EQ(AbiView::intervals(&side, 1, 0, nullptr, 0), 2U);
  EXPECT_EQ(AbiView::intervals(&side, 1, 0, out.data(), 1), 2U);
  EXPECT_EQ(out[0].begin, 2);
  EXPECT_EQ(out[0].end, 4);
  EXPECT_EQ(out[1].end, 0);
  EXPECT_EQ(AbiView::intervals(&side, 1, 0, out.data(), 2), 2U);
  EXPECT_EQ(out[1].begin, 5);
  EXPECT_EQ(AbiView::intervals(&side, 2, 0, out.data(), 2), 0U);
  EXPECT_EQ(AbiView::intervals(&side, 0, 1, out.data(), 2), 0U);
}

TEST(AbiView, FollowsATensorThatChangesFromCallToCall) {
  const Case first = case_of("u8[6] 2@0 S(0) -> 1@2 R");
  const Case second = case_of("u8[8] 4@0 S(0) -> 1@4 R");
  AbiView view;
  for (const Case* value : {&first, &second, &first}) {
    const BatchTensor tensor{&value->tensors[0], {}, {}};
    const reshardcheck_tensor& shown = view.show({{&tensor, 1}, 0})[0];
    EXPECT_EQ(shown.shape[0], value->tensors[0].shape()[0]);
    EXPECT_EQ(shown.source.extents[0], value->tensors[0].source.mesh().extents()[0]);
    reshardcheck_interval last{};
    EXPECT_EQ(AbiView::intervals(&shown.source, 1, 0, &last, 1), 1U);
    EXPECT_EQ(last.end, value->tensors[0].source.piece(1, 0).owned.intervals()[0].end);
  }
}

}  // namespace
}  // namespace reshardcheck
