// The prover: seven passes over a plan in the order of the questions in prover.h.
//
// A transfer that makes no sense is reported once and then left out. Whether a transfer reads the right elements and
// whether it writes them to the right places are separate answers, so that one mistake is not reported twice.
#include "core/plan/prover.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>

#include "core/plan/box_table.h"
#include "core/plan/coverage.h"
#include "core/plan/progress.h"
#include "core/plan/saturating.h"

namespace reshardcheck {
namespace {

constexpr std::uint32_t nowhere = static_cast<std::uint32_t>(-1);  // not in a mesh

/// The violations found so far, few of each kind so that none crowds out another.
class Violations {
 public:
  /// False once enough of a kind are known; text for more need not be made.
  [[nodiscard]] bool wants(ViolationKind kind) const { return counts_[index(kind)] < Proof::max_violations; }

  void add(ViolationKind kind, std::string text) {
    if (!wants(kind)) return;
    ++counts_[index(kind)];
    found_.push_back({kind, std::move(text)});
  }

  /// In the order of the questions, cut to the limit by dropping the last of whatever is most frequent.
  std::vector<Violation> take() && {
    std::stable_sort(found_.begin(), found_.end(),
                     [](const Violation& a, const Violation& b) { return a.kind < b.kind; });
    while (found_.size() > Proof::max_violations) {
      const auto most = std::max_element(counts_.begin(), counts_.end());
      const auto kind = static_cast<ViolationKind>(most - counts_.begin());
      const auto last =
          std::find_if(found_.rbegin(), found_.rend(), [kind](const Violation& v) { return v.kind == kind; });
      found_.erase(std::next(last).base());
      --*most;
    }
    return std::move(found_);
  }

 private:
  static std::size_t index(ViolationKind kind) { return static_cast<std::size_t>(kind); }

  std::vector<Violation> found_;
  std::array<std::size_t, static_cast<std::size_t>(ViolationKind::below_bound) + 1> counts_{};
};

/// What is written to one place, a target shard or the stage: which box, in which step, by which transfer.
struct Write {
  std::uint32_t box = 0;
  std::uint32_t step = 0;
  std::uint32_t transfer = 0;

  friend bool operator<(const Write& a, const Write& b) {
    return std::tie(a.box, a.step, a.transfer) < std::tie(b.box, b.step, b.transfer);
  }
};

/// A run of a dim that does not lie where a transfer says it does.
struct Misfit {
  std::size_t dim = 0;
  Run run;
};

/// Where the shards of one layout keep their elements, asked for the offset of a run that points into them.
class Shards {
 public:
  Shards(const Layout& layout, const BoxTable& boxes, std::int64_t Run::*offset)
      : layout_(layout), boxes_(boxes), offset_(offset) {
    for (std::size_t dim = 0; dim < layout.dims(); ++dim) {
      pieces_.emplace_back(layout.pieces(dim));
      known_.emplace_back(boxes.ranges(dim), nowhere);
    }
  }

  /// The mesh index of a rank, or nowhere.
  [[nodiscard]] std::uint32_t index_of(Rank rank) const {
    const std::optional<std::size_t> index = layout_.mesh().index_of(rank);
    return index ? static_cast<std::uint32_t>(*index) : nowhere;
  }

  /// The first run of a box that the shard of a mesh index does not keep at the run's offset. Equal questions are
  /// answered from memory.
  std::optional<Misfit> misfit(const Plan& plan, std::uint32_t box, std::size_t mesh_index) {
    for (std::size_t dim = 0; dim < pieces_.size(); ++dim) {
      const std::size_t piece = layout_.piece_index(mesh_index, dim);
      std::uint32_t& known = known_[dim][boxes_.range(box, dim)];
      if (known == piece) continue;
      for (const Run& run : plan.runs_of(plan.boxes[box], dim)) {
        if (!pieces_[dim].keeps(piece, {run.begin, run.begin + run.length}, run.*offset_)) return Misfit{dim, run};
      }
      known = static_cast<std::uint32_t>(piece);
    }
    return std::nullopt;
  }

  [[nodiscard]] Part part(std::size_t mesh_index) const {
    Part result;
    for (std::size_t dim = 0; dim < pieces_.size(); ++dim) {
      result.push_back(pieces_[dim].part(layout_.piece_index(mesh_index, dim)));
    }
    return result;
  }

