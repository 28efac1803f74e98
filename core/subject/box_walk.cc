// Box walk: the questions about a box that need no visitor.
#include "core/subject/box_walk.h"

namespace reshardcheck {

bool fits(const Plan& plan, const Box& box, const BoxView& view) {
  if (view.data == nullptr || view.shape.size() != plan.dims) return false;
  for (std::size_t dim = 0; dim < plan.dims; ++dim) {
    for (const Run& run : plan.runs_of(box, dim)) {
      const std::int64_t begin = run.*view.offset;
      if (begin < 0 || begin > view.shape[dim] || run.length > view.shape[dim] - begin) return false;
    }
  }
  return true;
}

std::int64_t contiguous_offset(const Plan& plan, const Box& box, const BoxView& view) {
  const auto stretches = box_walk::merge<1>(plan, box, {view});
  return stretches.outer == 0 && !stretches.by_run ? stretches.base[0] : -1;
}

}  // namespace reshardcheck
