// Levenshtein distance with a bound that grows with the word; a typed beginning of a word counts too.
#include "cli/suggestion.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace reshardcheck::cli {
namespace {

/// Levenshtein distance, one row at a time.
std::size_t edits(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

}  // namespace

std::optional<std::string> closest(std::string_view typed, std::span<const std::string> known) {
  constexpr std::size_t longest = 64;  // nobody mistypes a longer word into a known one
  if (typed.empty() || typed.size() > longest) return std::nullopt;
  std::optional<std::string> best;
  std::size_t best_edits = std::max<std::size_t>(1, typed.size() / 3) + 1;
  for (const std::string& word : known) {
    const std::size_t distance = edits(typed, word);
    const bool begins = word.size() > typed.size() && typed.size() >= 3 && word.starts_with(typed);
    if (distance < best_edits || (begins && !best)) {
      best = word;
      best_edits = std::min(best_edits, distance);
    }
  }
  return best;
}

}  // namespace reshardcheck::cli
