// Goal: a case is never a pass when the processes of its world lost each other, whenever that was: what the others saw
// is then unknown. Method: a world that claims a second process, which answers like the first until it is gone.
#include <gtest/gtest.h>

#include "core/layout/notation.h"
#include "core/subject/registry.h"
#include "core/world/sim.h"
#include "verifier/executor.h"

namespace reshardcheck {
namespace {

/// Runs all ranks in this process; `exchanges` of them succeed.
class LosingWorld final : public World {
 public:
  explicit LosingWorld(int exchanges) : exchanges_(exchanges) {}
  [[nodiscard]] std::string_view name() const override { return "losing"; }
  [[nodiscard]] std::optional<std::string> unsupported(const RunOptions&) const override {
    return spent() ? std::optional<std::string>("process 1 is gone") : std::nullopt;
  }
  WorldOutcome run(const RunOptions& options, const RankBody& body, Traffic& traffic) override {
    return sim_.run(options, body, traffic);
  }
  [[nodiscard]] Rank processes() const override { return 2; }
  std::vector<std::string> exchange(std::string_view text, std::int64_t) override {
    if (--exchanges_ < 0) return {};
    return {std::string(text), std::string(text)};
  }
  bool renew() override { return sim_.renew(); }
  [[nodiscard]] bool spent() const override { return exchanges_ < 0; }

 private:
  SimWorld sim_;
  int exchanges_;
};

TEST(LostWorld, IsNeverAPass) {
  const Result<Case> value = parse_case("u8[600] 2@0 S(0) -> 1@2 R | refits=2");
  ASSERT_TRUE(value.ok());
  for (const std::string_view name : {"reference", "mutant:valid-rejected", "mutant:success-no-data"}) {
    Result<std::unique_ptr<Subject>> subject = make_subject(name);
    ASSERT_TRUE(subject.ok());
    int lost = 0;
    for (int exchanges = 0;; ++exchanges) {
      ASSERT_LT(exchanges, 100);
      LosingWorld world(exchanges);
      Executor executor(world);
      const Result<Verdict> verdict = executor.run(*value, **subject);
      ASSERT_TRUE(verdict.ok());
      if (!world.spent()) break;
      ++lost;
      EXPECT_TRUE(verdict->failed()) << name << " after " << exchanges;
      if (name == "reference") {
        EXPECT_EQ(verdict->kind, VerdictKind::hang);
        EXPECT_NE(verdict->detail.find("process 1 is gone"), std::string::npos) << verdict->detail;
      }
    }
    EXPECT_GT(lost, 2) << name;
  }
}

}  // namespace
}  // namespace reshardcheck
