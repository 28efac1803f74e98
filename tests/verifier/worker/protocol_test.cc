// What one end of a worker's channel writes the other reads back, and nothing that comes over it is trusted.
#include "verifier/worker/protocol.h"

#include <gtest/gtest.h>

namespace reshardcheck {
namespace {

TEST(WorkerProtocol, EveryMessageReadsBackAsItWasWritten) {
  const WorkerHello hello{worker_protocol, "secret", "threads", 64};
  EXPECT_EQ(*parse_hello(to_line(hello)), hello);

  WorkerRequest configure;
  configure.kind = WorkerRequest::Kind::configure;
  configure.executor.oracles = {false, true, false, true};
  configure.executor.max_bytes = 12'345;
  configure.start_ms = 777;
  const Result<WorkerRequest> configured = parse_request(to_line(configure));
  ASSERT_TRUE(configured.ok());
  EXPECT_EQ(configured->kind, WorkerRequest::Kind::configure);
  EXPECT_FALSE(configured->executor.oracles.naive);
  EXPECT_TRUE(configured->executor.oracles.gather_broadcast);
  EXPECT_EQ(configured->executor.max_bytes, 12'345);
  EXPECT_EQ(configured->start_ms, 777);

  WorkerRequest run;
  run.kind = WorkerRequest::Kind::run;
  run.subject = "lib:/tmp/a \"b\".so?x";
  run.text = "u8[4] 1@0 R -> 1@1 R";
  run.step = {false, true};
  run.deadline_ms = 77;
  const Result<WorkerRequest> ran = parse_request(to_line(run));
  ASSERT_TRUE(ran.ok());
  EXPECT_EQ(ran->subject, run.subject);
  EXPECT_EQ(ran->text, run.text);
  EXPECT_FALSE(ran->step.first);
  EXPECT_TRUE(ran->step.last);
  EXPECT_EQ(ran->deadline_ms, 77);

  WorkerReply reply;
  reply.verdict = Verdict{};
  reply.verdict->kind = VerdictKind::mismatch;
  reply.verdict->detail = "two\nlines \xff";
  reply.verdict->wrong.push_back({0, 3, {1}, {5}, 5, 4, Origin{0, {4}, false}});
  reply.verdict->wrong_elements = 9;
  reply.spent = true;
  const std::string line = to_line(reply);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  const Result<WorkerReply> read = parse_reply(line);
  ASSERT_TRUE(read.ok()) << read.error().reason;
  EXPECT_TRUE(read->spent);
  ASSERT_TRUE(read->verdict);
  EXPECT_EQ(read->verdict->kind, VerdictKind::mismatch);
  EXPECT_EQ(read->verdict->wrong, reply.verdict->wrong);
  EXPECT_EQ(read->verdict->wrong_elements, 9);
}

TEST(WorkerProtocol, NoticesAreNoRepliesAndRepliesAreNoNotices) {
  for (const WorkerNotice notice : {WorkerNotice::preparing, WorkerNotice::ready}) {
    EXPECT_EQ(parse_notice(to_line(notice)), notice);
    EXPECT_FALSE(parse_reply(to_line(notice)).ok());
  }
  EXPECT_EQ(parse_notice(to_line(WorkerReply{})), std::nullopt);
}

TEST(WorkerProtocol, TimesAreSmallEnoughToCalculateWith) {
  WorkerRequest run;
  run.kind = WorkerRequest::Kind::run;
  run.deadline_ms = INT64_MAX;
  EXPECT_LT(parse_request(to_line(run))->deadline_ms, INT64_MAX / 1'000);
  run.deadline_ms = -5;
  EXPECT_EQ(parse_request(to_line(run))->deadline_ms, 0);
}

TEST(WorkerProtocol, GarbageIsAnErrorOfOneLine) {
  for (const char* const line : {"", "{}", "[]", "null", "{\"hello\":\"x\"}", "{\"request\":\"jump\"}", "\xff\xfe",
                                 "{\"request\":\"run\"}", "{\"request\":\"configure\",\"oracles\":[true]}",
                                 "{\"spent\":3}", "{\"spent\":false,\"verdict\":{\"kind\":\"maybe\"}}"}) {
    for (const Status& status : {Status(parse_hello(line).ok() ? Status(Ok{}) : Status(parse_hello(line).error())),
                                 Status(parse_request(line).ok() ? Status(Ok{}) : Status(parse_request(line).error())),
                                 Status(parse_reply(line).ok() ? Status(Ok{}) : Status(parse_reply(line).error()))}) {
      ASSERT_FALSE(status.ok()) << line;
      EXPECT_EQ(status.error().reason.find('\n'), std::string::npos) << status.error().reason;
    }
  }
}

}  // namespace
}  // namespace reshardcheck
