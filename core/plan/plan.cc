// Plan: its accounts, its text, and the index from a rank to its transfers.
#include "core/plan/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace reshardcheck {
namespace {

constexpr std::size_t shown_runs = 4;  // runs of one dim that a line of text shows

/// The runs of a range, or none when the range lies outside the plan's runs.
std::span<const Run> runs_in_bounds(const Plan& plan, RunRange range) {
  const std::size_t first = std::min<std::size_t>(range.first, plan.runs.size());
  const std::size_t count = std::min<std::size_t>(range.count, plan.runs.size() - first);
  return std::span<const Run>(plan.runs).subspan(first, count);
}

std::string box_text(const Plan& plan, const Box& box) {
  std::string text;
  for (std::size_t dim = 0; dim < std::min(plan.dims, box.dims.size()); ++dim) {
    if (dim > 0) text += "x";
    const std::span<const Run> runs = runs_in_bounds(plan, box.dims[dim]);
    for (std::size_t i = 0; i < std::min(runs.size(), shown_runs); ++i) {
      fmt::format_to(std::back_inserter(text), "[{},{})", runs[i].begin, runs[i].begin + runs[i].length);
    }
    if (runs.empty()) text += "[)";
    if (runs.size() > shown_runs) text += "...";
  }
  if (plan.dims == 0) text += "scalar";
  return text + fmt::format(", {} element{}", box.elements, box.elements == 1 ? "" : "s");
}

std::string_view kind_text(TransferKind kind) {
  constexpr std::string_view texts[] = {" (copy)", "", " (relay)", " (gather)", " (broadcast)"};
  const auto index = static_cast<std::size_t>(kind);
  return index < std::size(texts) ? texts[index] : " (unknown kind)";
}

std::string step_text(const Transfer& transfer) {
  if (transfer.send_step == transfer.receive_step) return fmt::format("step {}", transfer.send_step);
  return fmt::format("step {} to {}", transfer.send_step, transfer.receive_step);
}

}  // namespace

std::int64_t Plan::message_elements(const Transfer& transfer, std::int64_t tensor_elements) const {
  if (transfer.from == transfer.to) return 0;
  return transfer.kind == TransferKind::broadcast ? tensor_elements : box_of(transfer).elements;
}

std::string to_text(const Plan& plan, const Transfer& transfer) {
  const std::string box = transfer.box < plan.boxes.size() ? box_text(plan, plan.boxes[transfer.box])
                                                           : fmt::format("box {} does not exist", transfer.box);
  return fmt::format("{}: rank {} -> rank {}{}: {}", step_text(transfer), transfer.from, transfer.to,
                     kind_text(transfer.kind), box);
}

PlanIndex::PlanIndex(const Plan& plan, std::int64_t world_ranks) {
  // Two passes, count and fill; `rank_of` names the rank whose list a transfer is in, or -1 for none.
  const auto build = [&](List& list, auto&& rank_of) {
    list.first.assign(static_cast<std::size_t>(world_ranks) + 1, 0);
    for (const Transfer& transfer : plan.transfers) {
      const Rank rank = rank_of(transfer);
      if (rank >= 0 && rank < world_ranks) ++list.first[static_cast<std::size_t>(rank) + 1];
    }
    for (std::size_t i = 1; i < list.first.size(); ++i) list.first[i] += list.first[i - 1];
    list.transfers.resize(list.first.back());
    std::vector<std::uint32_t> next(list.first.begin(), list.first.end() - 1);
    for (std::size_t i = 0; i < plan.transfers.size(); ++i) {
      const Rank rank = rank_of(plan.transfers[i]);
      if (rank < 0 || rank >= world_ranks) continue;
      list.transfers[next[static_cast<std::size_t>(rank)]++] = static_cast<std::uint32_t>(i);
    }
  };
  build(sends_, [](const Transfer& t) { return t.sent && t.from != t.to ? t.from : Rank{-1}; });
  build(receives_, [](const Transfer& t) { return t.received && t.from != t.to ? t.to : Rank{-1}; });
  build(copies_, [](const Transfer& t) { return t.sent && t.received && t.from == t.to ? t.to : Rank{-1}; });
  for (const Transfer& transfer : plan.transfers) {
    steps_ = std::max({steps_, transfer.send_step + 1, transfer.receive_step + 1});
  }
}

std::span<const std::uint32_t> PlanIndex::List::of(Rank rank) const {
  if (rank < 0 || static_cast<std::size_t>(rank) + 1 >= first.size()) return {};
  const std::size_t begin = first[static_cast<std::size_t>(rank)];
  return std::span<const std::uint32_t>(transfers).subspan(begin, first[static_cast<std::size_t>(rank) + 1] - begin);
}

std::span<const std::uint32_t> PlanIndex::sends(Rank rank) const { return sends_.of(rank); }
std::span<const std::uint32_t> PlanIndex::receives(Rank rank) const { return receives_.of(rank); }
std::span<const std::uint32_t> PlanIndex::copies(Rank rank) const { return copies_.of(rank); }

}  // namespace reshardcheck
