// Digit passes are arithmetic sequences: number n is 2 n g modulo 2^bits, with g odd, so that consecutive elements
// cost one addition each and the map has an inverse. A pass writes one digit of that, flipped by its salt; poison is
// the same with more bits flipped.
#include "verifier/fill.h"

#include <algorithm>

#include "verifier/element_bits.h"
#include "verifier/mix.h"
#include "verifier/special_values.h"

namespace reshardcheck {
namespace {

/// Poison is the expected value with these bits flipped: some in every byte, so that a byte that was not written
/// shows, and the lowest, which tells poison from data.
constexpr std::uint64_t even_pass_poison = ~std::uint64_t{0};
constexpr std::uint64_t odd_pass_poison = spread(0xA5);

std::uint64_t poison_mask(int pass) { return pass % 2 == 0 ? even_pass_poison : odd_pass_poison; }

/// The inverse of an odd number modulo 2^64, by Newton's iteration (each step doubles the bits that are right).
constexpr std::uint64_t inverse_of_odd(std::uint64_t odd) {
  std::uint64_t inverse = odd;
  for (int i = 0; i < 6; ++i) inverse *= 2 - odd * inverse;
  return inverse;
}
constexpr std::uint64_t golden_ratio_inverse = inverse_of_odd(golden_ratio);
static_assert(golden_ratio * golden_ratio_inverse == 1);

/// Data numbers are even: the lowest bit is the poison's.
constexpr std::uint64_t number_step = 2 * golden_ratio;

std::uint64_t low_bits(std::uint64_t value, int bits) {
  return bits >= 64 ? value : value & ((std::uint64_t{1} << bits) - 1);
}

/// A run in a digit pass: an arithmetic sequence, cut to the digit. Written so that compilers vectorise it.
template <typename Lane, typename T>
void write_sequence(T* out, std::int64_t count, std::uint64_t start, int shift, T flip) {
  const Lane step = static_cast<Lane>(number_step);
  Lane x = static_cast<Lane>(start);
  for (std::int64_t i = 0; i < count; ++i) {
    out[i] = static_cast<T>(static_cast<T>(x >> shift) ^ flip);
    x = static_cast<Lane>(x + step);
  }
}

}  // namespace

/// What is the same for all elements of a run, or of a tensor in a call.
struct Fill::RunKey {
  PassKind kind;
  DType dtype;
  std::uint64_t first_number;  // of the tensor's first element, in this call
  std::uint64_t hash_key;
  std::uint64_t flip;  // salt and poison mask
  int shift;           // of the digit
  bool narrow;         // all digits lie in the low 32 bits

  [[nodiscard]] std::uint64_t digit_start(std::uint64_t index) const { return (first_number + index) * number_step; }

  template <typename T>
  [[nodiscard]] T one(std::uint64_t index) const {
    switch (kind) {
      case PassKind::digit:
        return static_cast<T>((digit_start(index) >> shift) ^ flip);
      case PassKind::special:
        return static_cast<T>(special_value(dtype, mix((first_number + index) ^ hash_key)) ^ flip);
      case PassKind::hash:
      case PassKind::tag:
        break;
    }
    return static_cast<T>(mix((first_number + index) ^ hash_key) ^ flip);
  }

