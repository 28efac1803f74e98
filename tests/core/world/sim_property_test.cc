// Random programs: messages drawn at random, each rank posting its share in one common order, finish and deliver
// under every seed; take one end of one message away and the run ends all the same.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "core/world/sim.h"
#include "tests/core/world/sim_run.h"

namespace reshardcheck {
namespace {

struct Message {
  Rank from = 0;
  Rank to = 0;
  std::size_t bytes = 0;
};

struct Program {
  Rank ranks = 1;
  std::size_t window = 1;  // a rank waits for what it has open when it has taken part in this many messages
  std::vector<Message> messages;
};

Program drawn_program() {
  Program program;
  program.ranks = *rc::gen::inRange<Rank>(1, 9);
  const auto message = rc::gen::build<Message>(rc::gen::set(&Message::from, rc::gen::inRange<Rank>(0, program.ranks)),
                                               rc::gen::set(&Message::to, rc::gen::inRange<Rank>(0, program.ranks)),
                                               rc::gen::set(&Message::bytes, rc::gen::inRange<std::size_t>(0, 40)));
  program.messages = *rc::gen::container<std::vector<Message>>(message);
  program.window = *rc::gen::inRange<std::size_t>(1, 6);
  return program;
}

std::byte content(std::size_t message, std::size_t at) { return static_cast<std::byte>(message * 37 + at * 11 + 1); }

constexpr std::size_t all_of_them = ~std::size_t{0};

struct Execution {
  std::vector<std::vector<std::byte>> received;  // by message
  bool all_ok = true;
  WorldOutcome outcome;
};

/// Runs the program; the receive of message `forgotten` is left out.
Execution execute(const Program& program, std::uint64_t seed, std::size_t forgotten) {
  Execution execution;
  for (const Message& message : program.messages) execution.received.emplace_back(message.bytes, std::byte{0});
  std::vector<std::vector<std::byte>> sent = execution.received;
  for (std::size_t index = 0; index < sent.size(); ++index) {
    for (std::size_t at = 0; at < sent[index].size(); ++at) sent[index][at] = content(index, at);
  }
  SimRun run{.ranks = program.ranks, .seed = seed};
  execution.outcome = run.run([&](Endpoint& endpoint) {
    std::vector<Request> open;
    const auto wait_for_all = [&] {
      for (const Request request : open) {
        if (endpoint.wait(request) != CommStatus::ok) execution.all_ok = false;
      }
      open.clear();
    };
    for (std::size_t index = 0; index < program.messages.size(); ++index) {
      const Message& message = program.messages[index];
      if (message.to == endpoint.rank() && index != forgotten) {
        open.push_back(endpoint.post_receive(message.from, execution.received[index]));
      }
      if (message.from == endpoint.rank()) open.push_back(endpoint.post_send(message.to, sent[index]));
      if (open.size() >= program.window) wait_for_all();
    }
    wait_for_all();
  });
  return execution;
}

// Every rank works through one common order and posts both ends of what it sends to itself before it waits, so the
// first message that is not delivered always can be.
RC_GTEST_PROP(SimProgram, finishes_and_delivers_every_byte_when_its_messages_match, ()) {
  const Program program = drawn_program();
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  const Execution execution = execute(program, seed, all_of_them);
  RC_ASSERT(execution.all_ok);
  RC_ASSERT(execution.outcome.status == CommStatus::ok);
  RC_ASSERT(execution.outcome.stuck.empty());
  RC_ASSERT(execution.outcome.unreceived_messages == 0);
  for (std::size_t index = 0; index < program.messages.size(); ++index) {
    for (std::size_t at = 0; at < program.messages[index].bytes; ++at) {
      RC_ASSERT(execution.received[index][at] == content(index, at));
    }
  }
}

RC_GTEST_PROP(SimProgram, ends_as_a_deadlock_when_one_receive_is_forgotten, ()) {
  const Program program = drawn_program();
  RC_PRE(!program.messages.empty());
  const auto forgotten = *rc::gen::inRange<std::size_t>(0, program.messages.size());
  const Execution execution = execute(program, *rc::gen::arbitrary<std::uint64_t>(), forgotten);
  RC_ASSERT(execution.outcome.status == CommStatus::deadlock);
  RC_ASSERT(!execution.outcome.stuck.empty());
  RC_ASSERT(execution.outcome.unreceived_messages >= 1);
  RC_ASSERT(!execution.all_ok);
}

RC_GTEST_PROP(SimProgram, lets_every_body_return_whatever_the_fault, ()) {
  const Program program = drawn_program();
  const auto kind = *rc::gen::element(FaultKind::drop, FaultKind::duplicate, FaultKind::reorder, FaultKind::corrupt,
                                      FaultKind::truncate, FaultKind::kill, FaultKind::stall);
  const auto at = *rc::gen::inRange<std::int64_t>(0, 9);
  const std::vector<Fault> faults = {{kind, at, *rc::gen::inRange<std::int64_t>(0, 6)}};
  SimRun run{.ranks = program.ranks, .seed = *rc::gen::arbitrary<std::uint64_t>(), .faults = faults};
  std::vector<std::vector<std::byte>> received;
  for (const Message& message : program.messages) received.emplace_back(message.bytes, std::byte{0});
  std::int64_t returned = 0;
  run.run([&](Endpoint& endpoint) {
    std::vector<std::byte> sent;
    for (std::size_t index = 0; index < program.messages.size(); ++index) {
      const Message& message = program.messages[index];
      sent.assign(message.bytes, std::byte{1});
      std::vector<Request> open;
      if (message.to == endpoint.rank()) open.push_back(endpoint.post_receive(message.from, received[index]));
      if (message.from == endpoint.rank()) open.push_back(endpoint.post_send(message.to, sent));
      for (const Request request : open) endpoint.wait(request);
    }
    ++returned;
  });
  RC_ASSERT(returned == program.ranks);
}

}  // namespace
}  // namespace reshardcheck
