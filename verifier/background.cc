// Word by word, with the parts of words at the ends of a range compared byte for byte.
#include "verifier/background.h"

#include <algorithm>
#include <cstring>

#include "verifier/mix.h"

namespace reshardcheck {
namespace {

constexpr std::int64_t word_bytes = 8;

std::uint64_t word_at(std::int64_t offset, std::uint64_t key) {
  return key + static_cast<std::uint64_t>(offset / word_bytes) * golden_ratio;
}

/// Calls part(offset, pattern, bytes) for the incomplete words at the ends of a range and word(offset, pattern) for
/// the whole ones, in order, until one of them says false.
template <typename Part, typename Word>
void for_each_word(const BackgroundRange& range, std::uint64_t key, Part&& part, Word&& word) {
  std::int64_t at = range.begin;
  while (at < range.end) {
    const std::uint64_t pattern = word_at(at, key);
    const std::int64_t within = at % word_bytes;
    const std::int64_t bytes = std::min(word_bytes - within, range.end - at);
    const std::byte* first = reinterpret_cast<const std::byte*>(&pattern) + within;
    if (!(bytes == word_bytes ? word(at, pattern) : part(at, first, static_cast<std::size_t>(bytes)))) return;
    at += bytes;
  }
}

}  // namespace

void write_background(const BackgroundRange& range, std::uint64_t key) {
  for_each_word(
      range, key,
      [&](std::int64_t at, const std::byte* pattern, std::size_t bytes) {
        std::memcpy(range.block + at, pattern, bytes);
        return true;
      },
      [&](std::int64_t at, std::uint64_t pattern) {
        std::memcpy(range.block + at, &pattern, word_bytes);
        return true;
      });
}

std::int64_t first_changed(const BackgroundRange& range, std::uint64_t key) {
  std::int64_t changed = range.end;
  const auto unchanged = [&](std::int64_t at, const std::byte* pattern, std::size_t bytes) {
    const std::byte* differs = std::mismatch(pattern, pattern + bytes, range.block + at).first;
    if (differs == pattern + bytes) return true;
    changed = at + (differs - pattern);
    return false;
  };
  for_each_word(range, key, unchanged, [&](std::int64_t at, std::uint64_t pattern) {
    std::uint64_t found = 0;
    std::memcpy(&found, range.block + at, word_bytes);
    return found == pattern || unchanged(at, reinterpret_cast<const std::byte*>(&pattern), word_bytes);
  });
  return changed;
}

std::byte background_byte(std::int64_t offset, std::uint64_t key) {
  const std::uint64_t word = word_at(offset, key);
  return reinterpret_cast<const std::byte*>(&word)[offset % word_bytes];
}

}  // namespace reshardcheck
