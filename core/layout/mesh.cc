#include "core/layout/mesh.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "core/layout/limits.h"

namespace reshardcheck {
namespace {

Result<std::int64_t> checked_size(std::span<const std::int64_t> extents) {
  if (extents.empty()) return Error{"a mesh needs at least one axis"};
  if (std::ssize(extents) > limits::max_axes) {
    return Error{fmt::format("a mesh of {} axes; at most {} are supported", extents.size(), limits::max_axes)};
  }
  std::int64_t size = 1;
  for (const std::int64_t extent : extents) {
    if (extent < 1) return Error{fmt::format("a mesh axis of extent {}; extents start at 1", extent)};
    if (extent > limits::max_ranks || size * extent > limits::max_ranks) {
      return Error{fmt::format("a mesh of more than {} ranks", limits::max_ranks)};
    }
    size *= extent;
  }
  return size;
}

}  // namespace

Result<Mesh> Mesh::make(std::vector<std::int64_t> extents, std::vector<Rank> ranks) {
  const Result<std::int64_t> size = checked_size(extents);
  if (!size) return size.error();
  if (*size != std::ssize(ranks)) {
    return Error{fmt::format("the mesh has {} places but {} ranks are listed", *size, ranks.size())};
  }
  for (const Rank rank : ranks) {
    if (rank < 0 || rank >= limits::max_ranks) {
      return Error{fmt::format("rank {} is outside 0..{}", rank, limits::max_ranks - 1)};
    }
  }
  Mesh mesh;
  mesh.extents_ = std::move(extents);
  mesh.ranks_ = std::move(ranks);
  mesh.lowest_ = *std::min_element(mesh.ranks_.begin(), mesh.ranks_.end());
  mesh.highest_ = *std::max_element(mesh.ranks_.begin(), mesh.ranks_.end());
  for (std::size_t i = 1; i < mesh.ranks_.size(); ++i) {
    if (mesh.ranks_[i] != mesh.ranks_[i - 1] + 1) mesh.consecutive_ = false;
  }
  if (mesh.consecutive_) return mesh;

  mesh.by_rank_.resize(mesh.ranks_.size());
  std::iota(mesh.by_rank_.begin(), mesh.by_rank_.end(), 0U);
  const auto rank_at = [&mesh](std::uint32_t index) { return mesh.ranks_[index]; };
  std::sort(mesh.by_rank_.begin(), mesh.by_rank_.end(),
            [&](std::uint32_t a, std::uint32_t b) { return rank_at(a) < rank_at(b); });
  for (std::size_t i = 1; i < mesh.by_rank_.size(); ++i) {
    const Rank rank = rank_at(mesh.by_rank_[i]);
    if (rank == rank_at(mesh.by_rank_[i - 1])) return Error{fmt::format("rank {} is listed twice in one mesh", rank)};
  }
  return mesh;
}

Result<Mesh> Mesh::consecutive(std::vector<std::int64_t> extents, std::int64_t first_rank) {
  const Result<std::int64_t> size = checked_size(extents);
  if (!size) return size.error();
  if (first_rank < 0 || first_rank > limits::max_ranks - *size) {
    return Error{fmt::format("ranks {}.. are outside 0..{}", first_rank, limits::max_ranks - 1)};
  }
  std::vector<Rank> ranks(static_cast<std::size_t>(*size));
  std::iota(ranks.begin(), ranks.end(), static_cast<Rank>(first_rank));
  return make(std::move(extents), std::move(ranks));
}

std::optional<std::size_t> Mesh::index_of(Rank rank) const {
  if (rank < lowest_ || rank > highest_) return std::nullopt;
  if (consecutive_) return static_cast<std::size_t>(rank - lowest_);
  const auto found = std::lower_bound(by_rank_.begin(), by_rank_.end(), rank,
                                      [this](std::uint32_t index, Rank wanted) { return ranks_[index] < wanted; });
  if (found == by_rank_.end() || ranks_[*found] != rank) return std::nullopt;
  return *found;
}

std::int64_t Mesh::coordinate(std::size_t mesh_index, std::size_t axis) const {
  std::int64_t rest = static_cast<std::int64_t>(mesh_index);
  for (std::size_t later = extents_.size() - 1; later > axis; --later) rest /= extents_[later];
  return rest % extents_[axis];
}

std::string Mesh::text() const {
  const std::string grid = fmt::format("{}", fmt::join(extents_, "x"));
  if (consecutive_) return fmt::format("{}@{}", grid, ranks_.front());
  return fmt::format("{}{{{}}}", grid, fmt::join(ranks_, ","));
}

}  // namespace reshardcheck
