// Case: everything one check needs, as one immutable-by-convention value.
//
// A case holds the tensors that travel in one refit, each with its layout on the source and on the target side
// and the path it takes, and the options of the run (topology, fills, transport). It is what generators make,
// what subjects are judged on, what the shrinker makes smaller, and what one line of text says (notation.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/layout/dtype.h"
#include "core/layout/layout.h"
#include "core/layout/result.h"

namespace reshardcheck {

/// How a tensor travels: piecewise from shard to shard, or gathered whole and broadcast.
enum class Path : std::uint8_t { reshard, gather_broadcast };
[[nodiscard]] std::string_view name(Path path);

/// What the source elements hold; the bit patterns are defined in verifier/fill.h.
enum class FillKind : std::uint8_t { digits, hash, special, provenance };
[[nodiscard]] std::string_view name(FillKind fill);

/// Faults that the simulated network or the worker harness injects.
enum class FaultKind : std::uint8_t { drop, duplicate, reorder, corrupt, truncate, kill, stall };
[[nodiscard]] std::string_view name(FaultKind fault);

/// drop..truncate: `at` counts messages of one refit call in the order in which they are posted, from 0.
/// kill, stall: `at` is a rank, which dies or stops at its `call`-th use of the world, from 0.
struct Fault {
  FaultKind kind = FaultKind::drop;
  std::int64_t at = 0;
  std::int64_t call = 0;
  friend bool operator==(const Fault&, const Fault&) = default;
};

struct TensorCase {
  std::string name;  // may be empty
  DType dtype = DType::u8;
  Path path = Path::reshard;
  Layout source;
  Layout target;  // of the same shape as source

  [[nodiscard]] const Shape& shape() const { return source.shape(); }
  friend bool operator==(const TensorCase&, const TensorCase&) = default;
};

struct Options {
  std::int64_t world_ranks = 0;      // world=N: at least this many ranks; 0: no more than the meshes name
  std::int64_t domain_ranks = 0;     // domain=N[@A]: ranks per domain; 0: all ranks are one domain
  std::int64_t domain_anchor = 0;    //   a rank at which a domain starts; domains are counted from it both ways
  FillKind fill = FillKind::digits;  // fill=NAME
  std::uint64_t seed = 0;            // seed=N: of fills and of the simulated network's delivery order
  std::int64_t refits = 1;           // refits=N: reshard calls on one subject, the data changing each time
  std::int64_t chunk_bytes = 0;      // chunk=N: transport stages messages in pieces of N bytes; 0: whole
  std::int64_t gap_elements = 0;     // gap=N: unused elements between the rows of every local tensor
  std::int64_t batch_tensors = 0;    // batch=N: tensors handed to the subject in one call; 0: all
  std::vector<Fault> faults;         // faults=drop@3+kill@2.1

  friend bool operator==(const Options&, const Options&) = default;
};

struct Case {
  std::vector<TensorCase> tensors;  // at least one
  Options options;

  /// Ranks 0 to the largest one named, or more when the options say so. Ranks outside all meshes are idle.
  [[nodiscard]] std::int64_t world_ranks() const;
  /// Elements of all tensors together, in 64 bits (validate() has seen that they fit).
  [[nodiscard]] std::int64_t total_elements() const;

  friend bool operator==(const Case&, const Case&) = default;
};

/// The bytes that a tensor's name starts with and is made of.
[[nodiscard]] constexpr bool is_name_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
[[nodiscard]] constexpr bool is_name_byte(char c) {
  return is_name_start(c) || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '/';
}

/// A tensor's name is empty, or made of the bytes above and at most limits::max_name_bytes of them.
Status check_tensor_name(std::string_view name);

/// What the notation cannot say but a hand-built Case could: names that do not parse, layouts of different shape,
/// options out of range, sizes in bytes that do not fit 64 bits. Parsers call it; code that builds cases by hand should
/// too.
Status validate(const Case& value);

}  // namespace reshardcheck
