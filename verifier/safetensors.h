// Safetensors files, read without trust.
//
// A file is 8 bytes of header length, a JSON header {"name": {"dtype", "shape", "data_offsets"}}, and the bytes of the
// tensors. The file is mapped, never copied; the header is bounded before it is parsed, and every tensor is checked to
// lie inside the file and to have the bytes that dtype and shape say.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/layout/dtype.h"
#include "core/layout/layout.h"

namespace reshardcheck {

struct StoredTensor {
  std::string name;
  DType dtype = DType::u8;  // BOOL is read as u8
  Shape shape;
  const std::byte* data = nullptr;  // dense, row-major; lives as long as the file
};

class SafetensorsFile {
 public:
  /// The Error says which file and why.
  static Result<SafetensorsFile> open(const std::string& path);

  [[nodiscard]] const std::string& path() const { return path_; }
  /// In the order of their data, which is how the file was written.
  [[nodiscard]] std::span<const StoredTensor> tensors() const { return tensors_; }

 private:
  std::string path_;
  std::shared_ptr<const std::byte> mapping_;
  std::vector<StoredTensor> tensors_;
};

/// The tensors of a header over `bytes` bytes of data at `data`. What open() does once the file is mapped.
Result<std::vector<StoredTensor>> parse_safetensors_header(std::string_view header, const std::byte* data,
                                                           std::int64_t bytes);

}  // namespace reshardcheck
