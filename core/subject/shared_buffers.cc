#include "core/subject/shared_buffers.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

namespace reshardcheck {
namespace {

constexpr std::string_view folder_prefix = "reshardcheck-buffers-";

std::vector<std::string> folder_places() {
  std::vector<std::string> result;
  const auto add_variable = [&](const char* name) {
    const char* const value = std::getenv(name);
    if (value != nullptr && value[0] == '/') result.emplace_back(value);
  };
  add_variable("XDG_RUNTIME_DIR");
  result.emplace_back("/dev/shm");
  add_variable("TMPDIR");
  result.emplace_back("/tmp");
  return result;
}

int lock_folder(const std::string& path) {
  const int folder = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  if (folder < 0) return -1;
  if (flock(folder, LOCK_EX | LOCK_NB) == 0) return folder;
  close(folder);
  return -1;
}

/// Removes the folders of this user that nobody holds any more. One that has just been made is not locked for a moment,
/// which its age tells from one that is left over.
void remove_left_over(const std::string& place) {
  constexpr std::int64_t young_seconds = 60;
  std::error_code error;
  std::filesystem::directory_iterator entries(place, error);
  for (; !error && entries != std::filesystem::directory_iterator(); entries.increment(error)) {
    const std::string path = entries->path().string();
    if (!entries->path().filename().string().starts_with(folder_prefix)) continue;
    const int lock = lock_folder(path);
    if (lock < 0) continue;
    struct stat facts {};
    struct timespec now {};
    clock_gettime(CLOCK_REALTIME, &now);
    if (fstat(lock, &facts) == 0 && facts.st_uid == geteuid() && now.tv_sec - facts.st_mtime > young_seconds) {
      std::error_code ignored;
      std::filesystem::remove_all(path, ignored);
    }
    close(lock);
  }
}

Error system_error(const std::string& what) { return Error{what + ": " + std::strerror(errno)}; }

}  // namespace

Result<std::unique_ptr<SharedFolder>> SharedFolder::make() {
  std::string failures;
  for (const std::string& place : folder_places()) {
    remove_left_over(place);
    std::string path = place + "/" + std::string(folder_prefix) + "XXXXXX";
    if (mkdtemp(path.data()) == nullptr) {  // with mode 0700
      failures += (failures.empty() ? "" : ", ") + place + ": " + std::strerror(errno);
      continue;
    }
    const int lock = lock_folder(path);
    return std::unique_ptr<SharedFolder>(new SharedFolder(std::move(path), lock));
  }
  return Error{"no folder for shared buffers (" + failures + ")"};
}

SharedFolder::~SharedFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
  if (lock_ >= 0) close(lock_);
}

Result<SharedFile> SharedFile::make(const SharedFolder& folder, const std::string& name) {
  std::string path = folder.path() + "/" + name;
  const int descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (descriptor < 0) return system_error("cannot make the buffer file " + path);
  return SharedFile(std::move(path), descriptor);
}

SharedFile::~SharedFile() { remove(); }

SharedFile::SharedFile(SharedFile&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      size_bytes_(std::exchange(other.size_bytes_, 0)) {}

SharedFile& SharedFile::operator=(SharedFile&& other) noexcept {
  if (this == &other) return *this;
  remove();
  path_ = std::move(other.path_);
  descriptor_ = std::exchange(other.descriptor_, -1);
  size_bytes_ = std::exchange(other.size_bytes_, 0);
  return *this;
}

void SharedFile::remove() {
  if (descriptor_ < 0) return;
  unlink(path_.c_str());
  close(descriptor_);
  descriptor_ = -1;
}

Status SharedFile::grow(std::int64_t bytes) {
  if (bytes <= size_bytes_) return Ok{};
  if (ftruncate(descriptor_, bytes) != 0) return system_error("cannot make room in " + path_);
  size_bytes_ = bytes;
  return Ok{};
}

Status SharedFile::write(std::int64_t offset_bytes, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = pwrite(descriptor_, bytes.data(), bytes.size(), offset_bytes);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return system_error("cannot write to the shared buffers " + path_);
    offset_bytes += count;
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return Ok{};
}

Status SharedFile::read(std::int64_t offset_bytes, std::span<std::byte> bytes) const {
  while (!bytes.empty()) {
    const ssize_t count = pread(descriptor_, bytes.data(), bytes.size(), offset_bytes);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return system_error("cannot read the shared buffers " + path_);
    if (count == 0) return Error{"the buffer file was cut short by the process"};
    offset_bytes += count;
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return Ok{};
}

}  // namespace reshardcheck
