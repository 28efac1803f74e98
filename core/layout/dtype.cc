#include "core/layout/dtype.h"

#include <cstddef>

namespace reshardcheck {
namespace {

struct DTypeRow {
  std::string_view name;
  int width_bytes;
};

constexpr std::array<DTypeRow, all_dtypes.size()> dtype_table = {{{"i8", 1},
                                                                  {"u8", 1},
                                                                  {"f8e4m3", 1},
                                                                  {"f8e5m2", 1},
                                                                  {"i16", 2},
                                                                  {"u16", 2},
                                                                  {"f16", 2},
                                                                  {"bf16", 2},
                                                                  {"i32", 4},
                                                                  {"u32", 4},
                                                                  {"f32", 4},
                                                                  {"i64", 8},
                                                                  {"u64", 8},
                                                                  {"f64", 8}}};

const DTypeRow& row(DType dtype) { return dtype_table[static_cast<std::size_t>(dtype)]; }

}  // namespace

int width_bytes(DType dtype) { return row(dtype).width_bytes; }

std::string_view name(DType dtype) { return row(dtype).name; }

std::optional<DType> parse_dtype(std::string_view text) {
  for (const DType dtype : all_dtypes) {
    if (name(dtype) == text) return dtype;
  }
  return std::nullopt;
}

}  // namespace reshardcheck
