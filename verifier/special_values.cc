// The layout of each format (bits, mantissa bits) is all that the patterns need: signs, exponents of ones and
// payloads are put together from masks.
#include "verifier/special_values.h"

namespace reshardcheck {
namespace {

struct Format {
  int bits;
  int mantissa_bits;  // 0 for integers
};

Format format_of(DType dtype) {
  switch (dtype) {
    case DType::f8e4m3:
      return {8, 3};
    case DType::f8e5m2:
      return {8, 2};
    case DType::f16:
      return {16, 10};
    case DType::bf16:
      return {16, 7};
    case DType::f32:
      return {32, 23};
    case DType::f64:
      return {64, 52};
    default:
      return {8 * width_bytes(dtype), 0};
  }
}

std::uint64_t low_ones(int bits) { return bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1; }

std::uint64_t special_integer(int bits, std::uint64_t hash) {
  const std::uint64_t sign = std::uint64_t{1} << (bits - 1);
  switch (hash % 6) {
    case 0:
      return 0;
    case 1:
      return low_ones(bits);
    case 2:
      return sign;
    case 3:
      return sign - 1;
    case 4:
      return 1;
    default:
      return (hash >> 8) & low_ones(bits);
  }
}

}  // namespace

std::uint64_t special_value(DType dtype, std::uint64_t hash) {
  const Format format = format_of(dtype);
  if (format.mantissa_bits == 0) return special_integer(format.bits, hash);

  const std::uint64_t mantissa_ones = low_ones(format.mantissa_bits);
  const std::uint64_t sign = (hash & 8) != 0 ? std::uint64_t{1} << (format.bits - 1) : 0;
  const std::uint64_t exponent_ones = low_ones(format.bits - 1) & ~mantissa_ones;
  const std::uint64_t quiet = std::uint64_t{1} << (format.mantissa_bits - 1);
  const std::uint64_t payload = (hash >> 8) & mantissa_ones;
  switch (hash % 8) {
    case 0:  // quiet NaN with a payload
      return sign | exponent_ones | quiet | payload;
    case 1:  // signalling NaN; a payload of zero would be an infinity
      return sign | exponent_ones | ((payload & ~quiet) == 0 ? 1 : payload & ~quiet);
    case 2:  // a zero of either sign
      return sign;
    case 3:  // denormal
      return sign | (payload == 0 ? 1 : payload);
    case 4:  // infinity (f8e4m3 has none: its largest binade)
      return sign | exponent_ones;
    case 5:  // the largest finite value
      return sign | (exponent_ones - 1 - mantissa_ones) | mantissa_ones;
    case 6:  // all ones
      return low_ones(format.bits);
    default:  // an ordinary value of many digits
      return (hash >> 8) & low_ones(format.bits);
  }
}

}  // namespace reshardcheck
