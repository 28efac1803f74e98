// Fill: what every element of a case holds in every call, as a pure function that any rank can compute.
//
// Elements are numbered over the whole case: refit * (N + 1) + elements of the tensors before + row-major global
// index, with N the elements of all tensors; number N of a refit stands for padding. A case runs several passes:
//
//   digit pass    writes one digit of the number, in the base of the element's width (256, 65536, 2^32, 2^64), after
//                 a bijection that mixes the digits and a salt per pass. All digit passes together give every
//                 (refit, element), and padding, a value of its own: no element can pass for another, for stale
//                 data, or for padding, and what a place got in all passes says where it came from (decode()).
//   hash pass     a pseudo-random value: one of two passes, for speed.
//   special pass  NaN payloads, -0, denormals, infinities, extremes: shows a copy that converts values.
//   tag pass      the mesh index of the source rank that held the element: says which replica served it.
//
// Passes by fill: digits = digit passes, at least two; hash = two hash passes; special = digits, then two special
// passes; provenance = digits, then one tag pass.
//
// Poison, what a target holds before a pass, is the expected value with bits flipped in every byte (another mask in
// odd passes), so a byte that was not written always shows. The lowest bit of data in the first digit is spent on
// telling poison from data: the poison of one element is never the data of another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/layout/case.h"

namespace reshardcheck {

/// One reshard call of a run.
struct Call {
  int pass = 0;
  int refit = 0;
  friend bool operator==(const Call&, const Call&) = default;
};

enum class PassKind : std::uint8_t { digit, hash, special, tag };

/// Consecutive elements of one tensor, by row-major global index.
struct ElementRun {
  std::size_t tensor = 0;
  std::int64_t first = 0;
  std::int64_t count = 0;
};

/// What the values that one place got in all passes decode to.
struct DecodedElement {
  int refit = 0;
  bool padding = false;
  std::size_t tensor = 0;  // unless padding
  std::int64_t index = 0;  // row-major global index
  friend bool operator==(const DecodedElement&, const DecodedElement&) = default;
};

class Fill {
 public:
  Fill() = default;
  explicit Fill(const Case& value) { assign(value); }

  /// Starts over for another case; keeps its memory.
  void assign(const Case& value);

  [[nodiscard]] int passes() const { return passes_; }
  [[nodiscard]] int refits() const { return refits_; }
  [[nodiscard]] PassKind pass_kind(int pass) const;

  /// Writes what a run of elements holds in a call: `run.count` elements to `out`, aligned to the element's width.
  /// Not for tag passes.
  void write(const ElementRun& run, Call call, std::byte* out) const;
  /// What the source rank at a mesh index holds: the same, and its tag in a tag pass.
  void write_source(const ElementRun& run, Call call, std::size_t mesh_index, std::byte* out) const;
  /// The values of elements at `base + offsets[i]`, one by one.
  void write_each(std::size_t tensor, std::int64_t base, std::span<const std::int64_t> offsets, Call call,
                  std::byte* out) const;
  /// Writes the poison of a run of elements for all refits of a pass.
  void write_poison(const ElementRun& run, int pass, std::byte* out) const;
  /// Writes `count` elements of padding.
  void write_padding(std::size_t tensor, std::int64_t count, Call call, std::byte* out) const;

  /// One element's bits, for reports.
  [[nodiscard]] std::uint64_t value(std::size_t tensor, std::int64_t index, Call call) const;
  [[nodiscard]] std::uint64_t poison(std::size_t tensor, std::int64_t index, int pass) const;
  [[nodiscard]] std::uint64_t padding(std::size_t tensor, Call call) const;
  /// What a source rank writes into all its elements in a tag pass.
  [[nodiscard]] std::uint64_t tag(std::size_t tensor, std::size_t mesh_index) const;

  /// The (refit, element) whose data a place of `tensor` got, from its values by pass; nothing when they are
  /// nobody's, disagree with each other, or do not cover all digits.
  [[nodiscard]] std::optional<DecodedElement> decode(std::size_t tensor, std::span<const std::uint64_t> got) const;

 private:
  struct Tensor {
    DType dtype = DType::u8;
    int width_bytes = 1;
    int digits = 1;
    std::uint64_t first_number = 0;
  };
  struct RunKey;

  [[nodiscard]] RunKey key_of(const Tensor& tensor, Call call, std::uint64_t mask) const;
  [[nodiscard]] std::uint64_t salt(int pass) const;

  std::vector<Tensor> tensors_;
  FillKind kind_ = FillKind::digits;
  std::uint64_t seed_ = 0;
  std::uint64_t elements_ = 0;  // of all tensors: N
  int refits_ = 1;
  int digit_passes_ = 2;  // 0 for hash
  int passes_ = 2;
};

}  // namespace reshardcheck
