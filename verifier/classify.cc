// Classification of a wrong element by what it held in every pass.
#include <algorithm>

#include "verifier/judge.h"

namespace reshardcheck {
namespace {

using Samples = std::span<const std::uint64_t>;

/// True when `matches(pass, got)` holds in every pass in which the element was wrong, and there was one.
template <typename Matches>
bool in_every_wrong_pass(const Fill& fill, const WrongPlace& place, Matches&& matches) {
  bool any = false;
  for (int pass = 0; pass < place.passes_seen; ++pass) {
    const std::uint64_t got = place.got[static_cast<std::size_t>(pass)];
    if (fill.pass_kind(pass) == PassKind::tag) continue;
    if (got == fill.value(place.tensor, place.global_index, {pass, place.call.refit})) continue;
    any = true;
    if (!matches(pass, got)) return false;
  }
  return any;
}

bool wrong_in_every_pass(const Fill& fill, const WrongPlace& place) {
  for (int pass = 0; pass < place.passes_seen; ++pass) {
    if (fill.pass_kind(pass) == PassKind::tag) continue;
    const std::uint64_t right = fill.value(place.tensor, place.global_index, {pass, place.call.refit});
    if (place.got[static_cast<std::size_t>(pass)] == right) return false;
  }
  return true;
}

/// The call before `call` in which this very value belonged in the place.
std::optional<Call> earlier_call(const Fill& fill, const WrongPlace& place, Call call, std::uint64_t got) {
  for (int back = call.pass * fill.refits() + call.refit; back-- > 0;) {
    const Call earlier{back / fill.refits(), back % fill.refits()};
    if (fill.pass_kind(earlier.pass) == PassKind::tag) continue;
    if (fill.value(place.tensor, place.global_index, earlier) == got) return earlier;
  }
  return std::nullopt;
}

Origin origin_of(const Case& value, const DecodedElement& decoded) {
  if (decoded.padding) return {0, {}, true};
  return {decoded.tensor, global_index_of(value.tensors[decoded.tensor].shape(), decoded.index), false};
}

}  // namespace

PlaceFinding classify(const Case& value, const Fill& fill, const WrongPlace& place) {
  const auto poison = [&](int pass, std::uint64_t got) {
    return got == fill.poison(place.tensor, place.global_index, pass);
  };
  if (place.passes_seen == 0) {  // an oracle that looked at one call
    const std::uint64_t got = place.got[static_cast<std::size_t>(place.call.pass)];
    return {poison(place.call.pass, got) ? VerdictKind::unwritten : VerdictKind::mismatch, std::nullopt, -1};
  }
  const bool only_poison = in_every_wrong_pass(fill, place, poison);
  if (only_poison && wrong_in_every_pass(fill, place)) return {VerdictKind::unwritten, std::nullopt, -1};

  const Samples samples(place.got.data(), static_cast<std::size_t>(place.passes_seen));
  if (const std::optional<DecodedElement> decoded = fill.decode(place.tensor, samples)) {
    const bool itself = !decoded->padding && decoded->tensor == place.tensor && decoded->index == place.global_index;
    if (decoded->refit < place.call.refit) {
      return {VerdictKind::stale, origin_of(value, *decoded), decoded->refit};
    }
    if (decoded->refit == place.call.refit && !itself) {
      return {VerdictKind::mismatch, origin_of(value, *decoded), -1};
    }
  }
  // Passes that contradict each other: the subject depends on the history of calls.
  if (only_poison) return {VerdictKind::unwritten, std::nullopt, -1};
  std::optional<Call> delivered;
  const bool only_old = in_every_wrong_pass(fill, place, [&](int pass, std::uint64_t got) {
    if (poison(pass, got)) return true;
    delivered = earlier_call(fill, place, {pass, place.call.refit}, got);
    return delivered.has_value();
  });
  if (!only_old || !delivered) return {VerdictKind::mismatch, std::nullopt, -1};
  const Origin itself{place.tensor, global_index_of(value.tensors[place.tensor].shape(), place.global_index), false};
  return {VerdictKind::stale, itself, delivered->pass == place.call.pass ? delivered->refit : -1};
}

}  // namespace reshardcheck
