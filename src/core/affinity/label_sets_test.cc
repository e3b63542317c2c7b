#include "core/affinity/label_sets.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/testing/affinity.h"

namespace stowage::core {
namespace {

using testing::labelled_pod;

TEST(LabelSets, EqualLabelsInOneNamespaceAreOneSet) {
  LabelSets sets;
  const LabelSetIndex web = sets.intern(labelled_pod("a", {{"app", "web"}}));
  EXPECT_EQ(sets.intern(labelled_pod("b", {{"app", "web"}})), web);
  EXPECT_NE(sets.intern(labelled_pod("c", {{"app", "db"}})), web);
  PodSpec elsewhere = labelled_pod("d", {{"app", "web"}});
  elsewhere.name = "other/d";
  EXPECT_NE(sets.intern(elsewhere), web);
  EXPECT_EQ(sets.size(), 3U);
  EXPECT_EQ(sets[web].ns, "ns");
  EXPECT_EQ(sets[web].labels, (Labels{{"app", "web"}}));
}

TEST(LabelSets, OnlySetsWithoutPodsAreFreed) {
  LabelSets sets;
  const LabelSetIndex used = sets.intern(labelled_pod("a", {{"app", "used"}}));
  const LabelSetIndex left = sets.intern(labelled_pod("b", {{"app", "left"}}));
  const LabelSetIndex unused = sets.intern(labelled_pod("c", {{"app", "unused"}}));
  sets.add_pods(used, 1);
  sets.add_pods(left, 1);
  sets.add_pods(left, -1);
  EXPECT_EQ(sets.free_empty(), (std::vector<LabelSetIndex>{left, unused}));
  EXPECT_EQ(sets.size(), 1U);
  const LabelSetIndex reused = sets.intern(labelled_pod("d", {{"app", "new"}}));
  EXPECT_EQ(reused, unused);
  EXPECT_EQ(sets[reused].labels, (Labels{{"app", "new"}}));
  EXPECT_EQ(sets[reused].pods, 0);
}

TEST(LabelSets, EmptySetsAreLimitedInNumber) {
  LabelSets sets;
  for (std::size_t i = 0; i < LabelSets::kMaxEmpty; ++i) {
    const PodSpec spec = labelled_pod("p", {{"id", std::to_string(i)}});
    ASSERT_TRUE(sets.intern_within_limits(spec).valid());
  }
  const PodSpec more = labelled_pod("p", {{"id", "more"}});
  EXPECT_FALSE(sets.intern_within_limits(more).valid());
  EXPECT_FALSE(sets.over_limits());
  const LabelSetIndex forced = sets.intern(more);
  EXPECT_TRUE(sets.over_limits());
  EXPECT_EQ(sets.intern_within_limits(more), forced) << "a known set is found beyond the limits";
}

TEST(LabelSets, EmptySetsAreLimitedInBytes) {
  LabelSets sets;
  const PodSpec large = labelled_pod("p", {{"id", std::string(LabelSets::kMaxEmptyBytes, 'x')}});
  EXPECT_FALSE(sets.intern_within_limits(large).valid());
  const LabelSetIndex forced = sets.intern(large);
  EXPECT_TRUE(sets.over_limits());
  sets.add_pods(forced, 1);
  EXPECT_FALSE(sets.over_limits()) << "a set with pods does not count";
}

}  // namespace
}  // namespace stowage::core
