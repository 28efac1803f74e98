// RankCheck: the part of a check that every rank does by itself: allocate, fill, call the subject, look.
//
// It is the same code under every world. The caller drives it, on all ranks alike:
//
//   assign(); place();
//   for each pass:   begin_pass()
//     for each refit:  fill_sources(); open() once, call(); barrier or end of the run; check()
//   close(), report()
//
// Only open() and call() communicate (through the subject). check() knows every expected value from the fill.
#pragma once

#include <memory>
#include <vector>

#include "core/layout/case.h"
#include "core/subject/subject.h"
#include "verifier/fill.h"
#include "verifier/local_buffers.h"
#include "verifier/rank_report.h"

namespace reshardcheck {

class RankCheck {
 public:
  /// `value` and `fill` must outlive the check of the case. Keeps its memory from case to case, and a session that was
  /// not closed.
  void assign(const Case& value, const Fill& fill, Rank rank);
  [[nodiscard]] std::int64_t bytes() const { return buffers_.bytes(); }
  void place(std::byte* memory) { buffers_.place(memory); }

  /// Poisons the targets and writes the guard bands, the padding and the gaps of a pass.
  void begin_pass(int pass);
  /// Writes the sources of a call.
  void fill_sources(Call call);

  /// Opens the subject's session, and makes one reshard call per batch. An exception that leaves the subject is
  /// caught and reported.
  void open(Subject& subject, Endpoint& endpoint, const SessionOptions& options);
  void call(Endpoint& endpoint, Call call);
  /// Ends the session, if one is open.
  void close();

  /// Holds the buffers against what they must be after a call that was done.
  void check(Call call);
  /// The same after a call in which the subject said unsupported: nothing may have changed.
  void check_untouched(Call call);

  [[nodiscard]] const RankReport& report() const { return report_; }
  [[nodiscard]] RankReport& report() { return report_; }
  [[nodiscard]] const LocalBuffers& buffers() const { return buffers_; }
  [[nodiscard]] bool clean() const;

 private:
  struct Difference {
    std::uint64_t expected;
    std::uint64_t got;
  };

  [[nodiscard]] const Layout& layout_of(const LocalBlock& block) const;
  [[nodiscard]] std::uint64_t background_key(const LocalBlock& block, int pass) const;
  [[nodiscard]] bool has_rest(const LocalBlock& block) const;
  void refresh_places(Call call);
  void check_targets(const LocalBlock& block, Call call);
  void note_target(const LocalBlock& block, std::int64_t local_offset, std::int64_t global_index, Call call,
                   Difference difference);
  void check_tags(const LocalBlock& block, Call call);
  void check_sources(const LocalBlock& block, Call call);
  void check_surroundings(const LocalBlock& block, Call call);
  [[nodiscard]] bool target_untouched(const LocalBlock& block, Call call) const;

  const Case* case_ = nullptr;
  const Fill* fill_ = nullptr;
  LocalBuffers buffers_;
  std::unique_ptr<Session> session_;
  RankReport report_;
  std::vector<std::vector<bool>> wrong_;  // by tensor, by local offset; only of tensors with a wrong element
  bool holds_other_than_poison_ = false;  // one of the kept places does
};

}  // namespace reshardcheck