 private:
  const Layout& layout_;
  const BoxTable& boxes_;
  std::int64_t Run::*offset_;
  std::vector<PieceTable> pieces_;
  std::vector<std::vector<std::uint32_t>> known_;  // by dim and range: the piece last found to keep it
};

/// The stage keeps element i of a dim at offset i.
std::optional<Misfit> stage_misfit(const Plan& plan, std::uint32_t box, std::int64_t Run::*offset) {
  for (std::size_t dim = 0; dim < plan.dims; ++dim) {
    for (const Run& run : plan.runs_of(plan.boxes[box], dim)) {
      if (run.*offset != run.begin) return Misfit{dim, run};
    }
  }
  return std::nullopt;
}

std::string brick_text(const Brick& brick) {
  if (brick.empty()) return "its one element";
  std::string text;
  for (const Interval& interval : brick) {
    text += fmt::format("{}[{},{})", text.empty() ? "" : "x", interval.begin, interval.end);
  }
  return text;
}

/// Writes by place; places are numbered, and the writes of each are sorted.
class WriteIndex {
 public:
  void add(std::uint32_t place, Write write) { pending_.emplace_back(place, write); }

  void build(std::size_t places) {
    first_.assign(places + 1, 0);
    for (const auto& [place, write] : pending_) ++first_[place + 1];
    for (std::size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
    writes_.resize(pending_.size());
    std::vector<std::uint32_t> next(first_.begin(), first_.end() - 1);
    for (const auto& [place, write] : pending_) writes_[next[place]++] = write;
    for (std::size_t place = 0; place < places; ++place) {
      const auto begin = writes_.begin() + first_[place];
      const auto end = writes_.begin() + first_[place + 1];
      if (!std::is_sorted(begin, end)) std::sort(begin, end);
    }
  }

  [[nodiscard]] std::span<const Write> of(std::size_t place) const {
    return std::span(writes_).subspan(first_[place], first_[place + 1] - first_[place]);
  }

 private:
  std::vector<std::pair<std::uint32_t, Write>> pending_;
  std::vector<std::uint32_t> first_;
  std::vector<Write> writes_;
};

class Prover {
 public:
  Prover(const Plan& plan, const Layout& source, const Layout& target, const Topology& topology)
      : plan_(plan),
        source_(source),
        target_(target),
        topology_(topology),
        boxes_(plan, source.shape()),
        coverage_(boxes_),
        source_shards_(source, boxes_, &Run::from_offset),
        target_shards_(target, boxes_, &Run::to_offset),
        stage_(target.mesh().size()),
        tensor_elements_(elements(source.shape())) {
    const Rank highest = std::max({source.mesh().highest_rank(), target.mesh().highest_rank(), plan.stage_rank});
    world_ranks_ = std::min<std::int64_t>(highest, limits::max_ranks - 1) + 1;
  }

  Proof run() {
    for (std::size_t i = 0; i < plan_.transfers.size(); ++i) check_transfer(static_cast<std::uint32_t>(i));
    writes_.build(stage_ + 1);
    check_relays();
    check_stage_order();
    check_targets();
    check_stage();
    check_ends();
    // Where both ends of every message are in one step, all ranks go from step to step together: each message of a
    // step finds its other end, in plan order. Only elsewhere can order or progress go wrong.
    if (!in_lockstep()) {
      check_message_order();
      check_cyclic_wait();
    }
    count_traffic();
    check_bound();
    proof_.violations = std::move(violations_).take();
    return std::move(proof_);
  }

 private:
  // Questions 1 and 2, transfer by transfer.

  /// Why a transfer makes no sense; empty when it does.
  [[nodiscard]] std::string_view nonsense(const Transfer& transfer) const {
    const bool from_source = source_shards_.index_of(transfer.from) != nowhere;
    const bool to_target = target_shards_.index_of(transfer.to) != nowhere;
    const bool stage = plan_.stage_rank >= 0 && plan_.stage_rank < limits::max_ranks;
    if (transfer.box >= plan_.boxes.size()) return "its box does not exist";
    if (!boxes_.fault(transfer.box).empty()) return boxes_.fault(transfer.box);
    if (transfer.send_step >= max_steps || transfer.receive_step >= max_steps) return "its step is out of range";
    if (transfer.from == transfer.to && transfer.send_step != transfer.receive_step) return "a local move has one step";
    switch (transfer.kind) {
      case TransferKind::copy:
        if (transfer.from != transfer.to) return "a copy stays within a rank";
        [[fallthrough]];
      case TransferKind::direct:
        if (!from_source) return "the sender is not on the source side";
        return to_target ? "" : "the receiver is not on the target side";
      case TransferKind::relay:
        if (transfer.from == transfer.to) return "a relay to the rank itself";
        if (target_shards_.index_of(transfer.from) == nowhere) return "the sender is not on the target side";
        return to_target ? "" : "the receiver is not on the target side";
      case TransferKind::gather:
        if (!stage || transfer.to != plan_.stage_rank) return "the receiver has no stage";
        return from_source ? "" : "the sender is not on the source side";
      case TransferKind::broadcast:
        if (!stage || transfer.from != plan_.stage_rank) return "the sender has no stage";
        return to_target ? "" : "the receiver is not on the target side";
    }
    return "its kind is unknown";
  }

