// Untrusted text inside messages: one short printable line, whatever was typed.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace reshardcheck {

/// The text with '?' for every byte that is not printable ASCII, cut to `most_bytes` with "..." behind.
[[nodiscard]] inline std::string printable(std::string_view text, std::size_t most_bytes) {
  std::string result(text.substr(0, most_bytes));
  for (char& c : result) {
    if (c < ' ' || c > '~') c = '?';
  }
  if (text.size() > most_bytes) result += "...";
  return result;
}

/// A word of the input as an error message shows it: 'word'.
[[nodiscard]] inline std::string in_quotes(std::string_view word) {
  constexpr std::size_t most_bytes = 40;
  return "'" + printable(word, most_bytes) + "'";
}

}  // namespace reshardcheck
