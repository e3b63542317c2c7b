// Finds pods that wait although they fit: checked at the end, when all is calm.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "recount.h"
#include "rule_checks.h"

namespace stowage::faults {
namespace {

struct Use {
  std::int64_t milli = 0;
  std::int64_t memory = 0;
  std::int64_t users = 0;
};

struct Place {  // a node and its use
  const NodeView* node = nullptr;
  std::map<std::string, Use> used;  // by card
  Amounts taken;                    // of what it offers
  bool unclear = false;             // a pod there has unnamed cards
};

Place read_place(const Truth& truth, const NodeView& node,
                 const std::vector<const PodView*>& pods) {
  Place place{.node = &node};
  for (const PodView* pod : pods) {
    if (pod->node != node.name || pod->ended()) continue;
    if (!cards_known(truth, *pod, node)) place.unclear = true;
    for (const auto& [resource, amount] : pod->asks) place.taken[resource] += amount;
    for (const Share& share : pod->shares) {
      Use& use = place.used[share.card];
      use.milli += share.milli;
      use.memory += share.memory_mib;
      ++use.users;
    }
  }
  return place;
}

bool cards_fit(const PodShape& shape, Place& place) {
  const auto& cards = place.node->cards;
  const auto fits = std::count_if(cards.begin(), cards.end(), [&](const CardView& card) {
    const Use use = place.used[card.id];
    if (!card.healthy) return false;
    if (shape.whole()) return use.users == 0;
    return use.milli + 10L * shape.percent <= 1000 &&
           use.memory + shape.memory_mib <= card.memory_mib &&
           (card.slots == 0 || use.users < card.slots);
  });
  return fits >= shape.cards;
}

// What the kubelet and kube-scheduler check.
bool devices_fit(const PodView& pod, const Place& place) {
  return std::all_of(pod.asks.begin(), pod.asks.end(), [&](const auto& ask) {
    const auto offered = place.node->offers.find(ask.first);
    if (offered == place.node->offers.end()) return ask.first.starts_with("stowage.dev/");
    const auto taken = place.taken.find(ask.first);
    return ask.second + (taken == place.taken.end() ? 0 : taken->second) <= offered->second;
  });
}

// The volume of its claim exists, on another node.
bool volume_elsewhere(const Truth& truth, const PodView& pod, const std::string& node) {
  const local::ObjectPtr claim =
      truth.store.get(local::Kind::persistent_volume_claim, {pod.name.ns, claim_name(pod.number)});
  if (claim == nullptr) return false;
  const json::object tree = claim->tree();
  const local::ObjectPtr volume = truth.store.get(
      local::Kind::persistent_volume, {"", std::string(local::text_at(tree, "spec.volumeName"))});
  return volume != nullptr && volume->bytes.find("\"" + node + "\"") == std::string::npos;
}

// A scheduler handles it, and its request can be satisfied.
bool may_hope(const PodShape& shape) {
  if (shape.listener == Listener::other || shape.listener == Listener::nobody) return false;
  return shape.asks != Asks::mixed && shape.excess == Excess::none &&
         shape.rule != Rule::together && shape.rule != Rule::spread;
}

}  // namespace

Waiting waits_in_vain(const Truth& truth) {
  const std::vector<const PodView*> pods = truth.views.pods();
  const std::vector<const NodeView*> nodes = truth.views.nodes();
  for (const NodeView* node : nodes) {
    if (node->cordoned) continue;
    Place place = read_place(truth, *node, pods);
    if (place.unclear) continue;
    bool untrusted = false;
    std::string kept_for;  // nominated capacity of another pod
    for (const PodView* pod : pods) {
      if (!pod->node.empty() || pod->ended()) continue;
      if (shape_of(truth.plan, pod->number).pre_allocated_node == pod_number(node->name) + 1) {
        untrusted = true;
      }
      if (pod->nominated == node->name) kept_for = pod->uid;
    }
    for (const PodView* pod : pods) {
      const PodShape shape = shape_of(truth.plan, pod->number);
      if (!pod->node.empty() || pod->ended() || pod->deleting || !may_hope(shape)) continue;
      if (!kept_for.empty() && kept_for != pod->uid) continue;
      if (!cards_fit(shape, place) || !devices_fit(*pod, place)) continue;
      if (shape.claim && volume_elsewhere(truth, *pod, node->name)) continue;
      PodView there = *pod;
      there.node = node->name;
      const RuleRequest ask{.pod = there, .pods = pods, .nodes = nodes};
      if (!broken_rule(ask, [](const PodView&) { return true; }).empty()) continue;
      return {.why = fmt::format("pod {} of {} waits, but {} has room for it", pod->name.name,
                                 pod->scheduler, node->name),
              .untrusted = untrusted};
    }
  }
  return {};
}

}  // namespace stowage::faults
