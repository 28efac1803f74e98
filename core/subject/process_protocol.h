// Process protocol: the lines that a process subject and this process exchange, one JSON object each.
//
// The process says hello once, and then answers requests:
//
//   <- {"hello":{"abi":1,"hosts":"one","capabilities":{"max_world_ranks":8,"rules":["chunk","even"],"overlap":false}}}
//   -> {"open":{"rank":0,"world_ranks":6,"domain_ranks":0,"domain_anchor":0,"chunk_bytes":0}}     <- {"done":true}
//   -> {"reshard":{"file":PATH,"file_bytes":N,"scratch":{"offset":O,"bytes":N},"layouts":[LAYOUT...],
//                  "tensors":[TENSOR...]}}                                                        <- {"done":true}
//   -> {"close":{}}                                                                               <- {"done":true}
//
// instead of done also {"unsupported":"why"} and {"error":"why"}. "hosts" is "one" for a process per rank, or "all" for
// one process that moves the tensors of all ranks; then open has no rank. Capabilities are those of abi.h by their
// names; what is left out is no limit (and no promise of minimal traffic). Members that are not known are ignored.
//
//   TENSOR = {"name","dtype","width_bytes","shape","path","source":NUMBER,"target":NUMBER,"locals":[LOCAL...]}
//   LAYOUT = {"number":NUMBER,"mesh":[extents],"placements":["S(0)","R"],"ranks":[{"rank","local_shape","intervals"}]}
//   LOCAL  = {"rank","side":"source"|"target","offset","bytes","shape","strides"}
//
// A LAYOUT is sent when its number is first used in a session; its ranks are those of `explain --json`. A LOCAL is a
// local tensor: `offset` in the file of its local index 0, strides in elements. The process maps the file; it becomes
// longer from call to call, and its scratch is the process's own, for messages. It must not write anything else but
// targets.
//
// A process that hosts one rank may communicate while a reshard is open, with offsets into its own file:
//
//   <- {"send":{"to":R,"offset":O,"bytes":N}}      -> {"ok":true}, or {"failed":"deadlock"} and the like
//   <- {"receive":{"from":R,"offset":O,"bytes":N}}
//   <- {"exchange":[{"send":{...}},{"receive":{...}},...]}    posts all, then waits for all
//   <- {"barrier":{}}
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/layout/case.h"
#include "core/layout/result.h"
#include "core/subject/abi.h"
#include "core/subject/subject.h"

namespace reshardcheck {

struct Hello {
  bool hosts_all_ranks = false;
  reshardcheck_capabilities capabilities{};
};

/// A message of an exchange, at an offset of the sender's or receiver's file.
struct FileMessage {
  bool is_send = false;
  Rank peer = 0;
  std::int64_t offset_bytes = 0;
  std::int64_t size_bytes = 0;
};

enum class AnswerKind : std::uint8_t { done, unsupported, error, exchange, barrier };

/// What the process said: the end of a request, or what it wants from the network.
struct Answer {
  AnswerKind kind = AnswerKind::done;
  std::string reason;                 // unsupported, error
  std::vector<FileMessage> messages;  // exchange; a send or a receive is an exchange of one
};

/// Lines of a process are no longer.
inline constexpr std::size_t max_answer_bytes = std::size_t{4} << 20;

/// The Error says what is wrong with the line, and quotes its beginning.
Result<Hello> read_hello(std::string_view line);
Result<Answer> read_answer(std::string_view line);

/// Where a local tensor lies in the file.
struct FileTensor {
  const LocalTensor* local = nullptr;
  Rank rank = 0;
  std::size_t tensor = 0;  // of the batch
  bool is_target = false;
  std::int64_t offset_bytes = 0;
  std::int64_t size_bytes = 0;
};

/// The file of a request.
struct FilePlan {
  std::vector<FileTensor> tensors;  // ordered by tensor
  std::int64_t scratch_offset_bytes = 0;
  std::int64_t scratch_bytes = 0;
  [[nodiscard]] std::int64_t end_bytes() const { return scratch_offset_bytes + scratch_bytes; }
};

/// Numbers layouts by value, and says which ones the process has not been told yet.
class LayoutNumbers {
 public:
  /// The number of a layout; a new one is appended to `told`, as JSON.
  std::size_t number_of(const Layout& layout, nlohmann::json& told);

 private:
  std::map<std::string, std::size_t> numbers_;  // by shape and text
};

/// `rank` < 0: the process hosts all.
std::string open_request(Rank rank, Rank world_ranks, const SessionOptions& options);
std::string reshard_request(std::string_view path, const FilePlan& plan, std::span<const BatchTensor> tensors,
                            LayoutNumbers& numbers);
std::string close_request();
std::string network_reply(CommStatus status);

}  // namespace reshardcheck
