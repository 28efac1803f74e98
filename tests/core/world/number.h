// Number: a message that holds one number, for tests that send many small ones and ask which arrived.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace reshardcheck {

struct Number {
  std::uint32_t value = 0;

  [[nodiscard]] std::span<const std::byte> message() const { return std::as_bytes(std::span(&value, 1)); }
  [[nodiscard]] std::span<std::byte> buffer() { return std::as_writable_bytes(std::span(&value, 1)); }
};

inline constexpr std::uint32_t untouched = 0xDEADBEEF;

}  // namespace reshardcheck
