// Shared buffers: files that a process subject maps, and that this process reads and writes.
//
// The files lie in a folder of their own that nobody else may enter, in memory where the system has a place for that.
// This side does not map them: the other side may cut a file short at any moment, which would end a process that has
// mapped it, but makes a read or a write fail. The folder goes with its object; one whose owner was killed is removed
// by the next that is made (an owner holds a lock on its folder as long as it lives).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "core/layout/result.h"

namespace reshardcheck {

class SharedFolder {
 public:
  /// Below $XDG_RUNTIME_DIR, /dev/shm, $TMPDIR or /tmp, the first that takes it.
  static Result<std::unique_ptr<SharedFolder>> make();
  ~SharedFolder();
  SharedFolder(const SharedFolder&) = delete;
  SharedFolder& operator=(const SharedFolder&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  SharedFolder(std::string path, int lock) : path_(std::move(path)), lock_(lock) {}

  std::string path_;
  int lock_ = -1;
};

/// A file in a shared folder. Bytes that nobody has written read as zero and take no memory.
class SharedFile {
 public:
  /// `name` is new in the folder.
  static Result<SharedFile> make(const SharedFolder& folder, const std::string& name);
  ~SharedFile();  // removes it
  SharedFile(SharedFile&& other) noexcept;
  SharedFile& operator=(SharedFile&& other) noexcept;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::int64_t size_bytes() const { return size_bytes_; }

  /// Makes it at least that long.
  Status grow(std::int64_t bytes);
  /// All of the bytes, or an Error. The caller has seen that they lie within the file.
  Status write(std::int64_t offset_bytes, std::span<const std::byte> bytes);
  Status read(std::int64_t offset_bytes, std::span<std::byte> bytes) const;

 private:
  SharedFile(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}
  void remove();

  std::string path_;
  int descriptor_ = -1;
  std::int64_t size_bytes_ = 0;
};

}  // namespace reshardcheck
