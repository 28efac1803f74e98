// MpiMessages: sends and receives of one rank, from the post to the end.
//
// A posted receive is handed to MPI at once, and a token with its size goes to the sender. A posted send waits for its
// token; then the shorter of the two sizes is handed to MPI, and both ends know whether they differ. Tokens and
// payloads of a pair keep the order of the posts, so the n-th send of a pair meets its n-th receive. Tokens carry the
// number of their run: those that arrive after it are dropped.
//
// What a body leaves behind: sends without a token never happened. Receives are cancelled; since their tokens are out,
// payloads may come all the same, and are taken and dropped once the body has returned: by sweep() for as long as
// others go on, because their senders wait, and by drain() at the end, when it is known how many there were.
#pragma once

#include <mpi.h>

#include <boost/intrusive/list.hpp>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "core/world/mpi/mpi_call.h"
#include "core/world/stuck.h"
#include "core/world/traffic.h"
#include "core/world/world.h"

namespace reshardcheck {

class MpiMessages {
 public:
  /// A posted send or receive, until it is taken back or found done.
  struct Operation : boost::intrusive::list_base_hook<> {
    bool sends = false;
    bool started = false;  // handed to MPI
    bool over = false;
    Rank peer = 0;
    const std::byte* message = nullptr;  // of a send
    std::byte* buffer = nullptr;         // of a receive
    std::size_t bytes = 0;
    CommStatus status = CommStatus::ok;  // when over
    MPI_Request request = MPI_REQUEST_NULL;

    [[nodiscard]] RankWait standing() const { return {sends ? Standing::sending : Standing::receiving, peer}; }
  };

  /// What has gone out and come in during the run.
  struct Counts {
    std::int64_t tokens_sent = 0;
    std::int64_t tokens_received = 0;
    std::int64_t payloads_sent = 0;
    std::int64_t payloads_received = 0;
    [[nodiscard]] std::int64_t total() const {
      return tokens_sent + tokens_received + payloads_sent + payloads_received;
    }
  };

  MpiMessages(MpiFailure& failure, std::int64_t limit_bytes) : failure_(failure), limit_bytes_(limit_bytes) {}
  ~MpiMessages();
  MpiMessages(const MpiMessages&) = delete;
  MpiMessages& operator=(const MpiMessages&) = delete;

  /// Collective.
  void open(MPI_Comm parent);
  void close();

  /// Forgets the previous run. Runs have numbers that grow, the same on all processes.
  void begin(std::int64_t run, const Topology& topology);

  Operation& post_send(Rank to, std::span<const std::byte> message);
  Operation& post_receive(Rank from, std::span<std::byte> buffer);

  /// Takes the tokens that have arrived and starts the sends that they allow.
  void progress();
  /// True when the operation is over, and its status says how; it must then be released.
  bool done(Operation& operation);
  /// Finds out what is over, so that counts() are exact.
  void test_all();
  void release(Operation& operation);
  /// The operation will not be waited for any more.
  void take_back(Operation& operation);

  /// True when no buffer of a receive that was taken back is touched any more.
  bool receives_settled();
  /// Drops the payloads that have come for receives that were taken back. The body must have returned and
  /// receives_settled(): every payload is one of those then.
  void sweep(MpiTime until);
  /// Operations taken back that need drain(), once receives_settled().
  [[nodiscard]] std::int64_t left_behind() const { return cancelled_receives_ + std::ssize(lingering_); }
  /// Clears away what was left behind; all processes must call, after all have returned. False when the time was up.
  bool drain(MPI_Comm communicator, MpiTime until);

  [[nodiscard]] const Counts& counts() const { return counts_; }
  [[nodiscard]] std::int64_t unreceived_messages() const { return unreceived_messages_; }
  [[nodiscard]] TrafficCount& traffic() { return traffic_; }

 private:
  struct Token {
    std::int64_t run = 0;
    std::int64_t bytes = 0;  // what the receive takes
  };
  struct ArrivedToken {
    Rank from = 0;
    Token token;
  };
  struct SentToken {
    Token token;
    MPI_Request request = MPI_REQUEST_NULL;
  };
  using List = boost::intrusive::list<Operation>;
  struct Peer {
    std::deque<std::int64_t> tokens;  // sizes, not yet met by a send
    List waiting_sends;               // not yet met by a token
    std::int64_t payloads_sent = 0;
    std::int64_t payloads_received = 0;
  };

  Peer& peer(Rank rank) { return peers_[static_cast<std::size_t>(rank)]; }
  Operation& take(Rank peer, std::size_t bytes);
  void send_token(Rank to, std::size_t bytes);
  void listen();
  void accept(const ArrivedToken& arrived);
  void start(Operation& send, std::int64_t token_bytes);
  void finish_receive(Operation& receive, const MPI_Status& status);
  bool drop_payload(int from, MpiTime until);

  MpiFailure& failure_;
  const std::int64_t limit_bytes_;
  MPI_Comm token_communicator_ = MPI_COMM_NULL;
  MPI_Comm payload_communicator_ = MPI_COMM_NULL;
  Rank process_ = 0;
  std::int64_t run_ = 0;
  Token arriving_;
  MPI_Request listening_ = MPI_REQUEST_NULL;
  std::vector<ArrivedToken> early_;  // of a run that this process has not begun
  std::deque<SentToken> sent_tokens_;
  std::vector<Peer> peers_;  // by process
  List active_;              // handed to MPI and not over
  List lingering_;           // taken back, and not over
  std::deque<Operation> operations_;
  std::vector<Operation*> released_;
  std::int64_t cancelled_receives_ = 0;
  std::int64_t unreceived_messages_ = 0;
  Counts counts_;
  TrafficCount traffic_;
};

}  // namespace reshardcheck
