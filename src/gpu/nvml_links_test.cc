#include "gpu/nvml_links.h"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "gpu/nvml.h"
#include "gpu/testing/nvml_world.h"

namespace stowage::gpu {
namespace {

using testing::card_text;
using testing::NvmlWorld;

// Rows of the matrix in sequence; "?" if nothing is known.
std::string links_of(const std::string& text, const std::string& library = testing::kFakeNvml) {
  NvmlWorld world(text, library);
  const auto inventory = world.source.inventory();
  if (!inventory) return inventory.error().message;
  const core::LinkMatrix& links = inventory->links;
  if (!links.known()) return "?";
  EXPECT_EQ(links.cards, std::ssize(inventory->cards));
  std::string words;
  for (std::size_t a = 0; a < inventory->cards.size(); ++a) {
    for (std::size_t b = 0; b < inventory->cards.size(); ++b) {
      words += fmt::format("{}{}", b == 0 ? "" : " ", links.between(a, b));
      EXPECT_EQ(links.between(a, b), links.between(b, a));
    }
    words += a + 1 == inventory->cards.size() ? "" : ", ";
  }
  return words;
}

std::string card(int number, const std::string& more) {
  return card_text(fmt::format("GPU-{}", number), number) + more;
}

TEST(NvmlLinks, TheWayOverPcie) {
  struct Row {
    std::uint32_t level;
    std::string links;
  };
  const Row rows[] = {{0, "0 60, 60 0"},  {10, "0 50, 50 0"}, {20, "0 40, 40 0"},
                      {30, "0 30, 30 0"}, {40, "0 20, 20 0"}, {50, "0 10, 10 0"},
                      {35, "?"}};
  for (const Row& row : rows) {
    EXPECT_EQ(links_of(card(0, fmt::format("near 1 {}\n", row.level)) + card(1, "")), row.links);
  }
}

TEST(NvmlLinks, NothingIsKnownWhereTheDriverSaysNothing) {
  EXPECT_EQ(links_of(card(0, "") + card(1, "")), "?");
  EXPECT_EQ(links_of(card(0, "near 1 40\n")), "?") << "one card";
}

TEST(NvmlLinks, DirectLinksCountForTheTwoThatTheyJoin) {
  // Four cards in a ring with two doubled sides.
  const std::string ring =
      card(0, "near 1 40\nnear 2 50\nnear 3 50\nlink 0 gpu 1\nlink 1 gpu 1\nlink 2 gpu 3\n") +
      card(1, "near 2 50\nnear 3 50\nlink 0 gpu 0\nlink 1 gpu 0\nlink 2 gpu 2\nlink 3 down\n") +
      card(2, "near 3 40\nlink 0 gpu 1\nlink 1 gpu 3\nlink 2 gpu 3\n") +
      card(3, "link 0 gpu 2\nlink 1 gpu 2\nlink 2 gpu 0\n");
  const std::string expected = "0 220 10 110, 220 0 110 10, 10 110 0 220, 110 10 220 0";
  EXPECT_EQ(links_of(ring), expected);
  EXPECT_EQ(links_of(ring, testing::kOldFakeNvml), expected) << "the kind of the end is not told";
}

TEST(NvmlLinks, SwitchesJoinAllByWhatTheWeakerOneHas) {
  std::string all;
  for (int number = 0; number < 3; ++number) {
    std::string more;
    for (int other = number + 1; other < 3; ++other) more += fmt::format("near {} 50\n", other);
    for (int link = 0; link < (number == 2 ? 17 : 18); ++link) {
      more += fmt::format("link {} switch\n", link);
    }
    all += card(number, more);
  }
  const std::string expected = "0 1810 1710, 1810 0 1710, 1710 1710 0";
  EXPECT_EQ(links_of(all), expected);
  EXPECT_EQ(links_of(all, testing::kOldFakeNvml), expected) << "known by their vendor";
}

TEST(NvmlLinks, LinksThatMayNotBeUsedDoNotCount) {
  const std::string other = card(1, "link 0 switch\n");
  EXPECT_EQ(links_of(card(0, "near 1 40\nlink 0 switch\n") + other), "0 120, 120 0");
  EXPECT_EQ(links_of(card(0, "near 1 40\nlink 0 switch\npeer 1 5\n") + other), "0 20, 20 0");
  EXPECT_EQ(links_of(card(0, "near 1 40\nlink 0 switch\npeer 1 6\n") + other), "0 120, 120 0")
      << "the driver does not know";
  EXPECT_EQ(links_of(card(0, "near 1 40\nlink 0 switch\nfail peer 3\n") + other), "0 120, 120 0");
}

TEST(NvmlLinks, InstancesOfOneCardAreOnOneBoardAndHaveNoNvlink) {
  const std::string text = card(0, "near 1 40\nlink 0 switch\nmig MIG-1 1 0\nmig MIG-2 2 0\n") +
                           card(1, "link 0 switch\n");
  EXPECT_EQ(links_of(text), "0 60 20, 60 0 20, 20 20 0");
}

TEST(NvmlLinks, NothingIsKnownOfACardThatIsLost) {
  EXPECT_EQ(links_of(card(0, "near 1 40\nnear 2 40\n") + card(1, "near 2 50\n") +
                     card(2, "fail hardware 15\n")),
            "0 20 0, 20 0 0, 0 0 0");
}

}  // namespace
}  // namespace stowage::gpu
