// Local memory: the bytes of a local tensor, as mutants meddle with them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/subject/subject.h"

namespace reshardcheck {

/// Row-major strides of a shape without gaps.
std::vector<std::int64_t> dense_strides(std::span<const std::int64_t> shape);

/// Bytes from the first element to the end of the last one, gaps included; 0 for an empty or absent tensor.
std::int64_t span_bytes(const LocalTensor& tensor, DType dtype);

/// Elements of the local tensor, padding included; 0 when it is absent.
std::int64_t local_elements(const LocalTensor& tensor);

/// Copies the real elements of a local tensor (neither gaps nor padding) out of it, and back into it. `layout` is
/// the layout of the tensor's side. Putting back does nothing when `bytes` has another size.
std::vector<std::byte> take_elements(const LocalTensor& tensor, const Layout& layout, DType dtype);
void put_elements(const LocalTensor& tensor, const Layout& layout, DType dtype, std::span<const std::byte> bytes);

/// Flips the lowest bit of the first real element; false when there is none.
bool flip_first_element(const LocalTensor& tensor, const Layout& layout);

}  // namespace reshardcheck
