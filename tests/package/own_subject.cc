// How to judge your own reshard from C++: implement Subject, hand it to the Executor, and shrink what fails.
//
// The subject here is simple and slow: one replica of every source shard sends all it owns to every target rank, and
// each of those keeps what its own shard holds. With the argument --bug it takes a shard's number for its mesh index,
// as code does that has only ever seen meshes whose every axis shards.
//
//   own_subject [--bug]     exit status 0: every case passed; 1: one failed, its smallest form is printed
#include <cstring>
#include <iostream>
#include <memory>
#include <string_view>
#include <vector>

#include "core/layout/notation.h"
#include "core/subject/subject.h"
#include "fuzz/shrinker.h"
#include "verifier/executor.h"

namespace {

using namespace reshardcheck;

/// Calls visit(global index, local index) for every element that a mesh index owns, in row-major local order.
template <typename Visit>
void for_each_element(const Layout& layout, std::size_t mesh_index, Visit visit) {
  if (layout.owned_elements(mesh_index) == 0) return;
  Shape local(layout.dims(), 0);
  Shape global(layout.dims(), 0);
  while (true) {
    for (std::size_t dim = 0; dim < local.size(); ++dim) {
      global[dim] = layout.piece(mesh_index, dim).owned.at(local[dim]);
    }
    visit(global, local);
    std::size_t dim = local.size();
    while (dim > 0 && ++local[dim - 1] == layout.piece(mesh_index, dim - 1).owned.size()) local[--dim] = 0;
    if (dim == 0) return;
  }
}

std::byte* element(const LocalTensor& tensor, const Shape& local, std::size_t width) {
  std::int64_t offset = 0;
  for (std::size_t dim = 0; dim < local.size(); ++dim) offset += local[dim] * tensor.strides[dim];
  return tensor.data + offset * static_cast<std::int64_t>(width);
}

class EveryShardToEveryone : public Session {
 public:
  explicit EveryShardToEveryone(bool bug) : bug_(bug) {}

  Outcome reshard(Endpoint& endpoint, const Batch& batch) override {
    for (const BatchTensor& tensor : batch.tensors) {
      const Outcome outcome = move(endpoint, tensor);
      if (!outcome.is_done()) return outcome;
    }
    return Outcome::done();
  }

 private:
  Outcome move(Endpoint& endpoint, const BatchTensor& tensor) {
    const Layout& source = tensor.spec->source;
    const std::size_t width = static_cast<std::size_t>(width_bytes(tensor.spec->dtype));
    std::vector<Request> requests;
    const std::vector<std::byte> packed = pack(endpoint.rank(), tensor, width);
    if (!packed.empty()) {
      for (const Rank to : tensor.spec->target.mesh().ranks()) requests.push_back(endpoint.post_send(to, packed));
    }
    std::vector<std::vector<std::byte>> shards;  // by shard
    for (std::size_t shard = 0; tensor.target.present() && shard < source.shards(); ++shard) {
      const Rank from = source.replicas(shard).front();
      const std::size_t index = source.mesh().index_of(from).value();
      shards.emplace_back(static_cast<std::size_t>(source.owned_elements(index)) * width);
      if (!shards.back().empty()) requests.push_back(endpoint.post_receive(from, shards.back()));
    }
    for (const Request request : requests) {
      const CommStatus status = endpoint.wait(request);
      if (status != CommStatus::ok) return Outcome::error("a message failed", status);
    }
    for (std::size_t shard = 0; shard < shards.size(); ++shard) unpack(tensor, shard, shards[shard]);
    return Outcome::done();
  }

  /// What this rank owns, when it speaks for its replica group; otherwise nothing.
  static std::vector<std::byte> pack(Rank rank, const BatchTensor& tensor, std::size_t width) {
    std::vector<std::byte> packed;
    const Layout& source = tensor.spec->source;
    const std::size_t index = tensor.source.mesh_index;
    if (!tensor.source.present() || source.replicas(source.shard_of(index)).front() != rank) return packed;
    for_each_element(source, index, [&](const Shape&, const Shape& local) {
      const std::byte* from = element(tensor.source, local, width);
      packed.insert(packed.end(), from, from + width);
    });
    return packed;
  }

  void unpack(const BatchTensor& tensor, std::size_t shard, const std::vector<std::byte>& packed) const {
    const Layout& source = tensor.spec->source;
    const Layout& target = tensor.spec->target;
    const std::size_t width = static_cast<std::size_t>(width_bytes(tensor.spec->dtype));
    const std::size_t sender = bug_ ? shard : source.mesh().index_of(source.replicas(shard).front()).value();
    std::size_t offset = 0;
    for_each_element(source, sender, [&](const Shape& global, const Shape&) {
      Shape local;
      for (std::size_t dim = 0; dim < global.size(); ++dim) {
        const auto place = target.piece(tensor.target.mesh_index, dim).owned.find(global[dim]);
        if (place) local.push_back(*place);
      }
      if (local.size() == global.size() && offset + width <= packed.size()) {
        std::memcpy(element(tensor.target, local, width), packed.data() + offset, width);
      }
      offset += width;
    });
  }

  bool bug_;
};

class OwnSubject : public Subject {
 public:
  explicit OwnSubject(bool bug) : bug_(bug) {}
  [[nodiscard]] std::string_view name() const override { return "own"; }
  std::unique_ptr<Session> open(Endpoint&, const SessionOptions&) override {
    return std::make_unique<EveryShardToEveryone>(bug_);
  }

 private:
  bool bug_;
};

}  // namespace

int main(int count, char** arguments) {
  OwnSubject subject(count > 1 && std::string_view(arguments[1]) == "--bug");
  Executor executor;
  const auto run = [&](const Case& value) -> std::optional<Verdict> {
    const Result<Verdict> verdict = executor.run(value, subject);
    if (!verdict) return std::nullopt;
    return *verdict;
  };
  for (const std::string_view text :
       {"bf16[8,8] 2@0 S(0) -> 4@2 S(1)", "f32[5,3] 2x2@0 S(0),S(0) -> 2x2@4 R,R",
        "u8[9,4] 4{7,1,3,5} _S(0,2) -> 2x2@8 S(1),R", "bf16[10,8] 2x2@0 S(0,segments=6|2|2),R -> 3@2 S(0,padded)",
        "i64[7,6,5] 3x2@0 R,S(1,balanced) -> 2x2@0 S(2),S(0) | gap=1 refits=2", "f64[] 2@0 R -> 3@1 R"}) {
    const Case value = *parse_case(text);
    const std::optional<Verdict> verdict = run(value);
    std::cout << text << ": " << (verdict ? name(verdict->kind) : "not run") << '\n';
    if (!verdict || !verdict->failed()) continue;
    const ShrinkResult smallest = shrink(value, *verdict, run);
    std::cout << "smallest: " << to_text(smallest.minimal) << '\n' << smallest.verdict.detail << '\n';
    return 1;
  }
  return 0;
}
