// Two communicators keep tokens and payloads apart. One receive from anyone is always open for tokens, between runs
// too, so that a fast peer's first token is never in the way.
#include "core/world/mpi/messages.h"

#include <algorithm>
#include <memory>

#include "core/world/mpi/byte_count.h"

namespace reshardcheck {
namespace {

constexpr int token_tag = 0;
// Of a payload: all of the message, or as much of it as the receive takes.
constexpr int whole_tag = 1;
constexpr int cut_tag = 2;

}  // namespace

// ---- Posts -----------------------------------------------------------------------------------------------------

MpiMessages::Operation& MpiMessages::take(Rank peer, std::size_t bytes) {
  if (released_.empty()) released_.push_back(&operations_.emplace_back());
  Operation& operation = *released_.back();
  released_.pop_back();
  operation.sends = false;
  operation.started = false;
  operation.over = false;
  operation.peer = peer;
  operation.message = nullptr;
  operation.buffer = nullptr;
  operation.bytes = bytes;
  operation.status = CommStatus::ok;
  operation.request = MPI_REQUEST_NULL;
  return operation;
}

MpiMessages::Operation& MpiMessages::post_send(Rank to, std::span<const std::byte> message) {
  Operation& send = take(to, message.size());
  send.sends = true;
  send.message = message.data();
  Peer& receiver = peer(to);
  if (receiver.tokens.empty()) {
    receiver.waiting_sends.push_back(send);
  } else {
    const std::int64_t token_bytes = receiver.tokens.front();
    receiver.tokens.pop_front();
    start(send, token_bytes);
  }
  return send;
}

MpiMessages::Operation& MpiMessages::post_receive(Rank from, std::span<std::byte> buffer) {
  Operation& receive = take(from, buffer.size());
  receive.buffer = buffer.data();
  receive.started = true;
  active_.push_back(receive);
  const ByteCount bytes(buffer.size(), limit_bytes_, failure_);
  if (failure_.any()) return receive;
  failure_.check(RESHARDCHECK_MPI(MPI_Irecv(buffer.data(), bytes.count(), bytes.type(), from, MPI_ANY_TAG,
                                            payload_communicator_, &receive.request)));
  send_token(from, buffer.size());
  return receive;
}

void MpiMessages::send_token(Rank to, std::size_t bytes) {
  while (!sent_tokens_.empty() && mpi_test(sent_tokens_.front().request, failure_)) sent_tokens_.pop_front();
  SentToken& sent = sent_tokens_.emplace_back();
  sent.token = {.run = run_, .bytes = static_cast<std::int64_t>(bytes)};
  failure_.check(RESHARDCHECK_MPI(
      MPI_Isend(&sent.token, sizeof(Token), MPI_BYTE, to, token_tag, token_communicator_, &sent.request)));
  ++counts_.tokens_sent;
}

void MpiMessages::start(Operation& send, std::int64_t token_bytes) {
  send.started = true;
  active_.push_back(send);
  const auto taken_bytes = static_cast<std::size_t>(token_bytes);
  if (send.bytes != taken_bytes) send.status = CommStatus::size_mismatch;
  const ByteCount bytes(std::min(send.bytes, taken_bytes), limit_bytes_, failure_);
  if (failure_.any()) return;
  failure_.check(RESHARDCHECK_MPI(MPI_Isend(send.message, bytes.count(), bytes.type(), send.peer,
                                            send.bytes > taken_bytes ? cut_tag : whole_tag, payload_communicator_,
                                            &send.request)));
  ++counts_.payloads_sent;
  ++peer(send.peer).payloads_sent;
  traffic_.count_message({.from = process_, .to = send.peer}, send.bytes);
}

// ---- Progress --------------------------------------------------------------------------------------------------

void MpiMessages::listen() {
  failure_.check(RESHARDCHECK_MPI(
      MPI_Irecv(&arriving_, sizeof(Token), MPI_BYTE, MPI_ANY_SOURCE, token_tag, token_communicator_, &listening_)));
}

void MpiMessages::progress() {
  while (!failure_.any()) {
    int flag = 0;
    MPI_Status status;
    if (!failure_.check(RESHARDCHECK_MPI(MPI_Test(&listening_, &flag, &status))) || flag == 0) return;
    const ArrivedToken arrived{.from = status.MPI_SOURCE, .token = arriving_};
    listen();
    if (arrived.token.run > run_) {
      early_.push_back(arrived);
    } else if (arrived.token.run == run_) {
      accept(arrived);
    }
  }
}

void MpiMessages::accept(const ArrivedToken& arrived) {
  ++counts_.tokens_received;
  Peer& receiver = peer(arrived.from);
  if (receiver.waiting_sends.empty()) {
    receiver.tokens.push_back(arrived.token.bytes);
    return;
  }
  Operation& send = receiver.waiting_sends.front();
  receiver.waiting_sends.pop_front();
  start(send, arrived.token.bytes);
}

bool MpiMessages::done(Operation& operation) {
  if (operation.over) return true;
  if (!operation.started || failure_.any()) return false;
  int flag = 0;
  MPI_Status status;
  if (!failure_.check(RESHARDCHECK_MPI(MPI_Test(&operation.request, &flag, &status))) || flag == 0) return false;
  operation.over = true;
  active_.erase(active_.iterator_to(operation));
  if (!operation.sends) finish_receive(operation, status);
  return true;
}

void MpiMessages::finish_receive(Operation& receive, const MPI_Status& status) {
  MPI_Count bytes = 0;
  failure_.check(RESHARDCHECK_MPI(MPI_Get_elements_x(&status, MPI_BYTE, &bytes)));
  if (status.MPI_TAG == cut_tag || static_cast<std::size_t>(bytes) != receive.bytes) {
    receive.status = CommStatus::size_mismatch;
  }
  ++counts_.payloads_received;
  ++peer(receive.peer).payloads_received;
}

void MpiMessages::test_all() {
  for (auto at = active_.begin(); at != active_.end();) done(*at++);
}

void MpiMessages::release(Operation& operation) { released_.push_back(&operation); }

// ---- What is left behind ---------------------------------------------------------------------------------------

void MpiMessages::take_back(Operation& operation) {
  if (operation.sends && !operation.started) {
    List& waiting = peer(operation.peer).waiting_sends;
    waiting.erase(waiting.iterator_to(operation));
    ++unreceived_messages_;
  } else if (!done(operation)) {
    active_.erase(active_.iterator_to(operation));
    lingering_.push_back(operation);
    if (!operation.sends) failure_.check(RESHARDCHECK_MPI(MPI_Cancel(&operation.request)));
    return;
  }
  release(operation);
}

bool MpiMessages::receives_settled() {
  bool settled = true;
  for (auto at = lingering_.begin(); at != lingering_.end();) {
    Operation& operation = *at++;
    if (operation.sends) continue;
    int flag = 0;
    MPI_Status status;
    if (!failure_.check(RESHARDCHECK_MPI(MPI_Test(&operation.request, &flag, &status))) || flag == 0) {
      settled = false;
      continue;
    }
    int cancelled = 0;
    failure_.check(RESHARDCHECK_MPI(MPI_Test_cancelled(&status, &cancelled)));
    if (cancelled != 0) {
      ++cancelled_receives_;
    } else {
      finish_receive(operation, status);
    }
    lingering_.erase(lingering_.iterator_to(operation));
    release(operation);
  }
  return settled && !failure_.any();
}

void MpiMessages::sweep(MpiTime until) {
  while (cancelled_receives_ > 0 && !failure_.any() && drop_payload(MPI_ANY_SOURCE, until)) {
  }
}

/// Every peer says how many payloads it has sent; those that no receive took are taken here.
bool MpiMessages::drain(MPI_Comm communicator, MpiTime until) {
  std::vector<std::int64_t> sent(peers_.size());
  std::vector<std::int64_t> coming(peers_.size());
  std::transform(peers_.begin(), peers_.end(), sent.begin(), [](const Peer& peer) { return peer.payloads_sent; });
  MPI_Request request = MPI_REQUEST_NULL;
  failure_.check(RESHARDCHECK_MPI(
      MPI_Ialltoall(sent.data(), 1, MPI_INT64_T, coming.data(), 1, MPI_INT64_T, communicator, &request)));
  if (failure_.any() || !mpi_complete(request, until, failure_)) return false;
  for (std::size_t from = 0; from < peers_.size(); ++from) {
    while (peers_[from].payloads_received < coming[from]) {
      if (drop_payload(static_cast<int>(from), until)) continue;
      if (failure_.any() || std::chrono::steady_clock::now() > until) return false;
      mpi_yield();
    }
  }
  while (!lingering_.empty()) {
    Operation& send = lingering_.front();
    if (!mpi_complete(send.request, until, failure_)) return false;
    lingering_.pop_front();
    release(send);
  }
  return true;
}

/// Receives a payload that has come from the process (or from any) and that no receive waits for; false when there is
/// none, or when its bytes do not come in time.
bool MpiMessages::drop_payload(int from, MpiTime until) {
  int flag = 0;
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Status status;
  const Status probed =
      RESHARDCHECK_MPI(MPI_Improbe(from, MPI_ANY_TAG, payload_communicator_, &flag, &message, &status));
  if (!failure_.check(probed) || flag == 0) return false;
  MPI_Count bytes = 0;
  if (!failure_.check(RESHARDCHECK_MPI(MPI_Get_elements_x(&status, MPI_BYTE, &bytes)))) return false;
  std::unique_ptr<std::byte[]> unread(new std::byte[static_cast<std::size_t>(bytes)]);
  const ByteCount count(static_cast<std::size_t>(bytes), limit_bytes_, failure_);
  if (failure_.any()) return false;
  MPI_Request request = MPI_REQUEST_NULL;
  if (!failure_.check(RESHARDCHECK_MPI(MPI_Imrecv(unread.get(), count.count(), count.type(), &message, &request)))) {
    return false;
  }
  if (!mpi_complete(request, until, failure_)) {
    failure_.set("the bytes of a message that nobody received did not come");
    unread.release();  // MPI may still write there
    return false;
  }
  ++counts_.payloads_received;
  ++peer(status.MPI_SOURCE).payloads_received;
  return true;
}

// ---- Runs ------------------------------------------------------------------------------------------------------

void MpiMessages::open(MPI_Comm parent) {
  int process = 0;
  int processes = 0;
  for (MPI_Comm* communicator : {&token_communicator_, &payload_communicator_}) {
    if (!failure_.check(RESHARDCHECK_MPI(MPI_Comm_dup(parent, communicator)))) return;
    failure_.check(RESHARDCHECK_MPI(MPI_Comm_set_errhandler(*communicator, MPI_ERRORS_RETURN)));
  }
  failure_.check(RESHARDCHECK_MPI(MPI_Comm_rank(parent, &process)));
  failure_.check(RESHARDCHECK_MPI(MPI_Comm_size(parent, &processes)));
  process_ = process;
  peers_ = std::vector<Peer>(static_cast<std::size_t>(processes));
  listen();
}

/// Of a spent world, operations may still be in the lists.
MpiMessages::~MpiMessages() {
  active_.clear();
  lingering_.clear();
  for (Peer& peer : peers_) peer.waiting_sends.clear();
}

/// Nothing may be under way. A token that comes late is of no run.
void MpiMessages::close() {
  if (listening_ != MPI_REQUEST_NULL) {
    failure_.check(RESHARDCHECK_MPI(MPI_Cancel(&listening_)));
    failure_.check(RESHARDCHECK_MPI(MPI_Wait(&listening_, MPI_STATUS_IGNORE)));
  }
  for (MPI_Comm* communicator : {&token_communicator_, &payload_communicator_}) {
    if (*communicator != MPI_COMM_NULL) failure_.check(RESHARDCHECK_MPI(MPI_Comm_free(communicator)));
  }
  early_.clear();
}

void MpiMessages::begin(std::int64_t run, const Topology& topology) {
  run_ = run;
  for (Peer& peer : peers_) {
    peer.tokens.clear();
    peer.payloads_sent = 0;
    peer.payloads_received = 0;
  }
  cancelled_receives_ = 0;
  unreceived_messages_ = 0;
  counts_ = {};
  traffic_.begin(topology);
  std::vector<ArrivedToken> arrived;
  arrived.swap(early_);
  for (const ArrivedToken& token : arrived) accept(token);
}

}  // namespace reshardcheck
