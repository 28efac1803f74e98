// Goal: files of shards under the right layouts have the digests of the whole tensors, and a wrong layout is refused or
// seen. Method: real safetensors files, written here.
#include "verifier/fingerprint_files.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/verifier/fingerprint_test_layouts.h"

namespace reshardcheck {
namespace {

using namespace fingerprint_tests;

struct WrittenTensor {
  std::string name;
  Shape shape;
  Bytes bytes;  // of bf16
};

/// Writes a safetensors file, opens it, and takes it off the disk again: the mapping stays.
SafetensorsFile file_of(const std::vector<WrittenTensor>& tensors) {
  nlohmann::ordered_json header;
  std::string content;
  for (const WrittenTensor& tensor : tensors) {
    const std::size_t begin = content.size();
    content.append(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
    header[tensor.name] = {{"dtype", "BF16"}, {"shape", tensor.shape}, {"data_offsets", {begin, content.size()}}};
  }
  const std::string text = header.dump();
  const std::uint64_t length = text.size();
  const std::string path = testing::TempDir() + "reshardcheck_fingerprint_files_test";
  std::ofstream(path, std::ios::binary) << std::string_view(reinterpret_cast<const char*>(&length), 8) << text
                                        << content;
  Result<SafetensorsFile> file = SafetensorsFile::open(path);
  std::remove(path.c_str());
  RESHARDCHECK_CHECK(file.ok());
  return *file;
}

WrittenTensor shard_of(const std::string& name, const Bytes& tensor, const Layout& layout, std::size_t mesh_index) {
  Bytes memory = deal(tensor, layout, mesh_index, DType::bf16).memory;
  memory.resize(static_cast<std::size_t>(layout.local_elements(mesh_index)) * 2);
  return {name, layout.local_shape(mesh_index), memory};
}

LayoutRule rule(const std::string& text) { return *parse_layout_rule(text); }

std::string dealt_or_reason(const std::vector<SafetensorsFile>& files, const std::vector<LayoutRule>& rules) {
  const Result<std::vector<DealtTensor>> dealt = deal_tensors(files, rules);
  return dealt ? dealt->front().layout.text() : dealt.error().reason;
}

RC_GTEST_PROP(FingerprintFiles, ShardsUnderAnyLayoutHaveTheStateOfTheWholeTensor, ()) {
  const FingerprintKey key(test_key);
  const Shape shape = draw_shape();
  const Layout layout = draw_layout(shape);
  const Bytes tensor = random_tensor(shape, DType::bf16, *rc::gen::arbitrary<std::uint64_t>());
  std::vector<SafetensorsFile> files;
  for (std::size_t i = 0; i < layout.mesh().size(); ++i) files.push_back(file_of({shard_of("w", tensor, layout, i)}));
  LayoutRule exact{"*", shape, layout.text()};
  const bool padded = layout.text().find("pad") != std::string::npos;
  if (!padded && *rc::gen::arbitrary<bool>()) exact.shape.reset();  // worked out from the shards
  const std::vector<LayoutRule> rules = {exact};
  const Result<std::vector<DealtTensor>> dealt = deal_tensors(files, rules);
  RC_ASSERT(dealt.ok());
  const TensorFingerprint found = fingerprint_of(key, dealt->front());
  RC_ASSERT(found.state == state_under(key, tensor, whole(shape), DType::bf16));
  RC_ASSERT(found.odd_replicas.empty());
}

TEST(FingerprintFiles, FilesAreRanksInAscendingOrderWhateverTheMeshSays) {
  const FingerprintKey key(test_key);
  const Bytes tensor = random_tensor({4, 4}, DType::bf16, 1);
  const Layout layout = *Layout::make({4, 4}, *Mesh::make({2}, {5, 3}), {Placement::shard(0)});
  const std::vector<SafetensorsFile> files = {file_of({shard_of("w", tensor, layout, 1)}),   // rank 3
                                              file_of({shard_of("w", tensor, layout, 0)})};  // rank 5
  const std::vector<LayoutRule> rules = {rule("2{5,3} S(0)")};
  const auto dealt = deal_tensors(files, rules);
  ASSERT_TRUE(dealt.ok()) << dealt.error().reason;
  EXPECT_EQ(fingerprint_of(key, dealt->front()).state, state_under(key, tensor, whole({4, 4}), DType::bf16));
}

TEST(FingerprintFiles, ReplicasThatDifferAreNamed) {
  const FingerprintKey key(test_key);
  const Bytes tensor = random_tensor({4}, DType::bf16, 1);
  Bytes other = tensor;
  other[3] ^= std::byte{1};
  const std::vector<SafetensorsFile> files = {file_of({{"norm", {4}, tensor}}), file_of({{"norm", {4}, other}}),
                                              file_of({{"norm", {4}, tensor}})};
  const auto dealt = deal_tensors(files, {});
  ASSERT_TRUE(dealt.ok());
  EXPECT_EQ(fingerprint_of(key, dealt->front()).odd_replicas, (std::vector<Rank>{1}));
}

TEST(FingerprintFiles, TheFirstRuleThatMatchesCountsAndFilesWithoutATensorDoNot) {
  const Bytes tensor = random_tensor({2, 2}, DType::bf16, 1);
  const std::vector<SafetensorsFile> files = {file_of({{"a.q_proj", {2, 2}, tensor}}),
                                              file_of({{"norm", {2, 2}, tensor}}),
                                              file_of({{"a.q_proj", {2, 2}, tensor}, {"norm", {2, 2}, tensor}})};
  const std::vector<LayoutRule> rules = {rule("*q_proj=2@0 S(1)"), rule("2@0 R")};
  const auto dealt = deal_tensors(files, rules);
  ASSERT_TRUE(dealt.ok()) << dealt.error().reason;
  ASSERT_EQ(dealt->size(), 2u);
  EXPECT_EQ((*dealt)[0].layout.shape(), (Shape{2, 4}));
  EXPECT_EQ((*dealt)[1].layout.text(), "2@0 R");
}

TEST(FingerprintFiles, ALayoutThatDoesNotFitTheFilesIsRefusedWithTheReason) {
  const Bytes tensor = random_tensor({2, 2}, DType::bf16, 1);
  const std::vector<SafetensorsFile> two = {file_of({{"w", {2, 2}, tensor}}), file_of({{"w", {2, 2}, tensor}})};
  const std::vector<SafetensorsFile> uneven = {file_of({{"w", {1, 2}, random_tensor({1, 2}, DType::bf16, 1)}}),
                                               file_of({{"w", {2, 2}, tensor}})};
  const auto contains = [](const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos ? "" : text;
  };
  EXPECT_EQ(dealt_or_reason(two, {rule("2@0 S(0)")}), "2@0 S(0)");
  EXPECT_EQ(contains(dealt_or_reason(two, {rule("4@0 S(0)")}), "has 4 ranks, but 2 of the files"), "");
  EXPECT_EQ(contains(dealt_or_reason(two, {rule("2@0 S(7)")}), "dim 7 does not exist"), "");
  EXPECT_EQ(contains(dealt_or_reason(two, {rule("2@0 S(0,pad=4)")}), "needs the shape"), "");
  EXPECT_EQ(contains(dealt_or_reason(two, {rule("[3,2] 2@0 S(0)")}), "holds [1,2] of [3,2]"), "");
  EXPECT_EQ(contains(dealt_or_reason(two, {rule("nonsense")}), "has no placements"), "");
  EXPECT_EQ(contains(dealt_or_reason(uneven, {rule("2@0 S(0)")}), "rank 0"), "");
  EXPECT_EQ(contains(dealt_or_reason(uneven, {rule("2@0 S(0,cuts=1|2)")}), "2@0 S(0,cuts=1|2)"), "");
}

TEST(FingerprintFiles, RulesAreReadWithAndWithoutPatternAndShape) {
  EXPECT_EQ(rule("2@0 S(0,cuts=1|2)").pattern, "*");
  EXPECT_EQ(rule("2@0 S(0,cuts=1|2)").side, "2@0 S(0,cuts=1|2)");
  EXPECT_EQ(rule("*proj*=2@0 S(0,pad=4)").pattern, "*proj*");
  EXPECT_EQ(rule("lm_head=[10,4] 2@0 S(0)").shape, (Shape{10, 4}));
  EXPECT_EQ(rule("lm_head=[] 2@0 R").shape, Shape{});
  for (const char* text : {"", "x=", "x=[1,2", "x=[a] 2@0 R", "x=[-1] 2@0 R", "[1]"}) {
    EXPECT_FALSE(parse_layout_rule(text).ok()) << text;
  }
}

TEST(FingerprintFiles, ADifferenceBetweenTwoSetsOfFilesIsLocated) {
  const FingerprintKey key(test_key);
  const Bytes tensor = random_tensor({8, 6}, DType::bf16, 1);
  Bytes wrong = tensor;
  wrong[2 * (5 * 6 + 4)] ^= std::byte{2};
  const Layout rows = *Layout::make({8, 6}, *Mesh::consecutive({4}, 0), {Placement::shard(0)});
  std::vector<SafetensorsFile> dealt_files;
  for (std::size_t i = 0; i < 4; ++i) dealt_files.push_back(file_of({shard_of("w", wrong, rows, i)}));
  const std::vector<SafetensorsFile> whole_file = {file_of({{"w", {8, 6}, tensor}})};
  const std::vector<LayoutRule> rules = {rule("4@0 S(0)")};
  const auto a = deal_tensors(whole_file, {});
  const auto b = deal_tensors(dealt_files, rules);
  ASSERT_TRUE(a.ok() && b.ok());
  const auto found = first_difference(48, partial_fingerprints(key, a->front()), partial_fingerprints(key, b->front()));
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(describe_elements({8, 6}, found->elements), "[5,4]");
  EXPECT_EQ(holders(b->front().layout, found->elements), (std::vector<Rank>{2}));
}

}  // namespace
}  // namespace reshardcheck
