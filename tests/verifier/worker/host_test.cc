// A worker in this process, driven by hand over its channel: it greets, answers every request, and ends when its driver
// goes. And the channel's first end: who may connect, and that its folder goes.
#include "verifier/worker/host.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "core/subject/line_channel.h"
#include "core/world/sim.h"
#include "core/world/threads.h"
#include "verifier/worker/listener.h"
#include "verifier/worker/output_tail.h"
#include "verifier/worker/protocol.h"

namespace reshardcheck {
namespace {

constexpr std::int64_t wait_ms = 20'000;
const auto never = [] { return false; };

/// A worker on a world, in a thread, and the driver's end of its channel.
class HandDriver {
 public:
  explicit HandDriver(World& world) : listener_(*Listener::open()) {
    worker_ = std::jthread([this, &world] { served_ = serve_driver(world, {listener_.folder(), 16, false}); });
    socket_ = listener_.accept(wait_ms, never);
    channel_ = LineChannel(socket_);
  }
  ~HandDriver() {
    if (socket_ >= 0) close(socket_);
  }

  std::string read() {
    std::string line;
    EXPECT_EQ(channel_.read(line, wait_ms), ChannelStatus::ok);
    return line;
  }
  void write(const std::string& line) { EXPECT_EQ(channel_.write(line, wait_ms), ChannelStatus::ok); }
  WorkerReply ask(WorkerRequest::Kind kind, const std::string& subject, const std::string& text = "") {
    WorkerRequest request;
    request.kind = kind;
    request.subject = subject;
    request.text = text;
    request.deadline_ms = wait_ms;
    write(to_line(request));
    std::string line = read();
    notices = "";
    for (auto notice = parse_notice(line); notice; notice = parse_notice(line)) {
      notices += *notice == WorkerNotice::preparing ? "preparing " : "ready ";
      line = read();
    }
    const Result<WorkerReply> reply = parse_reply(line);
    EXPECT_TRUE(reply.ok());
    return *reply;
  }
  /// Hangs up; how the worker took it.
  Status hang_up() {
    close(socket_);
    socket_ = -1;
    worker_.join();
    return served_;
  }
  Status wait_for_end() {
    worker_.join();
    return served_;
  }
  [[nodiscard]] const Listener& listener() const { return listener_; }

  std::string notices;  // before the last reply

 private:
  Listener listener_;
  Status served_ = Ok{};
  std::jthread worker_;
  int socket_ = -1;
  LineChannel channel_;
};

void serves(World& world) {
  using enum WorkerRequest::Kind;
  HandDriver driver(world);
  const Result<WorkerHello> hello = parse_hello(driver.read());
  ASSERT_TRUE(hello.ok());
  EXPECT_EQ(hello->secret, driver.listener().secret());
  EXPECT_EQ(hello->world, world.name());
  EXPECT_EQ(hello->max_world_ranks, 16);
  EXPECT_EQ(driver.ask(load, "reference").refusal, "");
  EXPECT_NE(driver.ask(load, "no-such-subject").refusal, "");
  const WorkerReply passed = driver.ask(run, "reference", "u8[5] 2@0 S(0) -> 1@2 R");
  ASSERT_TRUE(passed.verdict);
  EXPECT_EQ(passed.verdict->kind, VerdictKind::pass);
  const WorkerReply failed = driver.ask(run, "mutant:flat-chunk", "u8[5] 2x2@0 S(0),S(0) -> 1@4 R");
  ASSERT_TRUE(failed.verdict);
  EXPECT_TRUE(failed.verdict->failed());
  EXPECT_FALSE(failed.verdict->wrong.empty());
  EXPECT_NE(driver.ask(run, "reference", "u8[5 2@0").refusal, "");
  EXPECT_NE(driver.ask(run, "reference", "u8[1099511627776] 1@0 R -> 1@1 R").refusal, "") << "more than its memory";
  EXPECT_EQ(driver.ask(run, "reference", "u8[5] 2@0 S(0) -> 1@2 R").verdict->kind, VerdictKind::pass);
  EXPECT_TRUE(driver.hang_up().ok());
}

TEST(WorkerHost, AnswersEveryRequestAndEndsWhenItsDriverGoes) {
  SimWorld sim;
  serves(sim);
  ThreadsWorld threads;
  serves(threads);
}

TEST(WorkerHost, SaysThatItPreparesWhenItLoadsASubjectOrStartsProcesses) {
  using enum WorkerRequest::Kind;
  SimWorld world;
  HandDriver driver(world);
  driver.read();
  const std::string text = "u8[5] 2@0 S(0) -> 1@2 R";
  EXPECT_EQ(driver.ask(run, "reference", text).verdict->kind, VerdictKind::pass);
  EXPECT_EQ(driver.notices, "preparing ready ");
  EXPECT_EQ(driver.ask(run, "reference", text).verdict->kind, VerdictKind::pass);
  EXPECT_EQ(driver.notices, "") << "it is loaded";
  const std::string pairwise = std::string("proc:") + RESHARDCHECK_PYTHON + " '" + RESHARDCHECK_SOURCE_DIR +
                               "/core/subject/python/pairwise_exchange.py'";
  EXPECT_EQ(driver.ask(load, pairwise).refusal, "");
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(driver.ask(run, pairwise, text).verdict->kind, VerdictKind::pass);
    EXPECT_EQ(driver.notices, "preparing ready ") << "a process may have died since";
  }
  EXPECT_NE(driver.ask(run, "no-such-subject", text).refusal, "");
  EXPECT_EQ(driver.notices, "preparing ready ");
  EXPECT_TRUE(driver.hang_up().ok());
}

/// Claims a second process, which has no library: it cannot make a subject, once.
class TwoProcesses final : public World {
 public:
  [[nodiscard]] std::string_view name() const override { return "two"; }
  [[nodiscard]] std::optional<std::string> unsupported(const RunOptions&) const override { return std::nullopt; }
  WorldOutcome run(const RunOptions& options, const RankBody& body, Traffic& traffic) override {
    return sim_.run(options, body, traffic);
  }
  [[nodiscard]] Rank processes() const override { return 2; }
  std::vector<std::string> exchange(std::string_view text, std::int64_t) override {
    if (text.empty() && !refused_) {
      refused_ = true;
      return {"", "no such file"};
    }
    return {std::string(text), std::string(text)};
  }
  bool renew() override { return sim_.renew(); }

