// Local tensors lie in the file with a band of known bytes on either side. A band byte that has changed after a call is
// a stray write; the same change is made next to the tensor in the harness's own memory, where its guard band is.
#include "core/subject/hosted_process.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>

#include "core/subject/local_memory.h"

namespace reshardcheck {
namespace {

constexpr std::int64_t band_bytes = 64;  // no wider than the guard bands of every harness
constexpr std::int64_t max_scratch_bytes = std::int64_t{1} << 30;
constexpr std::int64_t last_words_ms = 1'000;  // for a process that has closed its output to end

using Band = std::array<std::byte, static_cast<std::size_t>(band_bytes)>;

/// What a band holds before a call; differs from band to band and from byte to byte.
Band band_at(std::int64_t offset_bytes) {
  Band band;
  auto state = static_cast<std::uint64_t>(offset_bytes) + 1;
  for (std::byte& each : band) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    each = static_cast<std::byte>(state >> 56);
  }
  return band;
}

std::int64_t align_to_band(std::int64_t bytes) { return (bytes + band_bytes - 1) / band_bytes * band_bytes; }

/// Where everything lies: band, tensor, band for every local tensor, then the scratch.
FilePlan plan_file(std::span<const RankBatch> ranks, bool needs_scratch) {
  FilePlan plan;
  std::int64_t end_bytes = 0;
  std::int64_t wanted_bytes = 0;
  const std::size_t tensors = ranks.empty() ? 0 : ranks.front().tensors.size();
  for (std::size_t i = 0; i < tensors; ++i) {
    const TensorCase& spec = *ranks.front().tensors[i].spec;
    for (const RankBatch& rank : ranks) {
      for (const bool is_target : {false, true}) {
        const LocalTensor& local = is_target ? rank.tensors[i].target : rank.tensors[i].source;
        if (!local.present()) continue;
        const std::int64_t size_bytes = span_bytes(local, spec.dtype);
        plan.tensors.push_back({&local, rank.rank, i, is_target, end_bytes + band_bytes, size_bytes});
        end_bytes = align_to_band(end_bytes + size_bytes + 2 * band_bytes);
        wanted_bytes = std::min(wanted_bytes + size_bytes, max_scratch_bytes);
      }
    }
    // A copy for every rank that may be sent to: what is not used takes no memory.
    const std::int64_t whole_bytes = std::min(elements(spec.shape()) * width_bytes(spec.dtype), max_scratch_bytes);
    const auto copies = static_cast<std::int64_t>(std::max(spec.source.mesh().size(), spec.target.mesh().size()));
    wanted_bytes = std::min(wanted_bytes + whole_bytes * copies, max_scratch_bytes);
  }
  plan.scratch_offset_bytes = end_bytes;
  plan.scratch_bytes = needs_scratch ? align_to_band(wanted_bytes) : 0;
  return plan;
}

/// Changes the band in memory as the one in the file was changed.
void apply_strays(const Band& before, const Band& after, std::byte* memory) {
  if (before == after) return;
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (before[i] != after[i]) memory[i] ^= before[i] ^ after[i];
  }
}

}  // namespace

Outcome ProcessFailure::outcome() const {
  if (kind == Kind::died) throw std::runtime_error(reason);
  return Outcome::error(reason, kind == Kind::silent ? CommStatus::deadline : CommStatus::ok);
}

// --- 1. beginning and end -------------------------------------------------------------------------------------------

Result<std::unique_ptr<HostedProcess>> HostedProcess::start(const std::vector<std::string>& words,
                                                            const ProcessOptions& options) {
  auto process = std::unique_ptr<HostedProcess>(new HostedProcess(options));
  Result<std::unique_ptr<SharedFolder>> folder = SharedFolder::make();
  if (!folder) return folder.error();
  process->folder_ = std::move(folder.value());
  Result<SharedFile> file = SharedFile::make(*process->folder_, "buffers");
  if (!file) return file.error();
  process->file_ = std::move(file.value());

  ChildOptions child;
  child.words = words;
  child.talk = true;
  Result<ChildProcess> started = ChildProcess::start(child);
  if (!started) return started.error();
  process->child_ = std::move(started.value());
  process->guardian_ = Guardian::watch(process->child_, process->folder_->path(), 0);
  process->channel_ = LineChannel(process->child_.channel(), max_answer_bytes);
  process->started_ = std::chrono::steady_clock::now();
  return process;
}

Status HostedProcess::greet() {
  const auto since_start = std::chrono::steady_clock::now() - started_;
  const std::int64_t passed_ms = std::chrono::duration_cast<std::chrono::milliseconds>(since_start).count();
  std::string line;
  const ChannelStatus status = channel_.read(line, std::max<std::int64_t>(options_.hello_ms - passed_ms, 0));
  if (status != ChannelStatus::ok) {
    fail(status, options_.hello_ms);
    return Error{failure_->reason + " before it said hello"};
  }
  const Result<Hello> hello = read_hello(line);
  if (!hello) return hello.error();
  hello_ = *hello;
  return Ok{};
}

