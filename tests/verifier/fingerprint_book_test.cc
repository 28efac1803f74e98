// Goal: saved digests come back as they were, compare by name, and maps of other checkers count for their names alone.
#include "verifier/fingerprint_book.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace reshardcheck {
namespace {

const std::string one(32, '1');
const std::string two(32, '2');
const std::string key(32, '0');

FingerprintBook book(std::vector<FingerprintRecord> records) { return {key, std::move(records)}; }

TEST(FingerprintBook, ComesBackAsItWasSaved) {
  const FingerprintBook saved = book({{"a", "bf16", {4, 2}, one}, {"b \"quoted\"", "f32", {}, two}});
  const Result<FingerprintBook> read = parse_fingerprint_book(to_json(saved).dump());
  ASSERT_TRUE(read.ok()) << read.error().reason;
  EXPECT_EQ(*read, saved);
}

TEST(FingerprintBook, ComparesByNameAndSaysWhatDiffers) {
  const FingerprintBook first = book({{"a", "bf16", {4}, one},
                                      {"b", "bf16", {4}, one},
                                      {"c", "bf16", {4}, one},
                                      {"d", "bf16", {4}, one},
                                      {"gone", "bf16", {4}, one}});
  const FingerprintBook second = book({{"new", "bf16", {4}, one},
                                       {"d", "f16", {4}, two},
                                       {"c", "bf16", {2, 2}, two},
                                       {"b", "bf16", {4}, two},
                                       {"a", "bf16", {4}, one}});
  const auto differences = compare(first, second);
  ASSERT_TRUE(differences.ok());
  EXPECT_EQ(*differences, (std::vector<BookDifference>{{"b", "digest"},
                                                       {"c", "shape"},
                                                       {"d", "dtype"},
                                                       {"gone", "only in the first"},
                                                       {"new", "only in the second"}}));
  EXPECT_TRUE(compare(first, first)->empty());
}

TEST(FingerprintBook, DigestsUnderTwoKeysAreNotCompared) {
  FingerprintBook other = book({});
  other.key = one;
  EXPECT_FALSE(compare(book({}), other).ok());
}

TEST(FingerprintBook, AMapOfOurDigestsIsComparedAndAMapOfOtherHashesByItsNames) {
  const FingerprintBook saved = book({{"a", "bf16", {4}, one}, {"b", "bf16", {4}, two}});
  const auto map = parse_fingerprint_book(to_map_json(saved).dump());
  ASSERT_TRUE(map.ok());
  EXPECT_TRUE(compare(saved, *map)->empty());
  EXPECT_EQ(compare(book({{"a", "bf16", {4}, two}, {"b", "bf16", {4}, two}}), *map)->front().what, "digest");

  const std::string sha(64, 'a');
  const auto foreign = parse_fingerprint_book(R"({"0:0:0:0:a":")" + sha + R"(","0:0:0:1:a":")" + std::string(64, 'b') +
                                              R"(","0:1:0:0:c":")" + sha + "\"}");
  ASSERT_TRUE(foreign.ok());
  EXPECT_EQ(*compare(saved, *foreign),
            (std::vector<BookDifference>{{"b", "only in the first"}, {"c", "only in the second"}}));
}

TEST(FingerprintBook, AMapWhoseValuesDifferByRankIsNotOneOfTensorDigests) {
  const auto map = parse_fingerprint_book(R"({"0:0:0:0:a":")" + one + R"(","0:0:0:1:a":")" + two + "\"}");
  ASSERT_TRUE(map.ok());
  ASSERT_EQ(map->records.size(), 1u);
  EXPECT_EQ(map->records[0].digest, "");
}

TEST(FingerprintBook, NamesKeepTheirOwnColons) {
  const auto map = parse_fingerprint_book(R"({"0:0:0:0:x:y":")" + one + R"(","plain:z":")" + one + "\"}");
  ASSERT_TRUE(map.ok());
  EXPECT_EQ(map->records[0].name, "x:y");
  EXPECT_EQ(map->records[1].name, "plain:z");
}

TEST(FingerprintBook, BrokenTextIsRefused) {
  for (const char* text : {"", "[]", "{", R"({"format":"x"})", R"({"format":"reshardcheck-fingerprints"})",
                           R"({"format":"reshardcheck-fingerprints","version":2,"key":"","tensors":[]})",
                           R"({"format":"reshardcheck-fingerprints","version":1,"tensors":[]})",
                           R"({"format":"reshardcheck-fingerprints","version":1,"key":"","tensors":[{"name":"a"}]})",
                           R"({"format":"reshardcheck-fingerprints","version":1,"key":"",)"
                           R"("tensors":[{"name":"a","dtype":"u8","shape":[-1],"digest":"00"}]})",
                           R"({"0:0:0:0:a":7})"}) {
    EXPECT_FALSE(parse_fingerprint_book(text).ok()) << text;
  }
}

}  // namespace
}  // namespace reshardcheck