  template <typename T>
  void write(T* out, std::int64_t first, std::int64_t count) const {
    const auto start = static_cast<std::uint64_t>(first);
    if (kind == PassKind::digit && narrow) {
      return write_sequence<std::uint32_t>(out, count, digit_start(start), shift, static_cast<T>(flip));
    }
    if (kind == PassKind::digit) {
      return write_sequence<std::uint64_t>(out, count, digit_start(start), shift, static_cast<T>(flip));
    }
    for (std::int64_t i = 0; i < count; ++i) out[i] = one<T>(start + static_cast<std::uint64_t>(i));
  }
};

void Fill::assign(const Case& value) {
  kind_ = value.options.fill;
  seed_ = value.options.seed;
  refits_ = static_cast<int>(value.options.refits);
  elements_ = static_cast<std::uint64_t>(value.total_elements());

  // Twice the numbers of all refits must fit a tensor's digits: padding has a number, poison takes the lowest bit.
  std::uint64_t numbers = 0;
  if (__builtin_mul_overflow(elements_ + 1, 2 * static_cast<std::uint64_t>(refits_), &numbers))
    numbers = ~std::uint64_t{0};
  tensors_.clear();
  std::uint64_t first = 0;
  int most_digits = 1;
  for (const TensorCase& tensor : value.tensors) {
    const int width = width_bytes(tensor.dtype);
    int digits = 1;
    while (8 * width * digits < 64 && low_bits(numbers - 1, 8 * width * digits) != numbers - 1) digits += 1;
    tensors_.push_back({tensor.dtype, width, digits, first});
    first += static_cast<std::uint64_t>(elements(tensor.shape()));
    most_digits = std::max(most_digits, digits);
  }
  digit_passes_ = kind_ == FillKind::hash ? 0 : std::max(2, most_digits);
  const int more = kind_ == FillKind::digits ? 0 : kind_ == FillKind::provenance ? 1 : 2;
  passes_ = digit_passes_ + more;
}

PassKind Fill::pass_kind(int pass) const {
  if (pass < digit_passes_) return PassKind::digit;
  if (kind_ == FillKind::hash) return PassKind::hash;
  return kind_ == FillKind::special ? PassKind::special : PassKind::tag;
}

/// Salts of two passes differ in every byte, whatever the seed.
std::uint64_t Fill::salt(int pass) const {
  return mix(seed_ + golden_ratio) ^ spread(37 * static_cast<std::uint64_t>(pass));
}

Fill::RunKey Fill::key_of(const Tensor& tensor, Call call, std::uint64_t mask) const {
  RunKey key{};
  key.kind = pass_kind(call.pass);
  key.dtype = tensor.dtype;
  key.first_number = tensor.first_number;
  key.flip = mask;
  const auto refit = static_cast<std::uint64_t>(call.refit);
  switch (key.kind) {
    case PassKind::digit:
      key.first_number += refit * (elements_ + 1);
      key.flip ^= salt(call.pass);
      key.shift = 8 * tensor.width_bytes * (call.pass % tensor.digits);
      key.narrow = tensor.width_bytes < 8 && 8 * tensor.width_bytes * tensor.digits <= 32;
      break;
    case PassKind::hash:  // refits differ in every byte
      key.hash_key = mix(seed_ + golden_ratio * static_cast<std::uint64_t>(call.pass + 1));
      key.flip ^= spread(refit);
      break;
    case PassKind::special:
    case PassKind::tag:
      key.hash_key = mix(seed_ + golden_ratio * static_cast<std::uint64_t>(call.pass * refits_ + call.refit + 1));
      break;
  }
  return key;
}

void Fill::write(const ElementRun& run, Call call, std::byte* out) const {
  const Tensor& tensor = tensors_[run.tensor];
  const RunKey key = key_of(tensor, call, 0);
  with_width(tensor.width_bytes,
             [&](auto zero) { key.write(reinterpret_cast<decltype(zero)*>(out), run.first, run.count); });
}

void Fill::write_source(const ElementRun& run, Call call, std::size_t mesh_index, std::byte* out) const {
  if (pass_kind(call.pass) != PassKind::tag) return write(run, call, out);
  with_width(tensors_[run.tensor].width_bytes, [&](auto zero) {
    using T = decltype(zero);
    std::fill_n(reinterpret_cast<T*>(out), run.count, static_cast<T>(tag(run.tensor, mesh_index)));
  });
}

void Fill::write_each(std::size_t tensor, std::int64_t base, std::span<const std::int64_t> offsets, Call call,
                      std::byte* out) const {
  const RunKey key = key_of(tensors_[tensor], call, 0);
  with_width(tensors_[tensor].width_bytes, [&](auto zero) {
    using T = decltype(zero);
    T* values = reinterpret_cast<T*>(out);
    const auto start = static_cast<std::uint64_t>(base);
    const std::size_t count = offsets.size();
    if (key.kind == PassKind::digit) {  // the loop below without its branches
      const std::uint64_t first = key.digit_start(start);
      for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t mixed = first + static_cast<std::uint64_t>(offsets[i]) * number_step;
        values[i] = static_cast<T>((mixed >> key.shift) ^ key.flip);
      }
      return;
    }
    for (std::size_t i = 0; i < count; ++i) values[i] = key.one<T>(start + static_cast<std::uint64_t>(offsets[i]));
  });
}