const std::optional<ProcessFailure>& HostedProcess::failure() {
  if (!failure_) {
    if (const std::optional<ExitStatus> status = child_.poll()) {
      fail(ProcessFailure::Kind::died, "the process " + to_text(*status));
    }
  }
  return failure_;
}

bool HostedProcess::fail(ProcessFailure::Kind kind, std::string reason) {
  if (!failure_) failure_ = ProcessFailure{kind, std::move(reason)};
  child_.stop(0);
  return false;
}

bool HostedProcess::fail(ChannelStatus status, std::int64_t waited_ms) {
  using enum ProcessFailure::Kind;
  switch (status) {
    case ChannelStatus::deadline:
      return fail(silent, fmt::format("the process said nothing for {} ms", waited_ms));
    case ChannelStatus::too_long:
      return fail(wrong, fmt::format("the process wrote a line of more than {} bytes", max_answer_bytes));
    case ChannelStatus::closed:
      if (const auto exit = child_.wait(last_words_ms)) return fail(died, "the process " + to_text(*exit));
      return fail(died, "the process closed its standard output");
    default:
      return fail(wrong, "the channel to the process failed");
  }
}

// --- 2. lines -------------------------------------------------------------------------------------------------------

bool HostedProcess::write(const std::string& line) {
  const ChannelStatus status = channel_.write(line, options_.deadline_ms);
  return status == ChannelStatus::ok || fail(status, options_.deadline_ms);
}

bool HostedProcess::read(std::string& line) {
  const ChannelStatus status = channel_.read(line, options_.deadline_ms);
  return status == ChannelStatus::ok || fail(status, options_.deadline_ms);
}

/// Sends the request and serves the process until it has answered it.
bool HostedProcess::talk(const std::string& request, Endpoint* endpoint, Answer& answer) {
  using enum ProcessFailure::Kind;
  was_used_ = true;
  first_comm_failure_ = CommStatus::ok;
  if (!write(request)) return false;
  std::string line;
  for (std::int64_t requests = 0;; ++requests) {
    if (!read(line)) return false;
    Result<Answer> read = read_answer(line);
    if (!read) return fail(wrong, read.error().reason);
    answer = std::move(read.value());
    if (answer.kind != AnswerKind::exchange && answer.kind != AnswerKind::barrier) return true;
    if (endpoint == nullptr)
      return fail(wrong, "the process asks for the network, which only a reshard of one rank has");
    if (requests == options_.max_requests) {
      return fail(wrong, fmt::format("the process asks for the network more than {} times in a call", requests));
    }
    if (!serve(answer, *endpoint)) return false;
  }
}

bool HostedProcess::serve(const Answer& wish, Endpoint& endpoint) {
  CommStatus status = CommStatus::ok;
  if (wish.kind == AnswerKind::barrier) {
    status = endpoint.barrier();
  } else if (!exchange(wish.messages, endpoint, status)) {
    return false;
  }
  if (first_comm_failure_ == CommStatus::ok) first_comm_failure_ = status;
  return write(network_reply(status));
}

// --- 3. messages ----------------------------------------------------------------------------------------------------

/// Every message lies in the file, and those that are received fit into it together.
bool HostedProcess::check_messages(std::span<const FileMessage> messages) {
  const std::int64_t end_bytes = plan_.end_bytes();
  std::int64_t received_bytes = 0;
  for (const FileMessage& message : messages) {
    if (message.size_bytes > end_bytes || message.offset_bytes > end_bytes - message.size_bytes) {
      return fail(ProcessFailure::Kind::wrong, fmt::format("the process asks to {} {} bytes at {} of its {} bytes",
                                                           message.is_send ? "send" : "receive", message.size_bytes,
                                                           message.offset_bytes, end_bytes));
    }
    if (!message.is_send) received_bytes += message.size_bytes;
    if (received_bytes > end_bytes) {
      return fail(ProcessFailure::Kind::wrong, "the process receives more in one exchange than its file holds");
    }
  }
  return true;
}

