// Goal: what a rank saw is judged the same after it has travelled. Method: a report with every member set, there and
// back, judged on both sides; text that is no report.
#include "verifier/rank_report_json.h"

#include <gtest/gtest.h>

#include "tests/verifier/hand_ranks.h"
#include "verifier/judge.h"

namespace reshardcheck {
namespace {

RankReport full_report(const Fill& fill) {
  RankReport report;
  report.rank = 2;
  report.outcome = Outcome::error("the peer \"left\"", CommStatus::peer_lost);
  report.call = {1, 0};
  report.threw = true;
  report.exception = "why";
  report.touched = true;
  WrongPlace place{0, 1, {1}, 1, {0, 1}, fill.value(0, 1, {0, 1}), {}, 1};
  place.got[0] = 0xffff'ffff'ffff'ffff;
  note_wrong(report.definition, place);
  note_wrong(report.naive, place);
  note_wrong(report.gather_broadcast, place);
  report.naive_disagreement = "maps differ";
  report.gather_broadcast_failure = "no root";
  report.stray = StrayWrite{0, Side::source, -3, 4, {0, 1}};
  report.source_change = SourceChange{0, {1}, {0, 1}, 5, 6};
  report.served = {{0, 1, 2, 3}};
  report.close_failure = CloseFailure{false, "it does not close"};
  return report;
}

TEST(RankReports, AreJudgedTheSameAfterTheyTravelled) {
  const Case value = parsed_case("u8[4] 2@0 S(0) -> 1@2 R | refits=2");
  const Fill fill(value);
  std::vector<RankReport> reports(3, RankReport{});
  for (std::size_t i = 0; i < reports.size(); ++i) reports[i].rank = static_cast<Rank>(i);
  reports[2] = full_report(fill);
  const std::string packed = pack_reports(reports);
  Result<std::vector<RankReport>> unpacked = unpack_reports(packed);
  ASSERT_TRUE(unpacked.ok()) << unpacked.error().reason;
  EXPECT_EQ(pack_reports(*unpacked), packed);
  // One thing after the other is taken away, so that each is the verdict once.
  const auto step = [&](auto&& forget) {
    forget(reports[2]);
    forget((*unpacked)[2]);
    Evidence here;
    here.value = &value;
    here.fill = &fill;
    Evidence there = here;
    here.ranks = reports;
    there.ranks = *unpacked;
    EXPECT_EQ(judge(here), judge(there));
    EXPECT_TRUE(judge(here).failed());
  };
  step([](RankReport&) {});
  step([](RankReport& report) { report.threw = false; });
  step([](RankReport& report) { report.outcome = Outcome::done(); });
  step([](RankReport& report) { report.stray.reset(); });
  step([](RankReport& report) { report.source_change.reset(); });
  step([](RankReport& report) { report.definition = {}; });
  step([](RankReport& report) { report.touched = false; });
  step([](RankReport& report) { report.naive_disagreement.clear(); });
  step([](RankReport& report) { report.naive = {}; });
  step([](RankReport& report) { report.gather_broadcast_failure.clear(); });
}

TEST(RankReports, AreNotMadeOfOtherText) {
  for (const std::string_view text : {"", "null", "{}", "[1]", "[{}]", "[{\"rank\":\"x\"}]"}) {
    const Result<std::vector<RankReport>> reports = unpack_reports(text);
    EXPECT_TRUE(!reports.ok() || reports->empty()) << text;
  }
}

}  // namespace
}  // namespace reshardcheck
