// Lines that are nearly cases. Each is a valid line hurt in a few places the way people, tools and disks hurt text:
// bytes lost, doubled or flipped, tokens of the grammar out of place, numbers far outside what they mean, ends cut.
#include <algorithm>
#include <string>
#include <string_view>

#include "core/layout/notation.h"
#include "fuzz/generator.h"

namespace reshardcheck {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::size_t draw_place(Choices& choices, const std::string& text) {
  return static_cast<std::size_t>(choices.below(std::ssize(text) + 1));
}

void replace_number(Choices& choices, std::string& text) {
  constexpr std::string_view numbers[] = {"0",
                                          "1",
                                          "-1",
                                          "7",
                                          "65535",
                                          "65536",
                                          "2147483648",
                                          "4294967296",
                                          "9223372036854775807",
                                          "9223372036854775808",
                                          "18446744073709551616",
                                          "99999999999999999999999999",
                                          "1e3",
                                          "0x10",
                                          "007",
                                          "3.5"};
  std::size_t begin = draw_place(choices, text);
  while (begin < text.size() && !is_digit(text[begin])) ++begin;
  std::size_t end = begin;
  while (end < text.size() && is_digit(text[end])) ++end;
  text.replace(begin, end - begin, choices.pick(std::span<const std::string_view>(numbers)));
}

void insert_token(Choices& choices, std::string& text) {
  constexpr std::string_view tokens[] = {"->",      "@",
                                         "{",       "}",
                                         "x",       ",",
                                         ";",       "|",
                                         "=",       "R",
                                         "S(",      "S(0)",
                                         "_S(0,2)", ")",
                                         "[",       "]",
                                         "cuts=",   "segments=1|2",
                                         "pad=0",   "balanced",
                                         "via",     "reshard",
                                         "domain=", "domain=2@1",
                                         "seed=1",  "faults=drop@0",
                                         "world=1", "refits=0",
                                         " ",       "\t",
                                         "u8[]",    "bf16[8,8] ",
                                         "#"};
  text.insert(draw_place(choices, text), choices.pick(std::span<const std::string_view>(tokens)));
}

/// Copies a stretch of the line to another place.
void repeat_stretch(Choices& choices, std::string& text) {
  const std::size_t begin = draw_place(choices, text);
  const std::string stretch = text.substr(begin, static_cast<std::size_t>(choices.below(16)));
  text.insert(draw_place(choices, text), stretch);
}

void hurt(Choices& choices, std::string& text) {
  enum Kind : std::int64_t { erase_byte, erase_stretch, flip_byte, insert_byte, cut_end, number, token, repeat, kinds };
  const std::size_t place = draw_place(choices, text);
  switch (choices.below(kinds)) {
    case erase_byte:
      text.erase(place, 1);
      break;
    case erase_stretch:
      text.erase(place, static_cast<std::size_t>(choices.below(12)));
      break;
    case flip_byte:
      if (place < text.size()) text[place] = static_cast<char>(text[place] ^ (1 << choices.below(8)));
      break;
    case insert_byte:
      text.insert(place, 1, static_cast<char>(choices.below(256)));
      break;
    case cut_end:
      text.resize(place);
      break;
    case number:
      replace_number(choices, text);
      break;
    case token:
      insert_token(choices, text);
      break;
    case repeat:
      repeat_stretch(choices, text);
      break;
    default:
      break;
  }
}

}  // namespace

std::string generate_broken_text(Choices& choices, const GeneratorOptions& options) {
  std::string text = to_text(generate_case(choices, options));
  for (std::int64_t times = choices.between(1, 3); times > 0; --times) hurt(choices, text);
  return text;
}

}  // namespace reshardcheck