void Fill::write_poison(const ElementRun& run, int pass, std::byte* out) const {
  const Tensor& tensor = tensors_[run.tensor];
  const RunKey key = key_of(tensor, {pass, 0}, poison_mask(pass));
  with_width(tensor.width_bytes, [&](auto zero) {
    using T = decltype(zero);
    T* values = reinterpret_cast<T*>(out);
    if (key.kind == PassKind::tag) {
      std::fill_n(values, run.count, static_cast<T>(key.flip));
    } else {
      key.write(values, run.first, run.count);
    }
  });
}

void Fill::write_padding(std::size_t tensor, std::int64_t count, Call call, std::byte* out) const {
  with_width(tensors_[tensor].width_bytes, [&](auto zero) {
    using T = decltype(zero);
    std::fill_n(reinterpret_cast<T*>(out), count, static_cast<T>(padding(tensor, call)));
  });
}

std::uint64_t Fill::value(std::size_t tensor, std::int64_t index, Call call) const {
  const RunKey key = key_of(tensors_[tensor], call, 0);
  return low_bits(key.one<std::uint64_t>(static_cast<std::uint64_t>(index)), 8 * tensors_[tensor].width_bytes);
}

std::uint64_t Fill::poison(std::size_t tensor, std::int64_t index, int pass) const {
  const RunKey key = key_of(tensors_[tensor], {pass, 0}, poison_mask(pass));
  const std::uint64_t bits =
      key.kind == PassKind::tag ? key.flip : key.one<std::uint64_t>(static_cast<std::uint64_t>(index));
  return low_bits(bits, 8 * tensors_[tensor].width_bytes);
}

std::uint64_t Fill::padding(std::size_t tensor, Call call) const {
  const std::uint64_t after_all = elements_ - tensors_[tensor].first_number;
  return value(tensor, static_cast<std::int64_t>(after_all), call);
}

std::uint64_t Fill::tag(std::size_t tensor, std::size_t mesh_index) const {
  return low_bits(mesh_index, 8 * tensors_[tensor].width_bytes);
}

std::optional<DecodedElement> Fill::decode(std::size_t tensor, std::span<const std::uint64_t> got) const {
  const Tensor& place = tensors_[tensor];
  const int digit_bits = 8 * place.width_bytes;
  const int passes = std::min(digit_passes_, static_cast<int>(got.size()));
  if (passes < place.digits) return std::nullopt;

  std::uint64_t mixed = 0;
  for (int pass = 0; pass < passes; ++pass) {
    const std::uint64_t digit = low_bits(got[static_cast<std::size_t>(pass)] ^ salt(pass), digit_bits);
    const int shift = digit_bits * (pass % place.digits);
    if (pass < place.digits) {
      mixed |= digit << shift;
    } else if (low_bits(mixed >> shift, digit_bits) != digit) {
      return std::nullopt;
    }
  }
  const std::uint64_t doubled = low_bits(mixed * golden_ratio_inverse, digit_bits * place.digits);
  const std::uint64_t number = doubled / 2;
  const std::uint64_t refit = number / (elements_ + 1);
  if (doubled % 2 != 0 || refit >= static_cast<std::uint64_t>(refits_)) return std::nullopt;
  DecodedElement origin;
  origin.refit = static_cast<int>(refit);
  const std::uint64_t element = number % (elements_ + 1);
  if (element == elements_) {
    origin.padding = true;
    return origin;
  }
  const auto after = std::upper_bound(tensors_.begin(), tensors_.end(), element,
                                      [](std::uint64_t n, const Tensor& t) { return n < t.first_number; });
  origin.tensor = static_cast<std::size_t>(after - tensors_.begin()) - 1;
  if (tensors_[origin.tensor].width_bytes != place.width_bytes) return std::nullopt;
  origin.index = static_cast<std::int64_t>(element - tensors_[origin.tensor].first_number);
  return origin;
}

}  // namespace reshardcheck
