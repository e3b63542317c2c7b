// A cluster cache that can be restarted, and pods as our replicas write them.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "dialect/dialect.h"
#include "kube/testing/fixed_keys.h"
#include "scheduler/cluster_cache.h"

namespace stowage::scheduler::testing {

inline constexpr std::int64_t kSecond = 1'000'000'000;
inline constexpr std::int64_t kBegan = 1'000'000;  // 1970-01-12T13:46:40Z
inline constexpr std::int64_t kUnixNow = (kBegan + 3600) * kSecond;
inline constexpr const char* kBefore = "1970-01-12T13:46:00Z";
inline constexpr const char* kAfter = "1970-01-12T13:48:00Z";
inline const core::NodeSpec kNode{.name = "n",
                                  .cards = {{.id = "n/0", .index = 0},
                                            {.id = "n/1", .index = 1},
                                            {.id = "n/2", .index = 2},
                                            {.id = "n/3", .index = 3}}};

inline dialect::NodeObject node_with_gpus(const char* gpus = "4") {
  dialect::NodeObject node;
  node.name = "n";
  node.uid = "uid-n";
  node.allocatable = {{"pods", *base::Quantity::parse("110")},
                      {"nvidia.com/gpu", *base::Quantity::parse(gpus)}};
  node.capacity = node.allocatable;
  return node;
}

// With the cards of these ids, in this order.
inline dialect::NodeObject node_with(const std::vector<std::string>& ids) {
  dialect::NodeObject node = node_with_gpus();
  std::vector<core::Card> cards;
  for (const std::string& id : ids) {
    cards.push_back({.id = id, .index = static_cast<std::int32_t>(cards.size())});
  }
  node.annotations[std::string(dialect::kInventoryAnnotation)] = dialect::inventory_text(cards, {});
  return node;
}

inline std::string cards_text(const core::Event& event) {
  if (const auto* e = std::get_if<core::PodSeenBound>(&event)) {
    const bool named = e->cards && core::names_cards(*e->cards);
    return e->pod.uid + (named ? " has cards;" : " unknown;");
  }
  if (const auto* e = std::get_if<core::PodHeld>(&event)) return e->pod.uid + " held;";
  return {};
}

// Node, card and age in seconds of a pre-allocation.
inline std::string held_text(const core::PodHeld& held) {
  std::string text = held.node + " ";
  for (const auto& shares : held.cards.containers) {
    for (const auto& share : shares) text += share.card + " ";
  }
  return text + std::to_string((kUnixNow - held.made) / kSecond) + ";";
}

// State that outlives restarts of the cluster cache.
class ClusterCacheProofTest : public ::testing::Test {
 protected:
  ClusterCacheProofTest() { restart(); }

  void restart() {
    cluster_cache_ = std::make_unique<ClusterCache>(
        built_in_profiles(), event_queue_,
        [this](const Notice& notice) { notices_.push_back(notice); },
        ClusterCache::Clock{.unix_nanos = [this] { return now_; },
                            .now = [] { return base::Instant{}; }});
    EXPECT_FALSE(cluster_cache_->use_keys(keys_));
    cluster_cache_->signatures().on_unknown_key([this] { ++unknown_keys_; });
    cluster_cache_->pre_allocations().enable_pre_allocations(0, std::chrono::seconds{660});
    cluster_cache_->upsert_node(node_with_gpus());
    cluster_cache_->stand_down();
    (void)events();
  }

  // As a replica of ours writes it. Without a purpose: as version 0.1.0 did.
  dialect::PodObject decided(const std::string& name, std::optional<dialect::Purpose> purpose,
                             std::int64_t at = kUnixNow - 10 * kSecond) {
    dialect::PodObject pod;
    pod.ns = "ns";
    pod.name = pod.uid = name;
    pod.resource_version = "1";
    pod.scheduler = "default-scheduler";
    pod.phase = "Pending";
    pod.created = kAfter;
    dialect::ContainerObject container{.name = "main"};
    container.limits = {{"tencent.com/vcuda-core", *base::Quantity::parse("100")}};
    container.requests = container.limits;
    pod.containers = {container};
    dialect::Answer answer =
        dialect::answer({.object = pod,
                         .pod = *dialect::to_spec(pod, {}),
                         .node = kNode,
                         .cards = {.containers = {{{.card = 2, .milli = 1000}}}},
                         .unix_nanos = at});
    if (purpose) {
      kube::seal(*keys_, {.object = pod, .node = "n", .purpose = *purpose, .unix_nanos = at},
                 answer.annotations);
    }
    pod.annotations = answer.annotations;
    return pod;
  }
  dialect::PodObject bound(const std::string& name, std::optional<dialect::Purpose> purpose) {
    auto pod = decided(name, purpose);
    pod.node = "n";
    pod.scheduled_since = kAfter;
    return pod;
  }
  static void edit(dialect::PodObject& pod) {
    std::string& text = pod.annotations.at("stowage.dev/gpus");
    const auto at = text.find("n/2");
    ASSERT_NE(at, std::string::npos) << text;
    text.replace(at, 3, "n/1");
    const auto index = text.find("\"index\":2");
    ASSERT_NE(index, std::string::npos) << text;
    text.replace(index, 9, "\"index\":1");
  }

  // Like an informer: a pod that the list does not contain is deleted.
  void see(const std::vector<dialect::PodObject>& pods) {
    std::set<std::string> lost = std::exchange(listed_, {});
    cluster_cache_->begin_pods();
    for (const auto& pod : pods) {
      cluster_cache_->upsert_pod(pod);
      listed_.insert(pod.uid);
      lost.erase(pod.uid);
    }
    cluster_cache_->end_pods();
    for (const std::string& uid : lost) cluster_cache_->remove_pod(uid);
  }
  std::string list(const std::vector<dialect::PodObject>& pods) {
    see(pods);
    cluster_cache_->pre_allocations().lead();
    return events();
  }
  std::string events() {
    const auto taken = event_queue_.take_now(1000);
    std::string text;
    held_.clear();
    for (const auto& message : *taken) {
      const auto& event = std::get<core::Event>(message);
      text += cards_text(event);
      if (const auto* held = std::get_if<core::PodHeld>(&event)) held_ += held_text(*held);
    }
    return text;
  }
  std::string untrusted() {
    std::string text;
    for (const Notice& notice : notices_) {
      if (notice.kind == Notice::Kind::untrusted) text += notice.name + ";";
    }
    notices_.clear();
    return text;
  }

  kube::Keys keys_ = kube::testing::keys_from_seed("ours", kBegan);
  std::int64_t now_ = kUnixNow;
  std::vector<Notice> notices_;
  int unknown_keys_ = 0;
  std::set<std::string> listed_;  // uids
  std::string held_;
  EventQueue event_queue_;
  std::unique_ptr<ClusterCache> cluster_cache_;
};

}  // namespace stowage::scheduler::testing
