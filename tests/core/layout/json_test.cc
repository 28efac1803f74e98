// Goal: JSON is the second face of a case: the same values, the same limits, errors that name the member at fault.
#include "core/layout/json.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/arbitrary_layout.h"

namespace reshardcheck {
namespace {

using nlohmann::json;

const char* const example = R"json(
{"tensors":[{"name":"gate","dtype":"bf16","shape":[8,8],"path":"reshard",
             "source":{"mesh":[2],"ranks":[0,1],"placements":["S(0)"]},
             "target":{"mesh":[2,2],"ranks":[2,3,4,5],"placements":["S(1,pad=4)","R"]}}],
 "options":{"domain":"2@4","seed":7}})json";

std::string error_of(const json& value) {
  const Result<Case> parsed = case_from_json(value);
  return parsed ? "accepted" : parsed.error().reason;
}

/// What the example says after one change.
template <typename Change>
std::string error_after(Change change) {
  json value = json::parse(example);
  change(value);
  return error_of(value);
}

RC_GTEST_PROP(JsonLaws, AValueComesBackFromItsJson, ()) {
  const Case value = *arbitrary::case_value();
  const Result<Case> back = case_from_json(to_json(value));
  RC_ASSERT(back.ok());
  RC_ASSERT(*back == value);
}

RC_GTEST_PROP(JsonLaws, AValueComesBackFromTheTextOfItsJson, ()) {
  const Case value = *arbitrary::case_value();
  const std::string text = to_json(value).dump();
  const Result<Case> back = parse_case_json(text);
  RC_ASSERT(back.ok());
  RC_ASSERT(*back == value);
  RC_ASSERT(to_json(*back).dump() == text);
}

TEST(Json, SaysWhatTheNotationSays) {
  const Result<Case> parsed = parse_case_json(example);
  ASSERT_TRUE(parsed.ok()) << parsed.error().reason;
  EXPECT_EQ(to_text(*parsed), "gate = bf16[8,8] 2@0 S(0) -> 2x2@2 S(1,pad=4),R | domain=2@4 seed=7");
}

TEST(Json, ErrorsNameTheMember) {
  const auto begins = [](const std::string& error, const std::string& pointer) {
    const bool named = pointer.empty() ? !error.starts_with("/") && error != "accepted"  // of the value as a whole
                                       : error.starts_with(pointer + ": ");
    return named ? pointer : error;
  };
  const auto expect = [&](const std::string& pointer, auto change) {
    EXPECT_EQ(begins(error_after(change), pointer), pointer);
  };
  expect("/tensors", [](json& value) { value.erase("tensors"); });
  expect("/tensors", [](json& value) { value["tensors"] = 3; });
  expect("/tensors", [](json& value) { value["tensors"] = json::array(); });
  expect("/tensors/0", [](json& value) { value["tensors"][0] = "u8[2] 1@0 R -> 1@0 R"; });
  expect("/tensors/0", [](json& value) { value["tensors"][0]["pth"] = "gather_broadcast"; });
  expect("/tensors/0/name", [](json& value) { value["tensors"][0]["name"] = 7; });
  expect("/tensors/0/dtype", [](json& value) { value["tensors"][0].erase("dtype"); });
  expect("/tensors/0", [](json& value) { value["tensors"][0]["dtype"] = "bf17"; });
  expect("/tensors/0/shape", [](json& value) { value["tensors"][0]["shape"] = {8, 1.5}; });
  expect("/tensors/0/shape", [](json& value) { value["tensors"][0]["shape"] = {8, UINT64_MAX}; });
  expect("/tensors/0", [](json& value) { value["tensors"][0]["shape"] = {8, -8}; });
  expect("/tensors/0/source", [](json& value) { value["tensors"][0].erase("source"); });
  expect("/tensors/0/source", [](json& value) { value["tensors"][0]["source"]["first"] = 0; });
  expect("/tensors/0/source/mesh", [](json& value) { value["tensors"][0]["source"]["mesh"] = "2"; });
  expect("/tensors/0", [](json& value) { value["tensors"][0]["source"]["ranks"] = {0, 0}; });
  expect("/tensors/0", [](json& value) { value["tensors"][0]["source"]["ranks"] = {0}; });
  expect("/tensors/0/target/placements", [](json& value) { value["tensors"][0]["target"]["placements"] = {1, 2}; });
  expect("/tensors/0", [](json& value) { value["tensors"][0]["target"]["placements"] = {"S(2)", "R"}; });
  expect("/tensors/1", [](json& value) {
    value["tensors"].push_back(value["tensors"][0]);
    value["tensors"][1]["path"] = "pigeon";
  });
  expect("/options", [](json& value) { value["options"] = 1; });
  expect("/options/speed", [](json& value) { value["options"]["speed"] = 1; });
  expect("/options/seed", [](json& value) { value["options"]["seed"] = -1; });
  expect("/options", [](json& value) { value["options"]["world"] = 3; });
  expect("", [](json& value) { value["verdict"] = "pass"; });
  expect("", [](json& value) { value = 3; });
}

TEST(Json, StringsCannotSmuggleInMoreThanTheirMemberSays) {
  EXPECT_NE(error_after([](json& value) { value["tensors"][0]["path"] = "reshard ; u8[2] 1@0 R -> 1@0 R"; }),
            "accepted");
  EXPECT_NE(error_after([](json& value) { value["tensors"][0]["path"] = "reshard | seed=3"; }), "accepted");
  EXPECT_NE(error_after([](json& value) { value["tensors"][0]["name"] = "a = u8[2] 1@0 R -> 1@0 R ; b"; }), "accepted");
}

TEST(Json, ANumberBeyondAllRangesIsAnError) {
  EXPECT_FALSE(parse_case_json("3e0104840").ok());
  EXPECT_FALSE(parse_case_json(R"({"tensors":[{"shape":[1e999]}]})").ok());
}

TEST(Json, BrokenJsonIsAnErrorAtAByte) {
  const Result<Case> parsed = parse_case_json(R"({"tensors":[}])");
  ASSERT_FALSE(parsed.ok());
  EXPECT_EQ(parsed.error().position, 12u);
  EXPECT_FALSE(parse_case_json("").ok());
  EXPECT_FALSE(parse_case_json(std::string(1'000'000, '[')).ok());
  EXPECT_FALSE(parse_case_json(std::string(100'000, '[') + std::string(100'000, ']')).ok());
  EXPECT_FALSE(parse_case_json("{\"tensors\":\"\xff\"}").ok());
}

}  // namespace
}  // namespace reshardcheck
