#include "core/explain/topology_note.h"

#include <gtest/gtest.h>

#include "core/testing/builders.h"

namespace stowage::core {
namespace {

using testing::links;
using testing::node;
using testing::pod;

std::string note(const LinkMatrix& matrix, std::vector<std::uint32_t> cards,
                 Topology wish = Topology::link) {
  NodeSpec spec = node("n").cards(4);
  spec.links = matrix;
  spec.cards[2].numa = spec.cards[3].numa = 1;
  spec.cards[0].numa = spec.cards[1].numa = 0;
  PodSpec p = pod("p").gpus(static_cast<std::int32_t>(cards.size())).topology(wish);
  Assignment given{.containers = {{}}};
  for (const auto card : cards) given.containers[0].push_back({.card = card});
  return topology_note(p, spec, given);
}

TEST(TopologyNote, SaysWhatJoinsCardsThatNvlinkDoesNot) {
  const LinkMatrix pcie = links(4)
                              .join(link::kSingleSwitch, {{0, 1}, {2, 3}})
                              .join(link::kCrossCpu, {{0, 2}, {0, 3}, {1, 2}, {1, 3}});
  EXPECT_NE(note(pcie, {0, 1}).find("connected by a PCIe switch, not NVLink"), std::string::npos);
  EXPECT_NE(note(pcie, {0, 2}).find("downgraded"), std::string::npos);
  EXPECT_NE(note(pcie, {0, 2}).find("slower links, not NVLink"), std::string::npos);
  const LinkMatrix nothing = links(4);
  EXPECT_NE(note(nothing, {0, 2}).find("spanning multiple components"), std::string::npos);
  EXPECT_NE(note(pcie, {0, 2}, Topology::numa).find("several NUMA nodes"), std::string::npos);
}

TEST(TopologyNote, IsSilentWhereNothingWasWishedForOrAllIsWell) {
  const LinkMatrix nvlink = links(4).rest(link::kNvlink);
  EXPECT_EQ(note(nvlink, {0, 1, 2, 3}), "");
  EXPECT_EQ(note(links(4), {0, 1}, Topology::none), "");
  EXPECT_EQ(note(links(4), {0}), "") << "one card";
  EXPECT_EQ(note(LinkMatrix{}, {0, 1}), "") << "nothing is known";
  EXPECT_EQ(note(links(4), {0, 1}, Topology::numa), "");
}

}  // namespace
}  // namespace stowage::core