  void check_transfer(std::uint32_t index) {
    const Transfer& transfer = plan_.transfers[index];
    if (const std::string_view why = nonsense(transfer); !why.empty()) {
      report(ViolationKind::bad_transfer, [&] { return fmt::format("{}: {}", text(index), why); });
      return;
    }
    sound_.push_back(index);
    if (const std::optional<Misfit> misfit = read_misfit(transfer)) {
      report(ViolationKind::not_held,
             [&] { return misfit_text(index, *misfit, transfer.from, "hold", offset_read(transfer.kind)); });
    }
    if (const std::optional<Misfit> misfit = write_misfit(transfer)) {
      report(ViolationKind::misplaced,
             [&] { return misfit_text(index, *misfit, transfer.to, "want", &Run::to_offset); });
      return;
    }
    const bool happens = transfer.received && (transfer.sent || transfer.from != transfer.to);
    if (happens) writes_.add(written_place(transfer), {transfer.box, transfer.receive_step, index});
  }

  static std::int64_t Run::*offset_read(TransferKind kind) {
    return kind == TransferKind::relay ? &Run::to_offset : &Run::from_offset;
  }

  std::optional<Misfit> read_misfit(const Transfer& transfer) {
    if (transfer.kind == TransferKind::broadcast) return stage_misfit(plan_, transfer.box, &Run::from_offset);
    Shards& shards = transfer.kind == TransferKind::relay ? target_shards_ : source_shards_;
    return shards.misfit(plan_, transfer.box, shards.index_of(transfer.from));
  }

  std::optional<Misfit> write_misfit(const Transfer& transfer) {
    if (transfer.kind == TransferKind::gather) return stage_misfit(plan_, transfer.box, &Run::to_offset);
    return target_shards_.misfit(plan_, transfer.box, target_shards_.index_of(transfer.to));
  }

  [[nodiscard]] std::uint32_t written_place(const Transfer& transfer) const {
    if (transfer.kind == TransferKind::gather) return static_cast<std::uint32_t>(stage_);
    return target_shards_.index_of(transfer.to);
  }

  /// A relay passes on what its sender was given in an earlier step.
  void check_relays() {
    std::vector<std::uint32_t> earlier;
    for (const std::uint32_t index : sound_) {
      const Transfer& transfer = plan_.transfers[index];
      if (transfer.kind != TransferKind::relay || !violations_.wants(ViolationKind::not_held)) continue;
      const std::span<const Write> writes = writes_.of(target_shards_.index_of(transfer.from));
      const auto same_box = std::lower_bound(writes.begin(), writes.end(), Write{transfer.box, 0, 0});
      if (same_box != writes.end() && same_box->box == transfer.box && same_box->step < transfer.send_step) continue;
      earlier.clear();
      for (const Write& write : writes) {
        if (write.step < transfer.send_step) earlier.push_back(write.box);
      }
      const std::optional<Brick> missing = coverage_.find_missing(boxes_.part(transfer.box), earlier, BoxSet::any);
      if (!missing) continue;
      violations_.add(ViolationKind::not_held,
                      fmt::format("{}: rank {} has not received {} before step {}", text(index), transfer.from,
                                  brick_text(*missing), transfer.send_step));
    }
  }

  /// A broadcast sends a stage that was complete in an earlier step.
  void check_stage_order() {
    std::uint32_t last_step = 0;
    for (const Write& write : writes_.of(stage_)) last_step = std::max(last_step, write.step);
    for (const std::uint32_t index : sound_) {
      const Transfer& transfer = plan_.transfers[index];
      if (transfer.kind != TransferKind::broadcast || transfer.send_step > last_step) continue;
      report(ViolationKind::not_held,
             [&] { return fmt::format("{}: the stage is complete only after step {}", text(index), last_step); });
    }
  }

  // Question 3, place by place. Replicas that get the same boxes are judged once.

