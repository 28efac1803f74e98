#include "verifier/safetensors.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>

namespace reshardcheck {
namespace {

using nlohmann::json;

constexpr std::int64_t max_header_bytes = 100'000'000;  // the limit of the format's own library
constexpr std::size_t max_name_bytes = 4096;

struct NamedType {
  std::string_view name;
  DType dtype;
};

constexpr std::array<NamedType, 15> types = {{{"BOOL", DType::u8},
                                              {"U8", DType::u8},
                                              {"I8", DType::i8},
                                              {"F8_E4M3", DType::f8e4m3},
                                              {"F8_E5M2", DType::f8e5m2},
                                              {"U16", DType::u16},
                                              {"I16", DType::i16},
                                              {"F16", DType::f16},
                                              {"BF16", DType::bf16},
                                              {"U32", DType::u32},
                                              {"I32", DType::i32},
                                              {"F32", DType::f32},
                                              {"U64", DType::u64},
                                              {"I64", DType::i64},
                                              {"F64", DType::f64}}};

std::optional<DType> find_type(std::string_view name) {
  for (const NamedType& type : types) {
    if (type.name == name) return type.dtype;
  }
  return std::nullopt;
}

/// The numbers of a list of non-negative integers, or nothing when it is anything else.
std::optional<std::vector<std::int64_t>> read_numbers(const json& value) {
  if (!value.is_array()) return std::nullopt;
  std::vector<std::int64_t> numbers;
  for (const json& each : value) {
    if (!each.is_number_unsigned() || each.get<std::uint64_t>() > INT64_MAX) return std::nullopt;
    numbers.push_back(each.get<std::int64_t>());
  }
  return numbers;
}

Result<StoredTensor> read_tensor(const std::string& name, const json& entry, const std::byte* data,
                                 std::int64_t bytes) {
  const auto wrong = [&name](std::string_view what) { return Error{fmt::format("tensor '{}': {}", name, what)}; };
  if (name.size() > max_name_bytes) return Error{"a tensor's name is too long"};
  if (!entry.is_object() || !entry.contains("dtype") || !entry.contains("shape") || !entry.contains("data_offsets")) {
    return wrong("dtype, shape or data_offsets is missing");
  }
  const std::string type_name = entry["dtype"].is_string() ? entry["dtype"].get<std::string>() : "";
  const std::optional<DType> dtype = find_type(type_name);
  if (!dtype) return wrong(fmt::format("unknown dtype '{}'", type_name));
  const std::optional<std::vector<std::int64_t>> shape = read_numbers(entry["shape"]);
  if (!shape) return wrong("the shape is not a list of whole numbers");
  const Result<std::int64_t> count = checked_elements(*shape);
  if (!count) return wrong(count.error().reason);
  const std::optional<std::vector<std::int64_t>> offsets = read_numbers(entry["data_offsets"]);
  if (!offsets || offsets->size() != 2) return wrong("data_offsets are not two whole numbers");
  const std::int64_t begin = offsets->front();
  const std::int64_t end = offsets->back();
  if (begin > end || end > bytes) return wrong("data_offsets lie outside the file");
  std::int64_t needed = 0;
  if (__builtin_mul_overflow(*count, width_bytes(*dtype), &needed) || needed != end - begin) {
    return wrong(fmt::format("data_offsets span {} bytes, dtype and shape say otherwise", end - begin));
  }
  return StoredTensor{name, *dtype, *shape, data + begin};
}

struct CloseMapping {
  std::size_t bytes;
  void operator()(const std::byte* begin) const { ::munmap(const_cast<std::byte*>(begin), bytes); }
};

/// The file as memory, with its size.
struct Mapping {
  std::shared_ptr<const std::byte> memory;
  std::int64_t bytes = 0;
};

Result<Mapping> map_file(const std::string& path) {
  const auto failed = [&path](const char* what) {
    return Error{fmt::format("{}: {}: {}", path, what, std::strerror(errno))};
  };
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return failed("cannot open");
  struct stat status = {};
  const bool known = ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
  if (!known || status.st_size < 8) {
    ::close(descriptor);
    return Error{fmt::format("{}: not a safetensors file: it is {}", path, known ? "too short" : "no regular file")};
  }
  const auto bytes = static_cast<std::size_t>(status.st_size);
  void* const memory = ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, descriptor, 0);
  ::close(descriptor);
  if (memory == MAP_FAILED) return failed("cannot map");
  (void)::madvise(memory, bytes, MADV_SEQUENTIAL);
  return Mapping{{static_cast<const std::byte*>(memory), CloseMapping{bytes}}, status.st_size};
}

}  // namespace

Result<std::vector<StoredTensor>> parse_safetensors_header(std::string_view header, const std::byte* data,
                                                           std::int64_t bytes) {
  const json parsed = json::parse(header, nullptr, false);
  if (!parsed.is_object()) return Error{"not a safetensors file: its header is not a JSON object"};
  std::vector<StoredTensor> tensors;
  for (const auto& [name, entry] : parsed.items()) {
    if (name == "__metadata__") continue;
    Result<StoredTensor> tensor = read_tensor(name, entry, data, bytes);
    if (!tensor) return tensor.error();
    tensors.push_back(std::move(*tensor));
  }
  std::stable_sort(tensors.begin(), tensors.end(),
                   [](const StoredTensor& a, const StoredTensor& b) { return a.data < b.data; });
  return tensors;
}

Result<SafetensorsFile> SafetensorsFile::open(const std::string& path) {
  const Result<Mapping> mapping = map_file(path);
  if (!mapping) return mapping.error();
  const std::byte* begin = mapping->memory.get();
  std::uint64_t header_bytes = 0;
  for (int i = 8; i-- > 0;) header_bytes = header_bytes << 8 | static_cast<std::uint64_t>(begin[i]);
  if (header_bytes > static_cast<std::uint64_t>(std::min(max_header_bytes, mapping->bytes - 8))) {
    return Error{fmt::format("{}: not a safetensors file: a header of {} bytes", path, header_bytes)};
  }
  const std::string_view header(reinterpret_cast<const char*>(begin) + 8, header_bytes);
  const std::byte* data = begin + 8 + header_bytes;
  Result<std::vector<StoredTensor>> tensors =
      parse_safetensors_header(header, data, mapping->bytes - 8 - static_cast<std::int64_t>(header_bytes));
  if (!tensors) return Error{fmt::format("{}: {}", path, tensors.error().reason)};
  SafetensorsFile file;
  file.path_ = path;
  file.mapping_ = mapping->memory;
  file.tensors_ = std::move(*tensors);
  return file;
}

}  // namespace reshardcheck