/// Posts all messages, then waits for all, also after one has failed: the buffers live in this call.
bool HostedProcess::exchange(std::span<const FileMessage> messages, Endpoint& endpoint, CommStatus& status) {
  if (!check_messages(messages)) return false;
  std::int64_t begin_bytes = plan_.end_bytes();
  std::int64_t end_bytes = 0;
  for (const FileMessage& message : messages) {
    begin_bytes = std::min(begin_bytes, message.offset_bytes);
    end_bytes = std::max(end_bytes, message.offset_bytes + message.size_bytes);
  }
  // What is sent, as it is now; and, apart from it, what is received, over what was there.
  std::vector<std::byte> sent(static_cast<std::size_t>(std::max<std::int64_t>(end_bytes - begin_bytes, 0)));
  const Status read = file_->read(begin_bytes, sent);
  if (!read) return fail(ProcessFailure::Kind::wrong, read.error().reason);
  std::vector<std::byte> received = sent;
  const auto part = [&](std::vector<std::byte>& of, const FileMessage& message) {
    return std::span(of).subspan(static_cast<std::size_t>(message.offset_bytes - begin_bytes),
                                 static_cast<std::size_t>(message.size_bytes));
  };
  std::vector<Request> requests;
  for (const FileMessage& message : messages) {
    requests.push_back(message.is_send ? endpoint.post_send(message.peer, part(sent, message))
                                       : endpoint.post_receive(message.peer, part(received, message)));
  }
  for (const Request request : requests) {
    const CommStatus ended = endpoint.wait(request);
    if (status == CommStatus::ok) status = ended;
  }
  for (const FileMessage& message : messages) {
    if (message.is_send) continue;
    const Status written = file_->write(message.offset_bytes, part(received, message));
    if (!written) return fail(ProcessFailure::Kind::wrong, written.error().reason);
  }
  return true;
}

// --- 4. buffers -----------------------------------------------------------------------------------------------------

bool HostedProcess::copy_in() {
  const auto write = [&](std::int64_t offset_bytes, std::span<const std::byte> bytes) {
    const Status written = file_->write(offset_bytes, bytes);
    return written || fail(ProcessFailure::Kind::wrong, written.error().reason);
  };
  const Status room = file_->grow(plan_.end_bytes());
  if (!room) return fail(ProcessFailure::Kind::wrong, room.error().reason);
  for (const FileTensor& each : plan_.tensors) {
    const std::int64_t front = each.offset_bytes - band_bytes;
    const std::int64_t rear = each.offset_bytes + each.size_bytes;
    const std::span<const std::byte> bytes(each.local->data, static_cast<std::size_t>(each.size_bytes));
    if (!write(front, band_at(front)) || !write(each.offset_bytes, bytes) || !write(rear, band_at(rear))) return false;
  }
  return true;
}

bool HostedProcess::copy_out() {
  const auto read = [&](std::int64_t offset_bytes, std::span<std::byte> bytes) {
    const Status done = file_->read(offset_bytes, bytes);
    return done || fail(ProcessFailure::Kind::wrong, done.error().reason);
  };
  for (const FileTensor& each : plan_.tensors) {
    const std::int64_t front = each.offset_bytes - band_bytes;
    const std::int64_t rear = each.offset_bytes + each.size_bytes;
    std::byte* const data = each.local->data;
    Band front_band;
    Band rear_band;
    if (!read(front, front_band) || !read(rear, rear_band)) return false;
    if (!read(each.offset_bytes, {data, static_cast<std::size_t>(each.size_bytes)})) return false;
    if (data == nullptr) continue;
    apply_strays(band_at(front), front_band, data - band_bytes);
    apply_strays(band_at(rear), rear_band, data + each.size_bytes);
  }
  return true;
}

// --- 5. calls -------------------------------------------------------------------------------------------------------

Outcome HostedProcess::outcome_of(const Answer& answer) const {
  switch (answer.kind) {
    case AnswerKind::unsupported:
      return Outcome::unsupported(answer.reason);
    case AnswerKind::error:
      return Outcome::error(answer.reason, first_comm_failure_);
    default:
      return Outcome::done();
  }
}

bool HostedProcess::open(Rank rank, Rank world_ranks, const SessionOptions& options, Outcome& outcome) {
  layouts_ = {};
  Answer answer;
  if (failure() || !talk(open_request(rank, world_ranks, options), nullptr, answer)) return false;
  outcome = outcome_of(answer);
  return true;
}

Outcome HostedProcess::reshard(std::span<const RankBatch> ranks, Endpoint* endpoint) {
  if (failure_) return failure_->outcome();
  plan_ = plan_file(ranks, endpoint != nullptr);
  if (!copy_in()) return failure_->outcome();
  const std::span<const BatchTensor> tensors = ranks.front().tensors;
  Answer answer;
  const bool answered = talk(reshard_request(file_->path(), plan_, tensors, layouts_), endpoint, answer);
  if (!answered || !copy_out()) return failure_->outcome();
  return outcome_of(answer);
}

Outcome HostedProcess::close() {
  Answer answer;
  if (failure() || !talk(close_request(), nullptr, answer)) return failure_->outcome();
  if (answer.kind == AnswerKind::done) return Outcome::done();
  fail(ProcessFailure::Kind::wrong, "the process did not close its session: " + answer.reason);
  return failure_->outcome();
}

}  // namespace reshardcheck
