// Box move: the bytes of one box, between local tensors, stages and dense messages.
//
// Messages hold the elements of the box densely, row-major over its product of runs. A mover is told how wide an
// element is, and whether to trust that every element has a place or to skip those that have none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "core/plan/plan.h"
#include "core/subject/box_walk.h"

namespace reshardcheck {

struct BoxMover {
  const Plan& plan;
  const Box& box;
  std::size_t width_bytes = 1;

  /// False: the caller has seen that the box fits its views. True: elements outside a view are skipped, except
  /// those whose address is within the view's reach, which are moved all the same.
  bool may_skip = false;

  /// Told about every stretch that unpack() and copy() have written, when set.
  std::function<void(std::byte* data, std::int64_t elements)> written;

  /// Skipped elements leave the message as it is.
  void pack(const BoxView& from, std::byte* message) const;
  /// A message shorter than the box fills the first elements only.
  void unpack(std::span<const std::byte> message, const BoxView& to) const;
  void copy(const BoxView& from, const BoxView& to) const;

 private:
  [[nodiscard]] bool must_check(const BoxView& view) const { return may_skip && !fits(plan, box, view); }
};

}  // namespace reshardcheck
