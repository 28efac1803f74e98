#include "verifier/worker/protocol.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/layout/json.h"
#include "verifier/verdict_json.h"

namespace reshardcheck {
namespace {

using nlohmann::json;

constexpr std::array<std::pair<WorkerRequest::Kind, std::string_view>, 4> request_names{
    {{WorkerRequest::Kind::configure, "configure"},
     {WorkerRequest::Kind::load, "load"},
     {WorkerRequest::Kind::run, "run"},
     {WorkerRequest::Kind::quit, "quit"}}};

/// By WorkerNotice. Both ends are of one build: the lines are compared as they are.
constexpr const char* notice_lines[] = {R"({"notice":"preparing"})", R"({"notice":"ready"})"};

/// A time to wait, from 0 to some 30 years: small enough to be multiplied.
std::int64_t wait_ms(const json& object, const char* key) {
  constexpr std::int64_t longest_ms = 1'000'000'000'000;
  return std::clamp<std::int64_t>(object.at(key).get<std::int64_t>(), 0, longest_ms);
}

template <typename Value, typename Read>
Result<Value> parsed(std::string_view line, std::string_view what, const Read& read) {
  try {
    return read(json::parse(line));
  } catch (const json::exception& problem) {
    return Error{"no " + std::string(what) + ": " + problem.what()};
  }
}

}  // namespace

std::string to_line(const WorkerHello& hello) {
  return json_line(json{{"hello", hello.protocol},
                        {"secret", hello.secret},
                        {"world", hello.world},
                        {"max_world_ranks", hello.max_world_ranks}});
}

Result<WorkerHello> parse_hello(std::string_view line) {
  return parsed<WorkerHello>(line, "hello", [](const json& value) -> Result<WorkerHello> {
    return WorkerHello{value.at("hello").get<std::int64_t>(), value.at("secret").get<std::string>(),
                       value.at("world").get<std::string>(), value.at("max_world_ranks").get<std::int64_t>()};
  });
}

std::string to_line(const WorkerRequest& request) {
  json value;
  for (const auto& [kind, word] : request_names) {
    if (kind == request.kind) value["request"] = word;
  }
  switch (request.kind) {
    case WorkerRequest::Kind::configure: {
      const Oracles& oracles = request.executor.oracles;
      value["oracles"] = {oracles.naive, oracles.gather_broadcast, oracles.prover, oracles.fingerprint};
      value["max_bytes"] = request.executor.max_bytes;
      value["start_ms"] = request.start_ms;
      break;
    }
    case WorkerRequest::Kind::load:
      value["subject"] = request.subject;
      break;
    case WorkerRequest::Kind::run:
      value["subject"] = request.subject;
      value["case"] = request.text;
      value["first"] = request.step.first;
      value["last"] = request.step.last;
      value["deadline_ms"] = request.deadline_ms;
      break;
    case WorkerRequest::Kind::quit:
      break;
  }
  return json_line(value);
}

Result<WorkerRequest> parse_request(std::string_view line) {
  return parsed<WorkerRequest>(line, "request", [](const json& value) -> Result<WorkerRequest> {
    WorkerRequest request;
    const auto word = value.at("request").get<std::string>();
    bool known = false;
    for (const auto& [kind, name] : request_names) {
      if (name != word) continue;
      request.kind = kind;
      known = true;
    }
    if (!known) return Error{"no request is called '" + word + "'"};
    if (request.kind == WorkerRequest::Kind::configure) {
      const json& oracles = value.at("oracles");
      request.executor.oracles = {oracles.at(0).get<bool>(), oracles.at(1).get<bool>(), oracles.at(2).get<bool>(),
                                  oracles.at(3).get<bool>()};
      request.executor.max_bytes = value.at("max_bytes").get<std::int64_t>();
      request.start_ms = wait_ms(value, "start_ms");
    }
    if (request.kind == WorkerRequest::Kind::load || request.kind == WorkerRequest::Kind::run) {
      request.subject = value.at("subject").get<std::string>();
    }
    if (request.kind == WorkerRequest::Kind::run) {
      request.text = value.at("case").get<std::string>();
      request.step = {value.at("first").get<bool>(), value.at("last").get<bool>()};
      request.deadline_ms = wait_ms(value, "deadline_ms");
    }
    return request;
  });
}

std::string to_line(WorkerNotice notice) { return notice_lines[static_cast<std::size_t>(notice)]; }

std::optional<WorkerNotice> parse_notice(std::string_view line) {
  for (const WorkerNotice notice : {WorkerNotice::preparing, WorkerNotice::ready}) {
    if (line == notice_lines[static_cast<std::size_t>(notice)]) return notice;
  }
  return std::nullopt;
}

std::string to_line(const WorkerReply& reply) {
  json value{{"spent", reply.spent}};
  if (reply.verdict) value["verdict"] = verdict_to_json(*reply.verdict);
  if (!reply.refusal.empty()) value["refusal"] = reply.refusal;
  return json_line(value);
}

Result<WorkerReply> parse_reply(std::string_view line) {
  return parsed<WorkerReply>(line, "reply", [](const json& value) -> Result<WorkerReply> {
    WorkerReply reply;
    reply.spent = value.at("spent").get<bool>();
    if (const auto verdict = value.find("verdict"); verdict != value.end()) {
      Result<Verdict> read = verdict_from_json(*verdict);
      if (!read) return read.error();
      reply.verdict = *std::move(read);
    }
    if (const auto refusal = value.find("refusal"); refusal != value.end()) reply.refusal = refusal->get<std::string>();
    return reply;
  });
}

}  // namespace reshardcheck
