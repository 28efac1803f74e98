// A parser under libFuzzer: RESHARDCHECK_PARSER(text) { ... } is called with any text there is, and must come back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/layout/result.h"

#define RESHARDCHECK_PARSER(text)                                                     \
  static void try_parser(std::string_view text);                                      \
  extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) { \
    try_parser(std::string_view(reinterpret_cast<const char*>(data), size));          \
    return 0;                                                                         \
  }                                                                                   \
  static void try_parser(std::string_view text)
