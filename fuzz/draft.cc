#include "fuzz/draft.h"

#include <functional>
#include <numeric>

namespace reshardcheck {
namespace {

SideDraft side_of(const Layout& layout) {
  const Mesh& mesh = layout.mesh();
  return {{mesh.extents().begin(), mesh.extents().end()},
          {mesh.ranks().begin(), mesh.ranks().end()},
          {layout.placements().begin(), layout.placements().end()}};
}

Result<Layout> build_side(const Shape& shape, const SideDraft& side) {
  Result<Mesh> mesh = Mesh::make(side.extents, side.ranks);
  if (!mesh) return mesh.error();
  return Layout::make(shape, *std::move(mesh), side.placements);
}

}  // namespace

std::int64_t SideDraft::size() const {
  return std::accumulate(extents.begin(), extents.end(), std::int64_t{1}, std::multiplies<>());
}

CaseDraft draft_of(const Case& value) {
  CaseDraft draft{{}, value.options};
  for (const TensorCase& tensor : value.tensors) {
    draft.tensors.push_back(
        {tensor.name, tensor.dtype, tensor.path, tensor.shape(), side_of(tensor.source), side_of(tensor.target)});
  }
  return draft;
}

Result<Case> build(const CaseDraft& draft) {
  Case value{{}, draft.options};
  value.tensors.reserve(draft.tensors.size());
  for (const TensorDraft& tensor : draft.tensors) {
    Result<Layout> source = build_side(tensor.shape, tensor.source);
    if (!source) return source.error();
    Result<Layout> target = build_side(tensor.shape, tensor.target);
    if (!target) return target.error();
    value.tensors.push_back({tensor.name, tensor.dtype, tensor.path, *std::move(source), *std::move(target)});
  }
  const Status valid = validate(value);
  if (!valid) return valid.error();
  return value;
}

}  // namespace reshardcheck
