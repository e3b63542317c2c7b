#include "agent/pod_devices.h"

#include <algorithm>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "agent/testing/pod_messages.h"
#include "base/rng.h"

namespace stowage::agent {
namespace {

using testing::bytes;
using testing::container;
using testing::devices;
using testing::integer;
using testing::pod;
using testing::small_pod;

std::vector<PodDevices> decoded(const std::string& message) {
  auto pods = decode_pod_devices(message);
  EXPECT_TRUE(pods) << pods.error().message;
  return pods ? *pods : std::vector<PodDevices>{};
}

std::string refusal(const std::string& message) {
  const auto pods = decode_pod_devices(message);
  return pods ? "fine" : pods.error().message;
}

TEST(PodDevices, ReadsWhatAKubeletSays) {
  const std::string cpus = bytes(3, "\1\2\3");
  const std::string memory = bytes(4, bytes(1, "memory") + integer(2, 1 << 20));
  const std::string claim = bytes(5, bytes(2, "claim") + bytes(3, "ns"));
  const std::string message =
      pod("ml", "train",
          container("side", devices("nvidia.com/gpu", {"GPU-1"}, {1})) +
              container("main",
                        devices("nvidia.com/gpu", {"GPU-0"}, {0}) + cpus + memory + claim)) +
      pod("kube-system", "dns", container("dns", cpus)) + pod("ml", "empty", "");
  EXPECT_EQ(
      decoded(message),
      (std::vector<PodDevices>{{.pod = {"ml", "train"},
                                .containers = {{"main", {{"nvidia.com/gpu", {"GPU-0"}, {0}}}},
                                               {"side", {{"nvidia.com/gpu", {"GPU-1"}, {1}}}}}}}));
  EXPECT_TRUE(decoded("").empty());
}

// The kubelet writes an entry for each device and NUMA node, in the order of a map.
TEST(PodDevices, EntriesOfOneDeviceBecomeOne) {
  const std::string one = devices("r/a", {"d0"}, {0});
  const std::string two = devices("r/a", {"d0"}, {1});
  const std::string three = devices("r/a", {"d1"}, {1});
  const std::string four = devices("r/a", {"d2"}, {0, 1});
  const std::string five = devices("r/b", {"d9", "d8"});
  const std::vector<PodDevices> expected = {
      {.pod = {"n", "p"},
       .containers = {
           {"c",
            {{"r/a", {"d0", "d2"}, {0, 1}}, {"r/a", {"d1"}, {1}}, {"r/b", {"d8", "d9"}, {}}}}}}};
  std::vector<std::string> entries = {one, two, three, four, five, one};
  std::sort(entries.begin(), entries.end());
  do {
    std::string all;
    for (const std::string& entry : entries) all += entry;
    ASSERT_EQ(decoded(pod("n", "p", container("c", all))), expected);
  } while (std::next_permutation(entries.begin(), entries.end()));
}

TEST(PodDevices, PodsOfOneNameBecomeOne) {
  const auto old = pod("n", "p", container("c", devices("r/a", {"d0"})));
  const auto fresh = pod(
      "n", "p", container("c", devices("r/a", {"d1"})) + container("e", devices("r/a", {"d2"})));
  const std::vector<PodDevices> expected = {
      {.pod = {"n", "p"},
       .containers = {{"c", {{"r/a", {"d0", "d1"}, {}}}}, {"e", {{"r/a", {"d2"}, {}}}}}}};
  EXPECT_EQ(decoded(old + fresh), expected);
  EXPECT_EQ(decoded(fresh + pod("m", "p", "") + old), expected);
}

TEST(PodDevices, NodesBelowZeroAreNotKnown) {
  const auto pods = decoded(pod("n", "p", container("c", devices("r/a", {"d0"}, {-1}))));
  ASSERT_EQ(pods.size(), 1U);
  EXPECT_TRUE(pods[0].containers[0].devices[0].numa.empty());
}

TEST(PodDevices, DevicesWithoutAnIdAreLeftOut) {
  EXPECT_TRUE(decoded(pod("n", "p", container("c", devices("r/a", {""})))).empty());
  EXPECT_TRUE(decoded(pod("n", "p", container("c", devices("", {})))).empty());
}

TEST(PodDevices, WhatIsNotUnderstoodIsPassedOver) {
  const std::string more = integer(77, 5) + bytes(78, "x");
  EXPECT_EQ(decoded(more + pod("n", "p", more + container("c", more + devices("r/a", {"d"})))),
            decoded(pod("n", "p", container("c", devices("r/a", {"d"})))));
}

TEST(PodDevices, NonsenseIsRefusedWithAReason) {
  const auto in_pod = [](const std::string& entries) {
    return pod("n", "p", container("c", entries));
  };
  const std::string good = devices("r/a", {"d"});
  const std::pair<std::string, std::string> rows[] = {
      {"\x0a\x05", "the list of pods: malformed protobuf"},
      {small_pod("a", "d") + bytes(1, "\x0a\x7f"), "pod 1 of the list: malformed protobuf"},
      {pod("", "p", ""), "pod 0 of the list: its name or namespace is invalid"},
      {pod("n", "", ""), "pod 0 of the list: its name or namespace is invalid"},
      {pod("n", "p/q", ""), "pod 0 of the list: its name or namespace is invalid"},
      {pod("n", "p\n", ""), "pod 0 of the list: its name or namespace is invalid"},
      {pod("n", std::string(254, 'p'), ""), "pod 0 of the list: its name or namespace is invalid"},
      {pod("n", "p", container("", good)), "pod n/p: the name of a container is invalid"},
      {pod("n", "p", bytes(3, "\x0a\x7f")), "pod n/p: malformed protobuf"},
      {in_pod(devices("", {"d"})), "pod n/p: the resource name of devices is invalid"},
      {in_pod(devices("r a", {"d"})), "pod n/p: the resource name of devices is invalid"},
      {in_pod(devices("r/a", {"\xff"})), "pod n/p: the id of a device is invalid"},
      {in_pod(devices("r/a", {std::string(1025, 'd')})), "pod n/p: the id of a device is invalid"},
      {in_pod(bytes(2, "\x0a\x7f")), "pod n/p: malformed protobuf"},
      {in_pod(bytes(2, bytes(3, "\x0a\x7f"))), "pod n/p: malformed protobuf"},
      {in_pod(bytes(2, bytes(3, bytes(1, "\xff")))), "pod n/p: malformed protobuf"},
      {in_pod(devices("r/a", {"d"}, std::vector<std::int64_t>(65, 1))),
       "pod n/p: a device has too many NUMA nodes"},
  };
  for (const auto& [message, reason] : rows) EXPECT_EQ(refusal(message), reason);
}

std::string repeated(const std::string& text, std::size_t times) {
  std::string out;
  out.reserve(text.size() * times);
  for (std::size_t i = 0; i < times; ++i) out += text;
  return out;
}

// Small messages that would use much memory.
TEST(PodDevices, ListsAreBounded) {
  EXPECT_EQ(refusal(repeated(pod("n", "p", ""), kListPodsMax)), "fine");
  EXPECT_EQ(refusal(repeated(pod("n", "p", ""), kListPodsMax + 1)), "the list of pods is too long");
  EXPECT_EQ(refusal(pod("n", "p", repeated(container("c", ""), kListContainersMax + 1))),
            "pod 0 of the list: there are too many containers");
  EXPECT_EQ(refusal(pod("n", "p", container("c", repeated(bytes(2, ""), kListDevicesMax + 1)))),
            "pod n/p: there are too many devices");
  EXPECT_EQ(
      refusal(pod("n", "p", container("c", bytes(2, repeated(bytes(2, ""), kListDevicesMax + 1))))),
      "pod n/p: there are too many devices");
  // Every id is near every node: the product counts.
  const std::vector<std::string> ids(10'000, "d");
  const std::vector<std::int64_t> nodes(64, 1);
  EXPECT_EQ(refusal(pod("n", "p", container("c", devices("r/a", ids, nodes)))),
            "pod n/p: there are too many devices");
}

TEST(PodDevices, ChangesAreFound) {
  const auto list = [](const std::string& message) { return decoded(message); };
  const auto before = list(small_pod("a", "0") + small_pod("b", "1") + small_pod("c", "2"));
  const auto now = list(small_pod("b", "1") + small_pod("c", "7") + small_pod("d", "3"));
  const PodChanges changes = changes_between(before, now);
  EXPECT_EQ(changes.gone, (std::vector<PodName>{{"ns", "a"}}));
  EXPECT_EQ(changes.changed, (std::vector<PodDevices>{now[1], now[2]}));
  EXPECT_TRUE(changes_between(now, now).empty());
  EXPECT_EQ(changes_between(now, {}).gone.size(), 3U);
  EXPECT_EQ(changes_between({}, now).changed, now);
}

RC_GTEST_PROP(PodDevices, ChangesLeadFromOneListToTheOther, (std::uint64_t seed)) {
  base::Rng rng(seed);
  const auto random_list = [&] {
    std::string message;
    for (int i = 0; i < 12; ++i) {
      if (rng.below(2) == 0) continue;
      message += small_pod("p" + std::to_string(i), std::to_string(rng.below(3)));
    }
    return decoded(message);
  };
  const auto before = random_list();
  const auto now = random_list();
  const PodChanges changes = changes_between(before, now);
  std::vector<PodDevices> applied;
  for (const PodDevices& each : before) {
    const bool gone =
        std::find(changes.gone.begin(), changes.gone.end(), each.pod) != changes.gone.end();
    const bool replaced =
        std::any_of(changes.changed.begin(), changes.changed.end(),
                    [&](const PodDevices& other) { return other.pod == each.pod; });
    if (!gone && !replaced) applied.push_back(each);
  }
  applied.insert(applied.end(), changes.changed.begin(), changes.changed.end());
  std::sort(applied.begin(), applied.end(),
            [](const auto& a, const auto& b) { return a.pod < b.pod; });
  RC_ASSERT(applied == now);
}

}  // namespace
}  // namespace stowage::agent