 private:
  SimWorld sim_;
  bool refused_ = false;
};

TEST(WorkerHost, RefusesASubjectThatOneProcessCannotMake) {
  TwoProcesses world;
  HandDriver driver(world);
  driver.read();
  EXPECT_EQ(driver.ask(WorkerRequest::Kind::load, "reference").refusal, "on process 1: no such file");
  EXPECT_EQ(driver.ask(WorkerRequest::Kind::load, "reference").refusal, "") << "it has the library now";
  EXPECT_EQ(driver.ask(WorkerRequest::Kind::load, "no-such-subject").refusal.find("on process"), std::string::npos)
      << "what all say is said once";
  EXPECT_TRUE(driver.hang_up().ok());
}

TEST(WorkerHost, EndsAtARequestThatIsNone) {
  SimWorld world;
  HandDriver driver(world);
  driver.read();
  driver.write("{\"request\":\"jump\"}");
  EXPECT_FALSE(driver.wait_for_end().ok());
}

TEST(WorkerHost, WithoutADriverSaysSo) {
  SimWorld world;
  for (const std::string& folder : {std::string("/nowhere"), std::string(300, 'x')}) {
    const Status served = serve_driver(world, {folder, 1, false});
    ASSERT_FALSE(served.ok());
    EXPECT_NE(served.error().reason.find(folder), std::string::npos);
  }
}

TEST(Listener, KeepsItsFolderToThisUserAndTakesItAway) {
  std::string folder;
  {
    Result<Listener> listener = Listener::open();
    ASSERT_TRUE(listener.ok());
    folder = listener->folder();
    struct stat status {};
    ASSERT_EQ(stat(folder.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0700U);
    EXPECT_GE(listener->secret().size(), 32U);
    EXPECT_NE(listener->secret(), Listener::open()->secret());
    EXPECT_EQ(listener->accept(wait_ms, [] { return true; }), -1) << "gives up when told to";
    EXPECT_EQ(listener->accept(0, never), -1) << "and when its time is up";
  }
  EXPECT_FALSE(std::filesystem::exists(folder));
}

void print(int descriptor, const std::string& text) {
  ASSERT_EQ(::write(descriptor, text.data(), text.size()), static_cast<ssize_t>(text.size()));
}

TEST(OutputTail, RemembersTheLastLinesInReadableForm) {
  OutputTail tail;
  print(tail.descriptor(), "one\n\ntwo\x1b[31m\n---\nthree");
  EXPECT_EQ(tail.last_lines(2), "two?[31m / three");
  EXPECT_EQ(tail.last_lines(9), "one / two?[31m / three");
  tail.forget();
  EXPECT_EQ(tail.last_lines(2), "");
  print(tail.descriptor(), std::string(5'000, 'x') + "\n");
  EXPECT_LT(tail.last_lines(1).size(), 500U);
}

TEST(OutputTail, IsNeverFullHoweverMuchIsPrinted) {
  OutputTail tail;
  for (int i = 0; i < 2'000; ++i) print(tail.descriptor(), std::string(1'000, 'a') + "\n");
  print(tail.descriptor(), "the end\n");
  EXPECT_EQ(tail.last_lines(1), "the end");
  EXPECT_LT(tail.text().size(), 64'000U);
}

}  // namespace
}  // namespace reshardcheck
