// Every check walks the stretches of a local tensor and compares with freshly written expected values, so nothing is
// stored per element. Only a wrong element costs more: it is counted once over all calls, and the first few are
// watched in the passes that follow, because all passes together say where its data came from.
#include "verifier/rank_check.h"

#include <algorithm>
#include <exception>

#include "verifier/background.h"
#include "verifier/compare.h"
#include "verifier/element_bits.h"
#include "verifier/mix.h"
#include "verifier/provenance.h"
#include "verifier/stretches.h"

namespace reshardcheck {
namespace {

/// Calls visit(begin, end) for the runs of a local tensor's footprint, in elements, that hold no element: padding
/// and the gaps between rows.
template <typename Visit>
void for_each_rest(const Layout& layout, const LocalTensor& local, std::int64_t footprint, Visit&& visit) {
  std::int64_t end = 0;
  for_each_stretch(layout, local.mesh_index, local.strides, [&](const Stretch& stretch) {
    if (end < stretch.local_offset) visit(end, stretch.local_offset);
    end = stretch.local_offset + stretch.count;
  });
  if (end < footprint) visit(end, footprint);
}

int width_of(const BatchTensor& tensor) { return width_bytes(tensor.spec->dtype); }

}  // namespace

void RankCheck::assign(const Case& value, const Fill& fill, Rank rank) {
  case_ = &value;
  fill_ = &fill;
  buffers_.assign(value, rank);
  report_ = RankReport{};
  report_.rank = rank;
  report_.idle = buffers_.blocks().empty();
  wrong_.clear();
  holds_other_than_poison_ = false;
}

const Layout& RankCheck::layout_of(const LocalBlock& block) const {
  const TensorCase& tensor = case_->tensors[block.tensor];
  return block.side == Side::source ? tensor.source : tensor.target;
}

std::uint64_t RankCheck::background_key(const LocalBlock& block, int pass) const {
  const auto side = static_cast<std::uint64_t>(block.side);
  return mix(golden_ratio * (block.tensor * 64 + static_cast<std::uint64_t>(pass) * 2 + side + 1));
}

bool RankCheck::has_rest(const LocalBlock& block) const {
  return block.footprint_elements != layout_of(block).owned_elements(buffers_.local(block).mesh_index);
}

void RankCheck::begin_pass(int pass) {
  for (const LocalBlock& block : buffers_.blocks()) {
    const std::uint64_t key = background_key(block, pass);
    const LocalTensor& local = buffers_.local(block);
    const int width = width_of(buffers_.tensors()[block.tensor]);
    const std::int64_t rear = guard_bytes + block.footprint_elements * width;
    write_background({block.block, 0, guard_bytes}, key);
    write_background({block.block, rear, block.block_bytes}, key);
    if (block.side == Side::source) continue;
    if (has_rest(block)) write_background({block.block, guard_bytes, rear}, key);
    for_each_stretch(layout_of(block), local.mesh_index, local.strides, [&](const Stretch& stretch) {
      fill_->write_poison({block.tensor, stretch.global_index, stretch.count}, pass,
                          local.data + stretch.local_offset * width);
    });
  }
}

void RankCheck::fill_sources(Call call) {
  for (const LocalBlock& block : buffers_.blocks()) {
    if (block.side != Side::source) continue;
    const LocalTensor& local = buffers_.local(block);
    const int width = width_of(buffers_.tensors()[block.tensor]);
    if (has_rest(block)) fill_->write_padding(block.tensor, block.footprint_elements, call, local.data);
    for_each_stretch(layout_of(block), local.mesh_index, local.strides, [&](const Stretch& stretch) {
      fill_->write_source({block.tensor, stretch.global_index, stretch.count}, call, local.mesh_index,
                          local.data + stretch.local_offset * width);
    });
  }
}

void RankCheck::open(Subject& subject, Endpoint& endpoint, const SessionOptions& options) {
  try {
    session_ = subject.open(endpoint, options);
  } catch (const std::exception& exception) {
    report_.threw = true;
    report_.exception = exception.what();
  } catch (...) {
    report_.threw = true;
    report_.exception = "an exception of an unknown type";
  }
}

void RankCheck::call(Endpoint& endpoint, Call call) {
  report_.call = call;
  if (report_.threw) return;
  const std::span<const BatchTensor> tensors = buffers_.tensors();
  const std::size_t batch =
      case_->options.batch_tensors == 0 ? tensors.size() : static_cast<std::size_t>(case_->options.batch_tensors);
  try {
    for (std::size_t first = 0; first < tensors.size(); first += batch) {
      report_.outcome =
          session_->reshard(endpoint, {tensors.subspan(first, std::min(batch, tensors.size() - first)), first});
      if (!report_.outcome.is_done()) return;
    }
  } catch (const std::exception& exception) {
    report_.threw = true;
    report_.exception = exception.what();
  } catch (...) {
    report_.threw = true;
    report_.exception = "an exception of an unknown type";
  }
}

void RankCheck::close() {
  if (session_ == nullptr) return;
  try {
    const Outcome closed = session_->close();
    if (!closed.is_done()) report_.close_failure = CloseFailure{false, closed.reason};
  } catch (const std::exception& exception) {
    report_.close_failure = CloseFailure{true, exception.what()};
  } catch (...) {
    report_.close_failure = CloseFailure{true, "an exception of an unknown type"};
  }
  session_.reset();
}

bool RankCheck::clean() const {
  return !report_.close_failure && !report_.threw && report_.outcome.is_done() &&
         report_.definition.wrong_elements == 0 && !report_.stray && !report_.source_change && !report_.touched;
}

void RankCheck::check(Call call) {
  refresh_places(call);
  for (const LocalBlock& block : buffers_.blocks()) {
    check_surroundings(block, call);
    if (block.side == Side::source) {
      check_sources(block, call);
    } else if (fill_->pass_kind(call.pass) == PassKind::tag) {
      check_tags(block, call);
    } else {
      check_targets(block, call);
    }
  }
}

/// What the places that are already known as wrong hold in this pass: their origin is decoded from all passes.
void RankCheck::refresh_places(Call call) {
  for (WrongPlace& place : report_.definition.places) {
    if (place.call.refit != call.refit) continue;
    const BatchTensor& tensor = buffers_.tensors()[place.tensor];
    const int width = width_of(tensor);
    place.got[static_cast<std::size_t>(call.pass)] =
        load_element(tensor.target.data + place.local_offset * width, width);
    place.passes_seen = call.pass + 1;
  }
}

void RankCheck::check_targets(const LocalBlock& block, Call call) {
  const LocalTensor& local = buffers_.local(block);
  const int width = width_of(buffers_.tensors()[block.tensor]);
  for_each_stretch(layout_of(block), local.mesh_index, local.strides, [&](const Stretch& stretch) {
    compare_elements(
        local.data + stretch.local_offset * width, width, stretch.count,
        [&](std::int64_t first, std::int64_t count, std::byte* out) {
          fill_->write({block.tensor, stretch.global_index + first, count}, call, out);
        },
        [&](std::int64_t element, std::uint64_t expected, std::uint64_t got) {
          note_target(block, stretch.local_offset + element, stretch.global_index + element, call, {expected, got});
        });
  });
}

/// Counts an element once, however often it is wrong, and keeps the first few; past those, still one that holds no
/// poison, because it decides between a mismatch and an element that was never written.
void RankCheck::note_target(const LocalBlock& block, std::int64_t local_offset, std::int64_t global_index, Call call,
                            Difference difference) {
  if (wrong_.size() <= block.tensor) wrong_.resize(block.tensor + 1);
  std::vector<bool>& seen = wrong_[block.tensor];
  if (seen.empty()) seen.resize(static_cast<std::size_t>(block.footprint_elements));
  if (seen[static_cast<std::size_t>(local_offset)]) return;
  seen[static_cast<std::size_t>(local_offset)] = true;

  DataReport& report = report_.definition;
  report.wrong_elements += 1;
  const bool poison = difference.got == fill_->poison(block.tensor, global_index, call.pass);
  if (report.places.size() >= kept_places && (poison || holds_other_than_poison_)) return;
  holds_other_than_poison_ = holds_other_than_poison_ || !poison;

  WrongPlace place;
  place.tensor = block.tensor;
  place.local_offset = local_offset;
  place.local_index = local_index_of(buffers_.local(block), local_offset);
  place.global_index = global_index;
  place.call = call;
  place.expected = difference.expected;
  for (int pass = 0; pass < call.pass; ++pass) {  // it was right until now
    place.got[static_cast<std::size_t>(pass)] = fill_->value(block.tensor, global_index, {pass, call.refit});
  }
  place.got[static_cast<std::size_t>(call.pass)] = difference.got;
  place.passes_seen = call.pass + 1;
  report.places.push_back(std::move(place));
}

void RankCheck::check_tags(const LocalBlock& block, Call call) {
  const LocalTensor& local = buffers_.local(block);
  const TensorCase& tensor = case_->tensors[block.tensor];
  const int width = width_bytes(tensor.dtype);
  ServedCounter counter(tensor.source, width);
  for_each_stretch(tensor.target, local.mesh_index, local.strides, [&](const Stretch& stretch) {
    counter.count(stretch, local.data + stretch.local_offset * width, [&](std::int64_t element, std::uint64_t got) {
      const std::int64_t global = stretch.global_index + element;
      note_target(block, stretch.local_offset + element, global, call, {counter.a_tag_of(global), got});
    });
  });
  if (call.refit == 0) counter.report(block.tensor, report_.rank, report_.served);
}

void RankCheck::check_sources(const LocalBlock& block, Call call) {
  if (report_.source_change) return;
  const LocalTensor& local = buffers_.local(block);
  const int width = width_of(buffers_.tensors()[block.tensor]);
  const auto hold = [&](std::int64_t offset, std::int64_t count, auto&& write) {
    compare_elements(local.data + offset * width, width, count, write,
                     [&](std::int64_t element, std::uint64_t expected, std::uint64_t got) {
                       if (report_.source_change) return;
                       report_.source_change =
                           SourceChange{block.tensor, local_index_of(local, offset + element), call, expected, got};
                     });
  };
  for_each_stretch(layout_of(block), local.mesh_index, local.strides, [&](const Stretch& stretch) {
    hold(stretch.local_offset, stretch.count, [&](std::int64_t first, std::int64_t count, std::byte* out) {
      fill_->write_source({block.tensor, stretch.global_index + first, count}, call, local.mesh_index, out);
    });
  });
  if (!has_rest(block)) return;
  for_each_rest(layout_of(block), local, block.footprint_elements, [&](std::int64_t begin, std::int64_t end) {
    hold(begin, end - begin, [&](std::int64_t, std::int64_t count, std::byte* out) {
      fill_->write_padding(block.tensor, count, call, out);
    });
  });
}

/// Guard bands of both sides, and what lies between the elements of a target.
void RankCheck::check_surroundings(const LocalBlock& block, Call call) {
  if (report_.stray) return;
  const std::uint64_t key = background_key(block, call.pass);
  const int width = width_of(buffers_.tensors()[block.tensor]);
  const auto hold = [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t changed = first_changed({block.block, begin, end}, key);
    if (changed == end || report_.stray) return;
    report_.stray = StrayWrite{block.tensor, block.side, changed - guard_bytes, block.footprint_elements * width, call};
  };
  hold(0, guard_bytes);
  if (block.side == Side::target && has_rest(block)) {
    for_each_rest(
        layout_of(block), buffers_.local(block), block.footprint_elements,
        [&](std::int64_t begin, std::int64_t end) { hold(guard_bytes + begin * width, guard_bytes + end * width); });
  }
  hold(guard_bytes + block.footprint_elements * width, block.block_bytes);
}

void RankCheck::check_untouched(Call call) {
  for (const LocalBlock& block : buffers_.blocks()) {
    check_surroundings(block, call);
    if (block.side == Side::source) {
      check_sources(block, call);
    } else if (!target_untouched(block, call)) {
      report_.touched = true;
    }
  }
}

/// A target as it was before the call: poison in the first refit of a pass, then what the refit before delivered.
bool RankCheck::target_untouched(const LocalBlock& block, Call call) const {
  if (call.refit > 0 && fill_->pass_kind(call.pass) == PassKind::tag) return true;  // any replica's tag was right
  const LocalTensor& local = buffers_.local(block);
  const int width = width_of(buffers_.tensors()[block.tensor]);
  bool untouched = true;
  for_each_stretch(layout_of(block), local.mesh_index, local.strides, [&](const Stretch& stretch) {
    compare_elements(
        local.data + stretch.local_offset * width, width, stretch.count,
        [&](std::int64_t first, std::int64_t count, std::byte* out) {
          const ElementRun run{block.tensor, stretch.global_index + first, count};
          if (call.refit == 0) return fill_->write_poison(run, call.pass, out);
          fill_->write(run, {call.pass, call.refit - 1}, out);
        },
        [&](std::int64_t, std::uint64_t, std::uint64_t) { untouched = false; });
  });
  return untouched;
}

}  // namespace reshardcheck
