// A guardian acts when the process it works for is gone, and only then.
//
// A forked process starts a group and a guardian. The group holds the write end of a pipe: the pipe ends when the
// group does.
#include "core/subject/guardian.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>

namespace reshardcheck {
namespace {

struct Pipe {
  Pipe() { EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0); }
  ~Pipe() {
    close(ends[0]);
    if (ends[1] >= 0) close(ends[1]);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  void close_write_end() {
    close(ends[1]);
    ends[1] = -1;
  }
  /// The next letter, or 0 at the end of the pipe; -1 when neither comes.
  [[nodiscard]] int next() const {
    constexpr int bound_ms = 20'000;
    pollfd wanted{ends[0], POLLIN, 0};
    char letter = 0;
    if (poll(&wanted, 1, bound_ms) <= 0) return -1;
    return read(ends[0], &letter, 1) == 1 ? letter : 0;
  }
  int ends[2] = {-1, -1};
};

/// Two processes that stay, deaf to all signals that can be ignored; they print 'x' when they have come up.
Result<ChildProcess> start_stubborn_group(int output) {
  ChildOptions options;
  options.words = {"/bin/sh", "-c", "trap '' TERM HUP INT; sleep 1000 & printf x; sleep 1000"};
  options.output = output;
  return ChildProcess::start(options);
}

TEST(Guardian, EndsAGroupThatIgnoresSignalsAndRemovesTheFolderOfAProcessThatWasKilled) {
  std::string folder = (std::filesystem::temp_directory_path() / "reshardcheck-guardian-XXXXXX").string();
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  close(open((folder + "/file with blanks").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  Pipe pipe;
  const pid_t process = fork();
  if (process == 0) {
    const Result<ChildProcess> child = start_stubborn_group(pipe.ends[1]);
    if (!child.ok()) _exit(1);
    const Guardian guardian = Guardian::watch(*child, folder, 0);
    raise(SIGSTOP);
    _exit(2);
  }
  pipe.close_write_end();
  EXPECT_EQ(pipe.next(), 'x');
  int status = 0;
  ASSERT_EQ(waitpid(process, &status, WUNTRACED), process);
  ASSERT_TRUE(WIFSTOPPED(status));
  EXPECT_TRUE(std::filesystem::exists(folder));
  kill(process, SIGKILL);
  waitpid(process, &status, 0);
  EXPECT_EQ(pipe.next(), 0);
  EXPECT_FALSE(std::filesystem::exists(folder));
  std::filesystem::remove_all(folder);
}

TEST(Guardian, ThatIsDismissedLeavesGroupAndFolderAlone) {
  Pipe pipe;
  Result<ChildProcess> child = start_stubborn_group(pipe.ends[1]);
  ASSERT_TRUE(child.ok());
  EXPECT_EQ(pipe.next(), 'x');
  { const Guardian guardian = Guardian::watch(*child, "", 0); }
  EXPECT_FALSE(child->poll().has_value());
  child->stop(0);
  pipe.close_write_end();
  EXPECT_EQ(pipe.next(), 0);
}

}  // namespace
}  // namespace reshardcheck
