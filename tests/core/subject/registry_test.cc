// Names and options of subjects: all of the catalogue can be made, and a slip is answered with a proposal.
#include "core/subject/registry.h"

#include <gtest/gtest.h>

#include <set>

namespace reshardcheck {
namespace {

std::string refusal(std::string_view name) {
  const auto made = make_subject(name);
  return made.ok() ? "made" : made.error().reason;
}

TEST(Registry, MakesEverySubjectOfTheCatalogueUnderItsOwnName) {
  std::set<std::string> names;
  for (const SubjectInfo& info : subject_catalogue()) {
    EXPECT_TRUE(names.insert(info.name).second) << info.name << " is there twice";
    EXPECT_FALSE(info.what.empty());
    const auto made = make_subject(info.name);
    ASSERT_TRUE(made.ok()) << made.error().reason;
    EXPECT_EQ(made.value()->name(), info.name);
    EXPECT_EQ(info.name.starts_with("mutant:"), !info.origin.empty()) << info.name;
    EXPECT_EQ(info.name.starts_with("mutant:"), info.expected != "pass") << info.name;
  }
}

TEST(Registry, ProposesTheClosestNameForOneThatIsUnknown) {
  EXPECT_EQ(refusal("referense"), "no subject is named 'referense'; did you mean 'reference'?");
  EXPECT_EQ(refusal("reference:dircet"), "no subject is named 'reference:dircet'; did you mean 'reference:direct'?");
  EXPECT_EQ(refusal("mutant:flatchunk"), "no subject is named 'mutant:flatchunk'; did you mean 'mutant:flat-chunk'?");
  EXPECT_EQ(refusal("lost-send"), "no subject is named 'lost-send'; did you mean 'mutant:lost-send'?");
  EXPECT_NE(refusal(std::string(100'000, 'x')), "made");
  EXPECT_LT(refusal(std::string(100'000, 'x')).size(), 300U);
  EXPECT_NE(refusal(""), "made");
}

TEST(Registry, SetsTheOptionsOfAMutant) {
  EXPECT_EQ(refusal("mutant:chunk-tail?chunk=8"), "made");
  EXPECT_EQ(make_subject("mutant:chunk-tail?chunk=8").value()->name(), "mutant:chunk-tail?chunk=8");
  EXPECT_EQ(refusal("mutant:chunk-tail?chunks=8"), "mutant:chunk-tail: option 'chunks' is unknown; known: chunk");
  EXPECT_EQ(refusal("mutant:lost-send?a=1"), "mutant:lost-send: option 'a' is unknown; this subject has no options");
  EXPECT_EQ(refusal("mutant:count-32?width=0"), "mutant:count-32: width=0: give a number in 1..40");
  EXPECT_EQ(refusal("mutant:count-32?width=x"), "mutant:count-32: width=x: give a number in 1..40");
  EXPECT_EQ(refusal("mutant:count-32?width"), "mutant:count-32: width=: give a number in 1..40");
}

TEST(Registry, RefusesOptionsOnSubjectsThatHaveNone) { EXPECT_EQ(refusal("reference?a=1"), "reference has no options"); }

}  // namespace
}  // namespace reshardcheck
