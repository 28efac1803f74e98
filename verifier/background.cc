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

/// Calls visit(memory, pattern, bytes) for the parts of a range that lie in one word each. Stops when it says false.
template <typename Visit>
void for_each_word(const BackgroundRange& range, std::uint64_t key, Visit&& visit) {
  for (std::int64_t at = range.begin; at < range.end;) {
    const std::int64_t within = at % word_bytes;
    const std::int64_t bytes = std::min(word_bytes - within, range.end - at);
    const std::uint64_t word = word_at(at, key);
    const std::byte* pattern = reinterpret_cast<const std::byte*>(&word) + within;
    if (!visit(at, pattern, static_cast<std::size_t>(bytes))) return;
    at += bytes;
  }
}

}  // namespace

void write_background(const BackgroundRange& range, std::uint64_t key) {
  for_each_word(range, key, [&](std::int64_t at, const std::byte* pattern, std::size_t bytes) {
    std::memcpy(range.block + at, pattern, bytes);
    return true;
  });
}

std::int64_t first_changed(const BackgroundRange& range, std::uint64_t key) {
  std::int64_t changed = range.end;
  for_each_word(range, key, [&](std::int64_t at, const std::byte* pattern, std::size_t bytes) {
    if (std::memcmp(range.block + at, pattern, bytes) == 0) return true;
    changed = at;
    while (range.block[changed] == pattern[changed - at]) changed += 1;
    return false;
  });
  return changed;
}

std::byte background_byte(std::int64_t offset, std::uint64_t key) {
  const std::uint64_t word = word_at(offset, key);
  return reinterpret_cast<const std::byte*>(&word)[offset % word_bytes];
}

}  // namespace reshardcheck
