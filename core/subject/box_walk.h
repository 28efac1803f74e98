// Box walk: from the runs of a box to stretches of memory.
//
// A box names the elements of a transfer as a product of runs; a view says where such a product lies in a buffer.
// for_each_stretch() visits, in message order, the longest runs of consecutive elements that are contiguous in
// every view it is given, so that moving a box costs one memcpy a stretch and nothing an element. Walking two
// views at once copies from one buffer to another; walking one packs or unpacks a message.
//
// for_each_element() is the slow walk for subjects that believe in a wrong layout: it asks, element by element,
// whether the place exists.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/plan/plan.h"

namespace reshardcheck {

/// A local tensor or a stage as a walk sees it. Strides count elements; `offset` picks the end of the runs that
/// points into this buffer.
struct BoxView {
  std::byte* data = nullptr;
  std::span<const std::int64_t> shape;
  std::span<const std::int64_t> strides;
  std::int64_t Run::*offset = nullptr;
  std::int64_t reach_bytes = 0;  // how far around the memory a mover that may skip still reads and writes
};

/// True when every element of the box has a place inside the view's shape. False for a view without memory.
bool fits(const Plan& plan, const Box& box, const BoxView& view);

/// The element offset at which a box lies when it is one contiguous stretch of the view, else -1.
std::int64_t contiguous_offset(const Plan& plan, const Box& box, const BoxView& view);

namespace box_walk {

template <std::size_t N>
using Offsets = std::array<std::int64_t, N>;

/// How a box falls into stretches: the dims before `outer` are walked index by index; then comes one stretch of
/// `length` elements, or one for each run of the dim `outer` when `by_run` is set.
template <std::size_t N>
struct Stretches {
  std::size_t outer = 0;
  bool by_run = false;
  std::int64_t length = 1;
  Offsets<N> base{};
};

template <std::size_t N>
Stretches<N> merge(const Plan& plan, const Box& box, const std::array<BoxView, N>& views) {
  Stretches<N> result;
  for (std::size_t dim = plan.dims; dim-- > 0;) {
    const std::span<const Run> runs = plan.runs_of(box, dim);
    bool dense = true;
    for (const BoxView& view : views) dense = dense && view.strides[dim] == result.length;
    const bool single = runs.size() == 1;
    if (!(single && (dense || runs[0].length == 1))) {
      result.by_run = dense;
      result.outer = dense ? dim : dim + 1;
      return result;
    }
    for (std::size_t i = 0; i < N; ++i) result.base[i] += runs[0].*views[i].offset * views[i].strides[dim];
    result.length *= runs[0].length;
  }
  return result;
}

template <std::size_t N, typename Visit>
struct Walk {
  const Plan& plan;
  const Box& box;
  const std::array<BoxView, N>& views;
  const Stretches<N>& stretches;
  Visit& visit;

  void stretch(const Offsets<N>& at) {
    if (!stretches.by_run) return visit(at, stretches.length);
    for (const Run& run : plan.runs_of(box, stretches.outer)) {
      Offsets<N> start = at;
      for (std::size_t i = 0; i < N; ++i) start[i] += run.*views[i].offset * views[i].strides[stretches.outer];
      visit(start, run.length * stretches.length);
    }
  }

  void from(std::size_t dim, const Offsets<N>& at) {
    if (dim == stretches.outer) return stretch(at);
    for (const Run& run : plan.runs_of(box, dim)) {
      Offsets<N> next = at;
      for (std::size_t i = 0; i < N; ++i) next[i] += run.*views[i].offset * views[i].strides[dim];
      for (std::int64_t k = 0; k < run.length; ++k) {
        from(dim + 1, next);
        for (std::size_t i = 0; i < N; ++i) next[i] += views[i].strides[dim];
      }
    }
  }
};

}  // namespace box_walk

/// Calls visit(offsets in elements, one per view; length in elements) for every stretch. The box must fit.
template <std::size_t N, typename Visit>
void for_each_stretch(const Plan& plan, const Box& box, const std::array<BoxView, N>& views, Visit visit) {
  const box_walk::Stretches<N> stretches = box_walk::merge(plan, box, views);
  box_walk::Walk<N, Visit>{plan, box, views, stretches, visit}.from(0, stretches.base);
}

namespace box_walk {

template <std::size_t N, typename Visit>
struct ElementWalk {
  const Plan& plan;
  const Box& box;
  const std::array<BoxView, N>& views;
  Visit& visit;

  void from(std::size_t dim, const Offsets<N>& at, const std::array<bool, N>& inside) {
    if (dim == plan.dims) return visit(at, inside);
    for (const Run& run : plan.runs_of(box, dim)) {
      for (std::int64_t k = 0; k < run.length; ++k) {
        Offsets<N> next = at;
        std::array<bool, N> in = inside;
        for (std::size_t i = 0; i < N; ++i) {
          const std::int64_t index = run.*views[i].offset + k;
          next[i] += index * views[i].strides[dim];
          in[i] = in[i] && index >= 0 && index < views[i].shape[dim];
        }
        from(dim + 1, next, in);
      }
    }
  }
};

}  // namespace box_walk

/// Calls visit(offsets in elements, inside) for every element of the box in message order; inside[i] says
/// whether the element has a place in the shape of view i.
template <std::size_t N, typename Visit>
void for_each_element(const Plan& plan, const Box& box, const std::array<BoxView, N>& views, Visit visit) {
  std::array<bool, N> inside{};
  inside.fill(true);
  box_walk::ElementWalk<N, Visit>{plan, box, views, visit}.from(0, {}, inside);
}

}  // namespace reshardcheck
