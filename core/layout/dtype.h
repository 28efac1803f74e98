// Element types. To a reshard a dtype is a width in bytes; to a fill it is a set of bit patterns.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace reshardcheck {

enum class DType : std::uint8_t { i8, u8, f8e4m3, f8e5m2, i16, u16, f16, bf16, i32, u32, f32, i64, u64, f64 };

/// Every dtype, in the order of the enumeration.
inline constexpr std::array all_dtypes = {DType::i8,  DType::u8,  DType::f8e4m3, DType::f8e5m2, DType::i16,
                                          DType::u16, DType::f16, DType::bf16,   DType::i32,    DType::u32,
                                          DType::f32, DType::i64, DType::u64,    DType::f64};

/// Bytes of one element: 1, 2, 4 or 8.
[[nodiscard]] int width_bytes(DType dtype);

/// The name used in case text, such as "bf16".
[[nodiscard]] std::string_view name(DType dtype);

/// The dtype of that name, or nothing.
[[nodiscard]] std::optional<DType> parse_dtype(std::string_view text);

}  // namespace reshardcheck
