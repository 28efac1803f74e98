// OutputTail: reads away what processes print, so that a full pipe never stops them, and remembers the end of it.
#pragma once

#include <mutex>
#include <string>
#include <thread>

namespace reshardcheck {

class OutputTail {
 public:
  /// Also appends everything to `file`, when that is not empty.
  explicit OutputTail(const std::string& file = "");
  ~OutputTail();
  OutputTail(const OutputTail&) = delete;
  OutputTail& operator=(const OutputTail&) = delete;

  /// What the processes write to.
  [[nodiscard]] int descriptor() const { return write_end_; }
  void forget();
  /// What has been kept, after the processes that printed it have ended.
  [[nodiscard]] std::string text() const;
  /// The last `lines` lines that are not empty, each cut to a readable length; control characters made visible.
  [[nodiscard]] std::string last_lines(std::size_t lines) const;

 private:
  void drain(const std::stop_token& stop);
  void settle() const;

  int read_end_ = -1;
  int write_end_ = -1;
  int file_ = -1;
  mutable std::mutex mutex_;
  std::string tail_;
  std::jthread reader_;
};

}  // namespace reshardcheck
