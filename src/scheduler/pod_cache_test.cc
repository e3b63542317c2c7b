#include "scheduler/pod_cache.h"

#include <gtest/gtest.h>

namespace stowage::scheduler {
namespace {

dialect::PodObject on_node(const std::string& uid, const std::string& node) {
  dialect::PodObject pod;
  pod.ns = "ns";
  pod.name = pod.uid = uid;
  pod.node = node;
  return pod;
}

TEST(PodCache, FindsPodsByUidAndByName) {
  PodCache pods;
  PodCache::Entry& entry = pods.add("u", "ns/p");
  EXPECT_EQ(*entry.uid, "u");
  EXPECT_EQ(&pods.add("u", "ns/another"), &entry);
  EXPECT_EQ(entry.name, "ns/p") << "a pod keeps its name";
  EXPECT_EQ(pods.uid_of("ns/p"), "u");
  EXPECT_EQ(pods.uid_of("ns/another"), "");
  EXPECT_EQ(pods.name_of("u"), "ns/p");
  EXPECT_EQ(pods.name_of("v"), "");
  EXPECT_EQ(pods.find("v"), nullptr);

  pods.add("v", "ns/p");  // created again under its name
  EXPECT_EQ(pods.uid_of("ns/p"), "v");
  pods.erase("u");
  EXPECT_EQ(pods.uid_of("ns/p"), "v");
  pods.erase("v");
  pods.erase("v");
  EXPECT_EQ(pods.uid_of("ns/p"), "");
  EXPECT_EQ(pods.size(), 0U);
}

TEST(PodCache, CountsAndIndexesFollowAPodThroughItsLife) {
  PodCache pods;
  PodCache::Entry& entry = pods.add("u", "ns/p");
  pods.set_pending(entry, {.spec = {.uid = "u"}});
  pods.set_pending(entry, {.spec = {.uid = "u", .name = "again"}});
  EXPECT_EQ(pods.pending_count(), 1U);
  ASSERT_NE(pods.pending("u"), nullptr);
  EXPECT_EQ(pods.pending("u")->spec.name, "again");
  EXPECT_EQ(pods.preemption_info("u"), nullptr);

  pods.bind(entry, on_node("u", "n"));
  EXPECT_EQ(pods.pending_count(), 0U);
  EXPECT_EQ(pods.bound_count(), 1U);
  EXPECT_EQ(pods.pending("u"), nullptr);
  ASSERT_NE(pods.preemption_info("u"), nullptr);
  EXPECT_EQ(pods.preemption_info("u")->node, "n");
  pods.bind(entry, on_node("u", "m"));
  EXPECT_EQ(pods.bound_count(), 1U);
  EXPECT_TRUE(pods.pods_on("n").empty());
  EXPECT_EQ(pods.pods_on("m"), std::vector<std::string>{"u"});

  pods.erase("u");
  EXPECT_EQ(pods.bound_count(), 0U);
  EXPECT_TRUE(pods.pods_on("m").empty());
}

TEST(PodCache, WhatWantsAPlaceIsInTheOrderOfNames) {
  PodCache pods;
  for (const char* name : {"c", "a", "b"}) {
    pods.set_pending(pods.add(std::string("u-") + name, std::string("ns/") + name), {});
  }
  pods.bind(*pods.find("u-b"), on_node("u-b", "n"));
  pods.clear_pending(*pods.find("u-c"));
  pods.clear_pending(*pods.find("u-c"));
  EXPECT_EQ(pods.pending_count(), 1U);
  const auto all = pods.all_pending();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all.begin()->first, "ns/a");
}

TEST(PodCache, UnresolvedPodsWaitForTheirNode) {
  PodCache pods;
  for (const char* uid : {"b", "a", "c"}) {
    PodCache::Entry& entry = pods.add(uid, std::string("ns/") + uid);
    pods.bind(entry, on_node(uid, "n"));
    pods.set_unresolved(entry, {.object = on_node(uid, "n")});
    EXPECT_EQ(pods.pending(uid), nullptr) << "it is on a node";
  }
  EXPECT_EQ(pods.pending_count(), 0U);
  pods.bind(*pods.find("b"), on_node("b", "n"));  // seen again
  pods.erase("c");
  EXPECT_TRUE(pods.take_unresolved("m").empty());
  EXPECT_EQ(pods.take_unresolved("n"), std::set<std::string>{"a"});
  EXPECT_TRUE(pods.take_unresolved("n").empty());
}

TEST(PodCache, APodOfAnotherNamespaceIsNotNamed) {
  PodCache pods;
  pods.add("a", "ns/a");
  pods.add("b", "ns/b");
  pods.add("c", "other/c");
  const auto called = [&](const std::string& uid, const std::string& reader) {
    return pods.called({.uid = uid, .reader = reader});
  };
  EXPECT_EQ(called("a", "b"), "pod ns/a");
  EXPECT_EQ(called("c", "b"), "a pod of another namespace");
  EXPECT_EQ(called("gone", "b"), "a pod of another namespace");
  EXPECT_EQ(called("a", "gone"), "a pod of another namespace");
}

TEST(PodCache, WhatPreemptionHasToKnow) {
  auto pod = on_node("u", "n");
  pod.priority = 7;
  pod.has_priority = true;
  pod.created = "2026-01-02T03:04:05Z";
  PreemptionInfo preemption_info = preemption_info_of(pod);
  EXPECT_EQ(preemption_info.node, "n");
  EXPECT_EQ(preemption_info.priority, 7);
  EXPECT_TRUE(preemption_info.has_priority);
  EXPECT_FALSE(preemption_info.must_stay);
  EXPECT_EQ(preemption_info.created, 20260102030405);
  auto critical = pod;
  critical.priority = 2'000'000'000;
  EXPECT_TRUE(preemption_info_of(critical).must_stay);
  auto deleting = pod;
  deleting.deleting = true;
  EXPECT_TRUE(preemption_info_of(deleting).must_stay);
  auto daemon = pod;
  daemon.owner_kinds = {"ReplicaSet", "DaemonSet"};
  EXPECT_TRUE(preemption_info_of(daemon).must_stay);
  auto mirror = pod;
  mirror.annotations["kubernetes.io/config.mirror"] = "x";
  EXPECT_TRUE(preemption_info_of(mirror).must_stay);
}

}  // namespace
}  // namespace stowage::scheduler
