// What a driver and its worker say to each other, one JSON object a line.
//
//   worker: hello      who it is, which world it hosts and how large, and the secret that the driver left for it
//   driver: configure  oracles, memory and how long workers may take to come up, once
//   driver: load       a subject, as --subject names it       -> worker: loaded, or why not
//   driver: run        a case with that subject               -> worker: a verdict, or why it was not run
//   driver: quit
//
// Before its reply to run, a worker may say that it is preparing (it loads a subject, or the subject's processes come
// up), and then that it is ready. That time is the driver's for a start, not for a case.
//
// The channel is a Unix-domain socket in a folder of the driver's that nobody else may enter; the secret lies in a file
// beside it. What a subject prints goes elsewhere. Both ends come from the same build, which hello is held against.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/layout/result.h"
#include "verifier/executor.h"
#include "verifier/verdict.h"

namespace reshardcheck {

inline constexpr std::int64_t worker_protocol = 2;
inline constexpr std::int64_t worker_send_ms = 10'000;  // for the other end to take a line

struct WorkerHello {
  std::int64_t protocol = worker_protocol;
  std::string secret;
  std::string world;
  std::int64_t max_world_ranks = 0;
  friend bool operator==(const WorkerHello&, const WorkerHello&) = default;
};
std::string to_line(const WorkerHello& hello);
Result<WorkerHello> parse_hello(std::string_view line);

struct WorkerRequest {
  enum class Kind : std::uint8_t { configure, load, run, quit };
  Kind kind = Kind::quit;
  ExecutorOptions executor;      // configure
  std::int64_t start_ms = 0;     // configure: what the driver allows for preparing
  std::string subject;           // load, run
  std::string text;              // run: the case
  SequenceStep step;             // run
  std::int64_t deadline_ms = 0;  // run: of every call, on worlds that have a clock
};
std::string to_line(const WorkerRequest& request);
Result<WorkerRequest> parse_request(std::string_view line);

/// The answer to load and run. One of verdict, refusal and nothing (loaded).
struct WorkerReply {
  std::optional<Verdict> verdict;
  std::string refusal;  // why the subject was not loaded or the case not run
  bool spent = false;   // the worker's world is of no more use; replace the worker
};
std::string to_line(const WorkerReply& reply);
Result<WorkerReply> parse_reply(std::string_view line);

enum class WorkerNotice : std::uint8_t { preparing, ready };
std::string to_line(WorkerNotice notice);
/// Nothing when the line is none, and is a reply then.
std::optional<WorkerNotice> parse_notice(std::string_view line);

/// Names within the driver's folder.
inline constexpr std::string_view worker_socket_name = "socket";
inline constexpr std::string_view worker_secret_name = "secret";

}  // namespace reshardcheck
