// Goal: the layouts here are the layouts that PyTorch, JAX and the fixed code of public bug reports produce.
// Method: every line of every golden .jsonl names a case and, for each rank of both sides, the local shape and the
// intervals it owns; Layout must say exactly the same. The .cases and .case files must parse, and say what their
// comments say.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/layout/notation.h"

namespace reshardcheck {
namespace {

using nlohmann::json;

std::vector<std::string> lines_of(const std::string& file) {
  std::ifstream stream(std::string(RESHARDCHECK_SOURCE_DIR) + "/golden/" + file);
  EXPECT_TRUE(stream.is_open()) << file;
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) {
    if (!line.empty() && line.front() != '#') lines.push_back(line);
  }
  return lines;
}

json owners(const Layout& layout) {
  json ranks = json::array();
  for (std::size_t index = 0; index < layout.mesh().size(); ++index) {
    json intervals = json::array();
    for (std::size_t dim = 0; dim < layout.dims(); ++dim) {
      json list = json::array();
      for (const Interval& each : layout.piece(index, dim).owned.intervals()) list.push_back({each.begin, each.end});
      intervals.push_back(std::move(list));
    }
    ranks.push_back({{"rank", layout.mesh().ranks()[index]},
                     {"local_shape", layout.local_shape(index)},
                     {"intervals", std::move(intervals)}});
  }
  return {{"ranks", std::move(ranks)}};
}

/// The golden line's complaint, or an empty string when Layout agrees with it.
std::string disagreement(const json& line) {
  const std::string text = line["case"];
  const Result<Case> parsed = parse_case(text);
  if (!parsed) return text + ": " + parsed.error().reason;
  const TensorCase& tensor = parsed->tensors.front();
  if (owners(tensor.source) != line["expect"]["source"]) return text + ": the source owners differ";
  if (owners(tensor.target) != line["expect"]["target"]) return text + ": the target owners differ";
  return "";
}

void expect_agreement(const std::string& file, std::size_t count) {
  const std::vector<std::string> lines = lines_of(file);
  EXPECT_EQ(lines.size(), count) << file;
  for (const std::string& line : lines) {
    const json parsed = json::parse(line);
    EXPECT_EQ(disagreement(parsed), "") << parsed["origin"];
  }
}

Case must_parse(const std::string& text) {
  Result<Case> parsed = parse_case(text);
  EXPECT_TRUE(parsed.ok()) << explain_error(text, parsed.error());
  return *std::move(parsed);
}

TEST(GoldenOwners, AreThoseThatPyTorchDealsOut) { expect_agreement("pytorch_layouts.jsonl", 400); }

TEST(GoldenOwners, AreThoseThatJaxDealsOut) { expect_agreement("jax_layouts.jsonl", 150); }

TEST(GoldenOwners, AreThoseThatPublicBugReportsAskFor) { expect_agreement("layout_regressions.jsonl", 17); }

TEST(GoldenOwners, AreSeenToDifferWhenOneIntervalIsOff) {
  json line = json::parse(lines_of("layout_regressions.jsonl").front());
  ASSERT_EQ(disagreement(line), "");
  line["expect"]["source"]["ranks"][1]["intervals"][0][0][1] = 4;  // the flat chunk of pytorch#194457
  EXPECT_NE(disagreement(line), "");
}

TEST(M2nMatrix, HoldsItsCasesInCanonicalFormAndNoneTwice) {
  std::vector<std::string> lines = lines_of("m2n_matrix.cases");
  EXPECT_EQ(lines.size(), 384u);
  for (const std::string& line : lines) {
    const Case value = must_parse(line);
    EXPECT_EQ(to_text(value), line);
    EXPECT_TRUE(value.world_ranks() == 8 || value.world_ranks() == 16) << line;
  }
  std::sort(lines.begin(), lines.end());
  EXPECT_EQ(std::adjacent_find(lines.begin(), lines.end()), lines.end());
}

TEST(Qwen3Layer, IsDealtOutAsTheInferenceSideStoresIt) {
  const std::vector<std::string> lines = lines_of("qwen3_30b_a3b_layer.case");
  ASSERT_EQ(lines.size(), 2u);
  const Case value = must_parse(lines.front());
  EXPECT_EQ(to_text(must_parse(lines[1])), lines[1]);
  EXPECT_EQ(value.world_ranks(), 32);
  std::map<std::string, const TensorCase*> tensors;
  for (const TensorCase& tensor : value.tensors) tensors[tensor.name] = &tensor;
  ASSERT_EQ(tensors.size(), 10u);

  const Layout& w13 = tensors.at("w13")->target;  // rank 1 of TP8: its 96 rows of gate, then its 96 of up
  EXPECT_EQ(w13.local_shape(1), (Shape{16, 192, 2048}));
  EXPECT_EQ(w13.piece(1, 1).owned.text(), "[96,192)[864,960)");
  EXPECT_EQ(tensors.at("w2")->target.local_shape(1), (Shape{16, 2048, 96}));
  EXPECT_EQ(tensors.at("w2")->source.local_shape(7), (Shape{2, 2048, 768}));

  const Layout& kv = tensors.at("kv_proj")->target;  // TP ranks 2 and 3 both hold KV head 1
  EXPECT_EQ(kv.piece(2, 0).owned.text(), "[128,256)[640,768)");
  EXPECT_EQ(kv.piece(3, 0), kv.piece(2, 0));
  EXPECT_EQ(kv.replica_count(), 4u);
  EXPECT_EQ(tensors.at("q_proj")->target.piece(3, 0).owned.text(), "[1536,2048)");

  for (const TensorCase& tensor : value.tensors) {
    const bool expert = tensor.name == "w13" || tensor.name == "w2";
    EXPECT_EQ(tensor.path, expert ? Path::reshard : Path::gather_broadcast) << tensor.name;
  }
}

}  // namespace
}  // namespace reshardcheck
