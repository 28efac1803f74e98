// Local memory: rows are visited through the box walk, as one box that covers what the rank owns.
#include "core/subject/local_memory.h"

#include "core/subject/box_move.h"

namespace reshardcheck {
namespace {

/// A plan that holds one box: the real elements of a local tensor, which padding follows in every dim.
Plan owned_box(const LocalTensor& tensor, const Layout& layout) {
  Plan plan;
  plan.dims = layout.dims();
  Box box;
  box.elements = layout.owned_elements(tensor.mesh_index);
  for (std::size_t dim = 0; dim < layout.dims(); ++dim) {
    box.dims[dim] = {static_cast<std::uint32_t>(dim), 1};
    plan.runs.push_back({0, layout.piece(tensor.mesh_index, dim).owned.size(), 0, 0});
  }
  plan.boxes.push_back(box);
  return plan;
}

BoxView view_of(const LocalTensor& tensor) { return {tensor.data, tensor.shape, tensor.strides, &Run::to_offset, 0}; }

}  // namespace

std::vector<std::int64_t> dense_strides(std::span<const std::int64_t> shape) {
  std::vector<std::int64_t> strides(shape.size());
  std::int64_t stride = 1;
  for (std::size_t dim = shape.size(); dim-- > 0;) {
    strides[dim] = stride;
    stride *= shape[dim];
  }
  return strides;
}

std::int64_t local_elements(const LocalTensor& tensor) { return tensor.present() ? elements(tensor.shape) : 0; }

std::int64_t span_bytes(const LocalTensor& tensor, DType dtype) {
  if (local_elements(tensor) == 0) return 0;
  std::int64_t last = 0;
  for (std::size_t dim = 0; dim < tensor.shape.size(); ++dim) last += (tensor.shape[dim] - 1) * tensor.strides[dim];
  return (last + 1) * width_bytes(dtype);
}

std::vector<std::byte> take_elements(const LocalTensor& tensor, const Layout& layout, DType dtype) {
  if (!tensor.present() || layout.owned_elements(tensor.mesh_index) == 0) return {};
  const Plan plan = owned_box(tensor, layout);
  const auto width = static_cast<std::size_t>(width_bytes(dtype));
  std::vector<std::byte> bytes(static_cast<std::size_t>(plan.boxes[0].elements) * width);
  BoxMover{plan, plan.boxes[0], width, false, {}}.pack(view_of(tensor), bytes.data());
  return bytes;
}

void put_elements(const LocalTensor& tensor, const Layout& layout, DType dtype, std::span<const std::byte> bytes) {
  if (!tensor.present() || layout.owned_elements(tensor.mesh_index) == 0) return;
  const Plan plan = owned_box(tensor, layout);
  const auto width = static_cast<std::size_t>(width_bytes(dtype));
  if (bytes.size() != static_cast<std::size_t>(plan.boxes[0].elements) * width) return;
  BoxMover{plan, plan.boxes[0], width, false, {}}.unpack(bytes, view_of(tensor));
}

bool flip_first_element(const LocalTensor& tensor, const Layout& layout) {
  if (!tensor.present() || layout.owned_elements(tensor.mesh_index) == 0) return false;
  tensor.data[0] ^= std::byte{1};
  return true;
}

}  // namespace reshardcheck
