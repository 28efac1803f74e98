// Goal: what a file says is believed only after it has been checked. Method: a header for every way to lie.
#include "verifier/safetensors.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <string>

namespace reshardcheck {
namespace {

const std::array<std::byte, 64> data = {};

std::string reason_for(const std::string& header, std::int64_t bytes = 64) {
  const Result<std::vector<StoredTensor>> tensors = parse_safetensors_header(header, data.data(), bytes);
  return tensors ? "read" : tensors.error().reason;
}

std::string tensor(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"({"w":{"dtype":)" + dtype + R"(,"shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}";
}

TEST(Safetensors, ReadsTensorsInTheOrderOfTheirData) {
  const auto tensors = parse_safetensors_header(
      R"({"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[2,2],"data_offsets":[8,24]},)"
      R"("b":{"dtype":"BF16","shape":[4],"data_offsets":[0,8]},"c":{"dtype":"I64","shape":[],"data_offsets":[24,32]}})",
      data.data(), 32);
  ASSERT_TRUE(tensors.ok()) << tensors.error().reason;
  ASSERT_EQ(tensors->size(), 3u);
  EXPECT_EQ((*tensors)[0].name, "b");
  EXPECT_EQ((*tensors)[1].shape, (Shape{2, 2}));
  EXPECT_EQ((*tensors)[1].data, data.data() + 8);
  EXPECT_EQ((*tensors)[2].dtype, DType::i64);
}

TEST(Safetensors, RefusesEveryHeaderThatLies) {
  EXPECT_EQ(reason_for(tensor("\"U8\"", "[64]", "[0,64]")), "read");
  EXPECT_NE(reason_for("[1]"), "read");
  EXPECT_NE(reason_for("{"), "read");
  EXPECT_NE(reason_for(R"({"w":7})"), "read");
  EXPECT_NE(reason_for(tensor("\"F80\"", "[1]", "[0,10]")), "read");
  EXPECT_NE(reason_for(tensor("3", "[1]", "[0,1]")), "read");
  EXPECT_NE(reason_for(tensor("\"U8\"", "[-1]", "[0,1]")), "read");
  EXPECT_NE(reason_for(tensor("\"U8\"", "[1.5]", "[0,1]")), "read");
  EXPECT_NE(reason_for(tensor("\"U8\"", "{}", "[0,1]")), "read");
  EXPECT_NE(reason_for(tensor("\"U8\"", "[9223372036854775807,9]", "[0,1]")), "read");
  EXPECT_NE(reason_for(tensor("\"F64\"", "[4611686018427387904]", "[0,0]")), "read");
  EXPECT_NE(reason_for(tensor("\"U8\"", "[18446744073709551615]", "[0,1]")), "read");
  EXPECT_NE(reason_for(tensor("\"U8\"", "[65]", "[0,65]")), "read");
  EXPECT_NE(reason_for(tensor("\"U8\"", "[1]", "[2,1]")), "read");
  EXPECT_NE(reason_for(tensor("\"U8\"", "[1]", "[0,1,2]")), "read");
  EXPECT_NE(reason_for(tensor("\"U16\"", "[4]", "[0,4]")), "read");
  EXPECT_NE(reason_for(tensor("\"U8\"", "[1,1,1,1,1,1,1,1,1]", "[0,1]")), "read");
  EXPECT_NE(reason_for(std::string(100'000, '[')), "read");
}

std::string reason_for_file(const std::string& content) {
  const std::string path = testing::TempDir() + "reshardcheck_safetensors_test";
  std::ofstream(path, std::ios::binary) << content;
  const Result<SafetensorsFile> file = SafetensorsFile::open(path);
  std::remove(path.c_str());
  return file ? "read" : file.error().reason.substr(path.size());
}

std::string length_prefix(std::uint64_t bytes) {
  std::string text;
  for (int i = 0; i < 8; ++i) text += static_cast<char>(bytes >> (8 * i) & 255);
  return text;
}

TEST(Safetensors, RefusesFilesWhoseHeaderDoesNotFit) {
  EXPECT_EQ(reason_for_file(length_prefix(2) + "{}"), "read");
  EXPECT_EQ(reason_for_file(""), ": not a safetensors file: it is too short");
  EXPECT_EQ(reason_for_file(length_prefix(3) + "{}"), ": not a safetensors file: a header of 3 bytes");
  EXPECT_EQ(reason_for_file(length_prefix(~std::uint64_t{0}) + "{}"),
            ": not a safetensors file: a header of 18446744073709551615 bytes");
  EXPECT_FALSE(SafetensorsFile::open("/nowhere/at/all").ok());
  EXPECT_FALSE(SafetensorsFile::open("/").ok());
}

RC_GTEST_PROP(Safetensors, NoHeaderCrashesTheReader, (const std::string& noise)) {
  std::string header = tensor("\"U8\"", "[64]", "[0,64]");
  const auto at = *rc::gen::inRange<std::size_t>(0, header.size());
  header.replace(at, *rc::gen::inRange<std::size_t>(0, 9), noise);
  (void)reason_for(header);
}

}  // namespace
}  // namespace reshardcheck