  void check_targets() {
    std::vector<std::uint32_t> right(target_.shards(), nowhere);  // by shard: a mesh index that was found right
    for (std::size_t index = 0; index < target_.mesh().size(); ++index) {
      const std::span<const Write> writes = writes_.of(index);
      std::uint32_t& known = right[target_.shard_of(index)];
      if (known != nowhere) {
        const std::span<const Write> same = writes_.of(known);
        const auto equal_boxes = [](const Write& a, const Write& b) { return a.box == b.box; };
        if (std::equal(writes.begin(), writes.end(), same.begin(), same.end(), equal_boxes)) continue;
      }
      const std::string who = fmt::format("rank {}", target_.mesh().ranks()[index]);
      if (covered_once(target_shards_.part(index), writes, who)) known = static_cast<std::uint32_t>(index);
    }
  }

  void check_stage() {
    const bool used = std::any_of(sound_.begin(), sound_.end(), [this](std::uint32_t index) {
      const TransferKind kind = plan_.transfers[index].kind;
      return kind == TransferKind::gather || kind == TransferKind::broadcast;
    });
    if (!used) return;
    std::vector<Interval> whole;
    for (const std::int64_t extent : source_.shape()) whole.push_back({0, extent});
    Part part;
    for (std::size_t dim = 0; dim < whole.size(); ++dim)
      part.push_back({std::span(whole).subspan(dim, 1), whole[dim].end});
    covered_once(part, writes_.of(stage_), fmt::format("the stage of rank {}", plan_.stage_rank));
  }

  bool covered_once(const Part& part, std::span<const Write> writes, const std::string& who) {
    written_boxes_.clear();
    for (const Write& write : writes) written_boxes_.push_back(write.box);
    if (coverage_.covers_as_grid(part, written_boxes_)) return true;
    if (!violations_.wants(ViolationKind::written_twice) && !violations_.wants(ViolationKind::never_written))
      return false;
    const std::optional<BoxClash> clash = coverage_.find_overlap(written_boxes_);
    if (clash) {
      report(ViolationKind::written_twice, [&] {
        return fmt::format("{}: {} is written twice, by ({}) and by ({})", who, brick_text(clash->where),
                           text(writes[clash->first].transfer), text(writes[clash->second].transfer));
      });
    }
    std::int64_t written_elements = 0;
    for (const std::uint32_t box : written_boxes_) {
      written_elements = saturating_add(written_elements, plan_.boxes[box].elements);
    }
    if (!clash && written_elements == elements(part)) return true;
    const std::optional<Brick> missing =
        coverage_.find_missing(part, written_boxes_, clash ? BoxSet::any : BoxSet::disjoint_inside);
    if (missing) {
      report(ViolationKind::never_written,
             [&] { return fmt::format("{}: {} is never written", who, brick_text(*missing)); });
    } else if (!clash) {  // the search gave up, but the count cannot be wrong
      report(ViolationKind::never_written,
             [&] { return fmt::format("{}: {} of {} elements are written", who, written_elements, elements(part)); });
    }
    return false;
  }

  // Question 4.

  void check_ends() {
    for (const std::uint32_t index : sound_) {
      const Transfer& transfer = plan_.transfers[index];
      if (transfer.sent && transfer.received) {
        if (transfer.from != transfer.to) messages_.push_back(index);
      } else if (transfer.sent != transfer.received) {
        report(ViolationKind::unmatched, [&] {
          return fmt::format("{}: {}", text(index),
                             transfer.sent ? "sent but never received" : "received but never sent");
        });
      }
    }
  }

  [[nodiscard]] bool in_lockstep() const {
    return std::all_of(messages_.begin(), messages_.end(), [this](std::uint32_t index) {
      return plan_.transfers[index].send_step == plan_.transfers[index].receive_step;
    });
  }

  /// The k-th message that a rank sends to another must be the k-th that the other takes from it.
  void check_message_order() {
    const auto in_order_of = [this](std::uint8_t Transfer::*step) {
      std::vector<std::uint32_t> order = messages_;
      const auto key = [&](std::uint32_t index) {
        const Transfer& transfer = plan_.transfers[index];
        return std::tuple(transfer.from, transfer.to, transfer.*step, index);
      };
      std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
      return order;
    };
    const std::vector<std::uint32_t> sent = in_order_of(&Transfer::send_step);
    const std::vector<std::uint32_t> taken = in_order_of(&Transfer::receive_step);
    for (std::size_t i = 0; i < sent.size(); ++i) {
      if (sent[i] == taken[i]) continue;
      report(ViolationKind::unmatched,
             [&] { return fmt::format("({}) arrives where ({}) is expected", text(sent[i]), text(taken[i])); });
    }
  }

