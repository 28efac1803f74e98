// Rows are compared through a gather by the naive indices; entries of padding are not looked at here, the check of
// what surrounds the elements holds them.
#include "verifier/naive_oracle.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "verifier/compare.h"

namespace reshardcheck {
namespace {

/// The shape that the naive map gives a local tensor.
bool same_shape(const NaiveLayout& map, const LocalTensor& local) {
  for (std::size_t dim = 0; dim < local.shape.size(); ++dim) {
    if (std::ssize(map.indices(local.mesh_index, dim)) != local.shape[dim]) return false;
  }
  return true;
}

/// Compares every element of a local tensor; calls wrong(local_offset, global_index, expected, got).
template <typename Wrong>
void check_local(const NaiveLayout& map, const LocalTensor& local, const Fill& fill, std::size_t tensor, int width,
                 Call call, Wrong&& wrong) {
  for_each_naive_row(map, local.mesh_index, local.strides,
                     [&](std::int64_t offset, std::int64_t base, std::span<const std::int64_t> inner) {
                       compare_elements(
                           local.data + offset * width, width, std::ssize(inner),
                           [&](std::int64_t first, std::int64_t count, std::byte* out) {
                             const auto from = static_cast<std::size_t>(first);
                             fill.write_each(tensor, base, inner.subspan(from, static_cast<std::size_t>(count)), call,
                                             out);
                           },
                           [&](std::int64_t element, std::uint64_t expected, std::uint64_t got) {
                             const std::int64_t index = inner[static_cast<std::size_t>(element)];
                             if (index != NaiveLayout::padding) wrong(offset + element, base + index, expected, got);
                           });
                     });
}

}  // namespace

std::size_t NaiveMaps::map_of(const Layout& layout) {
  const std::size_t number = table_.number_of(layout);
  if (number == maps_.size()) maps_.emplace_back(layout.shape(), layout.mesh(), layout.placements());
  return number;
}

void NaiveMaps::assign(const Case& value) {
  table_.clear();
  maps_.clear();
  numbers_.clear();
  for (const TensorCase& tensor : value.tensors) {
    Numbers numbers;
    numbers.empty = elements(tensor.shape()) == 0;
    if (!numbers.empty) {
      numbers.source = map_of(tensor.source);
      numbers.target = map_of(tensor.target);
    }
    numbers_.push_back(numbers);
  }
}

std::int64_t NaiveMaps::bytes_of(const Layout& layout) {
  // A list grows by doubling, and splitting holds the coarser lists beside the finer ones.
  constexpr std::int64_t bytes_per_entry = 4 * sizeof(std::int64_t);
  if (elements(layout.shape()) == 0) return 0;
  std::int64_t entries = 0;
  for (std::size_t dim = 0; dim < layout.dims(); ++dim) {
    for (const DimPiece& piece : layout.pieces(dim)) {
      if (__builtin_add_overflow(entries, piece.local_extent + 1, &entries)) return INT64_MAX;
    }
  }
  return entries > INT64_MAX / bytes_per_entry ? INT64_MAX : entries * bytes_per_entry;
}

void check_naive(const NaiveMaps& maps, const Fill& fill, Call call, const LocalBuffers& buffers, RankReport& report) {
  if (!report.naive_disagreement.empty() || report.naive.wrong_elements > 0) return;
  for (const LocalBlock& block : buffers.blocks()) {
    if (!maps.has(block.tensor)) continue;
    const bool source = block.side == Side::source;
    if (source && call.refit > 0) continue;  // later refits change values, not places
    const NaiveLayout& map = source ? maps.source(block.tensor) : maps.target(block.tensor);
    const LocalTensor& local = buffers.local(block);
    const TensorCase& tensor = *buffers.tensors()[block.tensor].spec;
    if (!same_shape(map, local)) {
      report.naive_disagreement =
          fmt::format("the naive owner map does not give rank {} a local tensor of [{}] (tensor {})", report.rank,
                      fmt::join(local.shape, ","), block.tensor);
      return;
    }
    check_local(map, local, fill, block.tensor, width_bytes(tensor.dtype), call,
                [&](std::int64_t offset, std::int64_t global, std::uint64_t expected, std::uint64_t got) {
                  if (source) {
                    report.naive_disagreement = fmt::format(
                        "by the naive owner map, the source of rank {} was filled wrongly (tensor {}, local [{}])",
                        report.rank, block.tensor, fmt::join(local_index_of(local, offset), ","));
                    return;
                  }
                  WrongPlace place{block.tensor, offset, local_index_of(local, offset), global, call, expected, {}, 0};
                  place.got[static_cast<std::size_t>(call.pass)] = got;
                  note_wrong(report.naive, std::move(place));
                });
  }
}

}  // namespace reshardcheck
