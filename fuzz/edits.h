// Edits: small changes to a draft that keep its parts in tune.
//
// A shape, the meshes and the sizes inside a rule depend on each other; an edit changes one and repairs the others
// as well as it can. What still does not fit (an `even` rule that no longer divides) fails in build().
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "fuzz/draft.h"

namespace reshardcheck {

/// Where the two sides of a tensor lie among the ranks; the canonical arrangements that a minimal case may have.
enum class Arrangement : std::uint8_t {
  home,              // source ranks from 0, target ranks right after
  target_first,      // target ranks from 0, source ranks right after
  together,          // both sides from rank 0
  source_exchanged,  // home, the source's first two ranks exchanged
  target_exchanged,  // home, the target's first two ranks exchanged
  after_idle_rank,   // home, but from rank 1
  apart,             // home, with an idle rank between the sides
  source_second,     // both sides overlap: target ranks from 0, source ranks from 1
};
inline constexpr Arrangement all_arrangements[] = {Arrangement::home,
                                                   Arrangement::target_first,
                                                   Arrangement::together,
                                                   Arrangement::source_exchanged,
                                                   Arrangement::target_exchanged,
                                                   Arrangement::after_idle_rank,
                                                   Arrangement::apart,
                                                   Arrangement::source_second};

/// Gives the ranks of both sides anew, as many as their extents ask for.
void arrange(TensorDraft& tensor, Arrangement arrangement);
void arrange(CaseDraft& draft, Arrangement arrangement);

/// The arrangement that every tensor is in, or nothing.
[[nodiscard]] std::optional<Arrangement> arrangement_of(const CaseDraft& draft);

/// Makes a change of sizes; sides that were in a canonical arrangement stay in it.
template <typename Change>
void change_sizes(CaseDraft& draft, Change change) {
  const std::optional<Arrangement> arrangement = arrangement_of(draft);
  change(draft);
  if (arrangement) arrange(draft, *arrangement);
}

/// Renumbers all ranks so that none is left out below the highest, keeping their order.
void close_rank_gaps(CaseDraft& draft);

/// Sets the extent of a tensor dim; sizes of cuts and segments give way, the largest first.
void set_extent(TensorDraft& tensor, std::size_t dim, std::int64_t extent);

/// Removes a dim; axes that shard it replicate, later dims move down.
void drop_dim(TensorDraft& tensor, std::size_t dim);

/// Sets the extent of a mesh axis to a smaller one; ranks of the coordinates that go are left out.
void shrink_axis(SideDraft& side, std::size_t axis, std::int64_t extent);

/// Removes an axis, keeping the ranks of its coordinate 0. The last axis becomes one rank that replicates.
void drop_axis(SideDraft& side, std::size_t axis);

/// One rank that holds the whole tensor.
void make_trivial(SideDraft& side);

/// Exchanges source and target. What was exchanged on one side is then exchanged on the other.
void exchange_sides(CaseDraft& draft);

/// Exchanges two neighbouring axes with their placements. The rank list stays as it is, so ranks move.
void exchange_axes(SideDraft& side, std::size_t axis);

/// Moves a dim to another place, in the shape and in every placement.
void move_dim(TensorDraft& tensor, std::size_t from, std::size_t to);

/// Makes one dim of two neighbours that no axis cuts.
void merge_dims(TensorDraft& tensor, std::size_t dim);

/// The same bytes as u8, with a trailing dim for the bytes of an element.
void make_bytes(TensorDraft& tensor);

/// True when an `even` rule holds the extent of a dim to multiples.
[[nodiscard]] bool must_divide(const TensorDraft& tensor, std::size_t dim);

/// The number of shards into which both sides cut a dim at most.
[[nodiscard]] std::int64_t parts_of(const TensorDraft& tensor, std::size_t dim);

}  // namespace reshardcheck
