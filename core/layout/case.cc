#include "core/layout/case.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/layout/limits.h"
#include "core/layout/printable.h"

namespace reshardcheck {
namespace {

Status check_range(std::string_view option, std::int64_t value, std::int64_t highest) {
  if (value >= 0 && value <= highest) return Ok{};
  return Error{fmt::format("{}={} is outside 0..{}", option, value, highest)};
}

Status check_options(const Case& value) {
  const Options& options = value.options;
  for (const Status& status : {check_range("world", options.world_ranks, limits::max_ranks),
                               check_range("domain", options.domain_ranks, limits::max_ranks),
                               check_range("domain anchor", options.domain_anchor, limits::max_ranks),
                               check_range("chunk", options.chunk_bytes, INT64_MAX),
                               check_range("gap", options.gap_elements, limits::max_gap_elements),
                               check_range("batch", options.batch_tensors, limits::max_tensors),
                               check_range("refits", options.refits, limits::max_refits)}) {
    if (!status) return status;
  }
  if (options.refits < 1) return Error{"refits=0; a case needs at least one refit"};
  if (options.domain_ranks == 0 && options.domain_anchor != 0) return Error{"a domain anchor without a domain size"};
  if (std::ssize(options.faults) > limits::max_faults) {
    return Error{fmt::format("more than {} faults", limits::max_faults)};
  }
  std::int64_t named = 0;
  for (const TensorCase& tensor : value.tensors) {
    named = std::max<std::int64_t>({named, tensor.source.mesh().highest_rank(), tensor.target.mesh().highest_rank()});
  }
  if (options.world_ranks != 0 && options.world_ranks <= named) {
    return Error{fmt::format("rank {} is outside the world of {} ranks", named, options.world_ranks)};
  }
  return Ok{};
}

}  // namespace

std::string_view name(Path path) { return path == Path::reshard ? "reshard" : "gather_broadcast"; }

std::string_view name(FillKind fill) {
  constexpr std::string_view names[] = {"digits", "hash", "special", "provenance"};
  return names[static_cast<std::size_t>(fill)];
}

std::string_view name(FaultKind fault) {
  constexpr std::string_view names[] = {"drop", "duplicate", "reorder", "corrupt", "truncate", "kill", "stall"};
  return names[static_cast<std::size_t>(fault)];
}

std::int64_t Case::world_ranks() const {
  std::int64_t ranks = options.world_ranks;
  for (const TensorCase& tensor : tensors) {
    ranks = std::max<std::int64_t>(
        {ranks, tensor.source.mesh().highest_rank() + 1, tensor.target.mesh().highest_rank() + 1});
  }
  return ranks;
}

std::int64_t Case::total_elements() const {
  std::int64_t total = 0;
  for (const TensorCase& tensor : tensors) total += elements(tensor.shape());
  return total;
}

Status check_tensor_name(std::string_view name) {
  if (std::ssize(name) > limits::max_name_bytes) {
    return Error{fmt::format("a tensor name of more than {} bytes", limits::max_name_bytes)};
  }
  if (name.empty()) return Ok{};
  if (!is_name_start(name.front())) return Error{"a tensor name starts with a letter or '_'"};
  if (std::all_of(name.begin(), name.end(), is_name_byte)) return Ok{};
  return Error{fmt::format("{} is no tensor name: letters, digits and _ . - / only", in_quotes(name))};
}

Status validate(const Case& value) {
  if (value.tensors.empty()) return Error{"a case needs at least one tensor"};
  if (std::ssize(value.tensors) > limits::max_tensors) {
    return Error{fmt::format("more than {} tensors", limits::max_tensors)};
  }
  std::int64_t total_bytes = 0;
  for (const TensorCase& tensor : value.tensors) {
    const Status named = check_tensor_name(tensor.name);
    if (!named) return named;
    if (tensor.source.shape() != tensor.target.shape()) return Error{"source and target differ in shape"};
    std::int64_t bytes = 0;
    if (__builtin_mul_overflow(elements(tensor.shape()), std::int64_t{width_bytes(tensor.dtype)}, &bytes) ||
        __builtin_add_overflow(total_bytes, bytes, &total_bytes)) {
      return Error{"the size in bytes overflows 64 bits"};
    }
  }
  return check_options(value);
}

}  // namespace reshardcheck
