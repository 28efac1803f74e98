// Box move: stretches where the box fits, single elements where a mutant's box may not.
#include "core/subject/box_move.h"

#include <algorithm>
#include <cstring>

namespace reshardcheck {
namespace {

/// memcpy with the sizes of single elements spelled out: they compile to one move each.
void copy_bytes(std::byte* to, const std::byte* from, std::size_t bytes) {
  switch (bytes) {
    case 1:
      std::memcpy(to, from, 1);
      return;
    case 2:
      std::memcpy(to, from, 2);
      return;
    case 4:
      std::memcpy(to, from, 4);
      return;
    case 8:
      std::memcpy(to, from, 8);
      return;
    default:
      std::memcpy(to, from, bytes);
  }
}

/// Answers, for a view, whether an element may be touched.
class Place {
 public:
  Place(const BoxView& view, std::size_t width_bytes)
      : width_(static_cast<std::int64_t>(width_bytes)), reach_(view.reach_bytes) {
    std::int64_t last = 0;
    bool empty = false;
    for (std::size_t dim = 0; dim < view.shape.size(); ++dim) {
      empty = empty || view.shape[dim] == 0;
      last += (view.shape[dim] - 1) * view.strides[dim];
    }
    end_ = empty ? 0 : (last + 1) * width_;
  }

  [[nodiscard]] bool exists(std::int64_t offset, bool inside_shape) const {
    if (reach_ == 0) return inside_shape;
    return offset * width_ >= -reach_ && (offset + 1) * width_ <= end_ + reach_;
  }

 private:
  std::int64_t width_;
  std::int64_t reach_;
  std::int64_t end_ = 0;
};

/// False for the tensor of a rank that holds no part of it: nothing in it has a place.
bool is_present(const Plan& plan, const BoxView& view) {
  return view.data != nullptr && view.shape.size() == plan.dims;
}

/// The address of an element.
std::byte* at(const BoxView& view, std::int64_t offset, std::size_t width_bytes) {
  return view.data + offset * static_cast<std::int64_t>(width_bytes);
}

}  // namespace

void BoxMover::pack(const BoxView& from, std::byte* message) const {
  std::byte* next = message;
  if (!must_check(from)) {
    for_each_stretch<1>(plan, box, {from}, [&](const auto& offset, std::int64_t length) {
      const std::size_t bytes = static_cast<std::size_t>(length) * width_bytes;
      copy_bytes(next, at(from, offset[0], width_bytes), bytes);
      next += bytes;
    });
    return;
  }
  if (!is_present(plan, from)) return;
  const Place place(from, width_bytes);
  for_each_element<1>(plan, box, {from}, [&](const auto& offset, const auto& inside) {
    if (place.exists(offset[0], inside[0])) copy_bytes(next, at(from, offset[0], width_bytes), width_bytes);
    next += width_bytes;
  });
}

void BoxMover::unpack(std::span<const std::byte> message, const BoxView& to) const {
  const std::byte* next = message.data();
  auto left = static_cast<std::int64_t>(message.size() / width_bytes);
  if (!must_check(to)) {
    for_each_stretch<1>(plan, box, {to}, [&](const auto& offset, std::int64_t length) {
      const std::int64_t elements = std::min(length, left);
      if (elements == 0) return;
      const std::size_t bytes = static_cast<std::size_t>(elements) * width_bytes;
      copy_bytes(at(to, offset[0], width_bytes), next, bytes);
      if (written) written(at(to, offset[0], width_bytes), elements);
      next += bytes;
      left -= elements;
    });
    return;
  }
  if (!is_present(plan, to)) return;
  const Place place(to, width_bytes);
  for_each_element<1>(plan, box, {to}, [&](const auto& offset, const auto& inside) {
    if (left == 0) return;
    if (place.exists(offset[0], inside[0])) {
      copy_bytes(at(to, offset[0], width_bytes), next, width_bytes);
      if (written) written(at(to, offset[0], width_bytes), 1);
    }
    next += width_bytes;
    --left;
  });
}

void BoxMover::copy(const BoxView& from, const BoxView& to) const {
  if (!must_check(from) && !must_check(to)) {
    for_each_stretch<2>(plan, box, {from, to}, [&](const auto& offset, std::int64_t length) {
      copy_bytes(at(to, offset[1], width_bytes), at(from, offset[0], width_bytes),
                 static_cast<std::size_t>(length) * width_bytes);
      if (written) written(at(to, offset[1], width_bytes), length);
    });
    return;
  }
  if (!is_present(plan, from) || !is_present(plan, to)) return;
  const Place from_place(from, width_bytes);
  const Place to_place(to, width_bytes);
  for_each_element<2>(plan, box, {from, to}, [&](const auto& offset, const auto& inside) {
    if (!from_place.exists(offset[0], inside[0]) || !to_place.exists(offset[1], inside[1])) return;
    copy_bytes(at(to, offset[1], width_bytes), at(from, offset[0], width_bytes), width_bytes);
    if (written) written(at(to, offset[1], width_bytes), 1);
  });
}

}  // namespace reshardcheck
