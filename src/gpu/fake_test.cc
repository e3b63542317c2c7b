#include "gpu/fake.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/testing/nvml_script.h"

namespace stowage::gpu {
namespace {

using testing::TempFile;

TEST(FakeSource, IsReadAgainWhenTheFileChanges) {
  const TempFile file("count: 1\n");
  FakeSource source({.path = file.path()});
  EXPECT_TRUE(source.stale());
  ASSERT_EQ(source.inventory()->cards.size(), 1U);
  EXPECT_FALSE(source.stale());
  file.write("count: 2\n");
  EXPECT_EQ(source.sample()->size(), 2U);
  EXPECT_TRUE(source.stale());
  EXPECT_EQ(source.inventory()->cards.size(), 2U);
  file.write("count: 2\ncards: [{index: 0, utilisation: 50}]\n");
  EXPECT_EQ(source.sample()->at(0).utilisation_permille, 500);
  EXPECT_FALSE(source.stale()) << "no card is another than before";
}

TEST(FakeSource, ABrokenFileChangesNothingAndIsComplainedAbout) {
  const TempFile file("count: 2\n");
  FakeSource source({.path = file.path()});
  ASSERT_TRUE(source.inventory().has_value());
  file.write("cuont: 2\ncount: 3\n");
  EXPECT_EQ(source.inventory()->cards.size(), 2U);
  EXPECT_EQ(source.trouble(), file.path() + ":1: cuont: unknown key; did you mean \"count\"?");
  file.remove();
  EXPECT_EQ(source.sample()->size(), 2U);
  EXPECT_NE(source.trouble().find("No such file"), std::string::npos);
  file.write("count: 2\n");
  EXPECT_EQ(source.sample()->size(), 2U);
  EXPECT_EQ(source.trouble(), "");
}

TEST(FakeSource, WithoutAGoodFileThereIsAnError) {
  const TempFile file("count: x\n");
  FakeSource source({.path = file.path()});
  EXPECT_FALSE(source.inventory().has_value());
  EXPECT_FALSE(source.sample().has_value());
  EXPECT_TRUE(source.faults().empty());
  file.write("count: 1\n");
  EXPECT_TRUE(source.sample().has_value());
}

TEST(FakeSource, FaultsAreToldOnce) {
  const TempFile file("count: 1\ncards: [{index: 0, faults: [{xid: 31}]}]\n");
  FakeSource source({.path = file.path()});
  EXPECT_EQ(source.faults().size(), 1U);
  EXPECT_TRUE(source.faults().empty());
  file.write("count: 1\ncards: [{index: 0, utilisation: 1, faults: [{xid: 31}]}]\n");
  EXPECT_TRUE(source.faults().empty()) << "the same as before";
  file.write("count: 1\ncards: [{index: 0, faults: [{xid: 31}, {xid: 31}]}]\n");
  EXPECT_EQ(source.faults().size(), 1U) << "once more";
  file.write("count: 1\n");
  EXPECT_TRUE(source.faults().empty());
  file.write("count: 1\ncards: [{index: 0, faults: [{xid: 31}]}]\n");
  EXPECT_EQ(source.faults().size(), 1U) << "taken out and put back";
}

TEST(FakeSource, CardsAreLostAndComeBack) {
  const TempFile file("count: 2\n");
  FakeSource source({.path = file.path()});
  ASSERT_EQ(source.sample()->size(), 2U);
  file.write("count: 2\ncards: [{index: 1, lost: true}]\n");
  EXPECT_EQ(source.sample()->size(), 1U);
  const auto faults = source.faults();
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults[0].kind, FaultKind::lost);
  EXPECT_TRUE(source.stale());
  EXPECT_FALSE(source.inventory()->cards[1].answers);
  file.write("count: 2\n");
  EXPECT_EQ(source.sample()->size(), 2U);
  EXPECT_TRUE(source.faults().empty());
}

}  // namespace
}  // namespace stowage::gpu