  // Question 5.

  void check_cyclic_wait() {
    const std::optional<std::vector<StepWait>> circle = find_cyclic_wait(plan_, messages_, world_ranks_);
    if (!circle) return;
    std::string waits;
    for (const StepWait& wait : *circle) {
      waits += fmt::format("{}rank {} in step {} waits for rank {} to come to step {}", waits.empty() ? "" : "; ",
                           wait.rank, wait.step, wait.peer, wait.peer_step);
    }
    violations_.add(ViolationKind::cyclic_wait, std::move(waits));
  }

  // Question 6.

  void count_traffic() {
    std::vector<std::int64_t> sent(static_cast<std::size_t>(world_ranks_), 0);
    std::vector<std::int64_t> received(static_cast<std::size_t>(world_ranks_), 0);
    const auto count = [](std::int64_t& total, std::int64_t more) { total = saturating_add(total, more); };
    for (const std::uint32_t index : sound_) {
      const Transfer& transfer = plan_.transfers[index];
      if (!transfer.sent || !transfer.received || transfer.from != transfer.to) continue;
      count(proof_.moved.local, plan_.box_of(transfer).elements);
    }
    for (const std::uint32_t index : messages_) {
      const Transfer& transfer = plan_.transfers[index];
      const std::int64_t moved = plan_.message_elements(transfer, tensor_elements_);
      const bool within = topology_.same_domain(transfer.from, transfer.to);
      count(within ? proof_.moved.within_domains : proof_.moved.across_domains, moved);
      count(sent[static_cast<std::size_t>(transfer.from)], moved);
      count(received[static_cast<std::size_t>(transfer.to)], moved);
    }
    proof_.messages = std::ssize(messages_);
    proof_.largest_send_elements = *std::max_element(sent.begin(), sent.end());
    proof_.largest_receive_elements = *std::max_element(received.begin(), received.end());
  }

  void check_bound() {
    proof_.across_domains_bound = across_domains_bound(source_, target_, topology_);
    if (proof_.moved.across_domains >= proof_.across_domains_bound) return;
    violations_.add(ViolationKind::below_bound,
                    fmt::format("{} elements cross domains, but no correct plan can do with fewer than {}",
                                proof_.moved.across_domains, proof_.across_domains_bound));
  }

  // Words.

  [[nodiscard]] std::string text(std::uint32_t transfer) const { return to_text(plan_, plan_.transfers[transfer]); }

  [[nodiscard]] std::string misfit_text(std::uint32_t transfer, const Misfit& misfit, Rank rank, std::string_view verb,
                                        std::int64_t Run::*offset) const {
    return fmt::format("{}: rank {} does not {} [{},{}) of dim {} at offset {}", text(transfer), rank, verb,
                       misfit.run.begin, misfit.run.begin + misfit.run.length, misfit.dim, misfit.run.*offset);
  }

  template <typename MakeText>
  void report(ViolationKind kind, const MakeText& make_text) {
    if (violations_.wants(kind)) violations_.add(kind, make_text());
  }

  const Plan& plan_;
  const Layout& source_;
  const Layout& target_;
  const Topology& topology_;
  BoxTable boxes_;
  Coverage coverage_;
  Shards source_shards_;
  Shards target_shards_;
  std::size_t stage_;  // the place behind those of the target mesh indices
  std::int64_t tensor_elements_;
  std::int64_t world_ranks_ = 0;

  std::vector<std::uint32_t> sound_;     // transfers that make sense
  std::vector<std::uint32_t> messages_;  // of those, the ones that pass between two ranks and have both ends
  std::vector<std::uint32_t> written_boxes_;
  WriteIndex writes_;
  Violations violations_;
  Proof proof_;
};

}  // namespace

std::string_view name(ViolationKind kind) {
  constexpr std::string_view names[] = {"bad_transfer",  "not_held",  "misplaced",   "written_twice",
                                        "never_written", "unmatched", "cyclic_wait", "below_bound"};
  return names[static_cast<std::size_t>(kind)];
}

Proof prove(const Plan& plan, const Layout& source, const Layout& target, const Topology& topology) {
  RESHARDCHECK_CHECK(source.shape() == target.shape());
  if (plan.dims != source.dims()) {
    Proof proof;
    proof.violations.push_back({ViolationKind::bad_transfer,
                                fmt::format("the plan is for {} dims, the tensor has {}", plan.dims, source.dims())});
    return proof;
  }
  return Prover(plan, source, target, topology).run();
}

}  // namespace reshardcheck
