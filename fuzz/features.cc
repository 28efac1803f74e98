#include "fuzz/features.h"

#include <algorithm>
#include <set>

#include "core/layout/option_table.h"

namespace reshardcheck {
namespace {

class WordList {
 public:
  void add(std::string_view word, bool holds = true) {
    if (holds) words_.emplace(word);
  }
  [[nodiscard]] std::string text() const {
    std::string result;
    for (const std::string& word : words_) result += (result.empty() ? "" : " ") + word;
    return result;
  }

 private:
  std::set<std::string> words_;
};

void add_side(WordList& words, const Layout& layout, std::string_view side) {
  std::set<int> dims;
  for (const Placement& placement : layout.placements()) {
    if (placement.is_replicate()) continue;
    words.add("cut-" + std::string(side));
    words.add("same-dim", !dims.insert(placement.dim).second);
    words.add(name(placement.rule), placement.rule != SplitRule::chunk);
  }
  words.add("replicated-" + std::string(side), layout.replica_count() > 1);
  words.add("rank-order", !std::is_sorted(layout.mesh().ranks().begin(), layout.mesh().ranks().end()));
}

void add_tensor(WordList& words, const TensorCase& tensor) {
  add_side(words, tensor.source, "source");
  add_side(words, tensor.target, "target");
  words.add(name(tensor.path), tensor.path != Path::reshard);
  words.add("wide", width_bytes(tensor.dtype) > 1);
  words.add("zero-extent", elements(tensor.shape()) == 0);
  const auto ranks = tensor.source.mesh().ranks();
  words.add("overlap", std::any_of(ranks.begin(), ranks.end(),
                                   [&](Rank rank) { return tensor.target.mesh().index_of(rank).has_value(); }));
  words.add("target-first", tensor.target.mesh().highest_rank() < tensor.source.mesh().lowest_rank());
}

}  // namespace

std::string feature_words(const Case& value) {
  WordList words;
  words.add("mix", value.tensors.size() > 1);
  for (const TensorCase& tensor : value.tensors) add_tensor(words, tensor);
  for (const OptionValue& option : non_default_options(value.options)) {
    words.add(std::string(option.name) + "=", option.name != "seed");
  }
  return words.text();
}

}  // namespace reshardcheck
