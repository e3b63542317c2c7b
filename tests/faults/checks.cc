#include "checks.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "card_sums.h"
#include "dialect/own_annotations.h"
#include "local/call.h"
#include "rule_checks.h"

namespace stowage::faults {
namespace {

constexpr std::uint64_t kPrime = 0x100000001b3ULL;
// Capacity for a pod that others nominate is kept for 120 s (replica.cc).
constexpr std::chrono::seconds kNominationCounts{110};
constexpr std::chrono::seconds kNominationBegins{30};  // time until a nomination must be respected

void mix(std::uint64_t& digest, std::string_view head, std::string_view body,
         std::string_view tail) {
  for (const std::string_view text : {head, body, tail}) {
    for (const char c : text) digest = (digest ^ static_cast<unsigned char>(c)) * kPrime;
  }
}

// JSON without the values of fields that are texts for people, and reasons.
std::string without_texts(std::string_view json) {
  std::string kept;
  while (!json.empty()) {
    std::size_t at = std::string_view::npos;
    for (const std::string_view key : {R"("message":")", R"("reason":")"}) {
      const std::size_t found = json.find(key);
      if (found != std::string_view::npos) at = std::min(at, found + key.size());
    }
    if (at == std::string_view::npos) break;
    kept += json.substr(0, at);
    while (at < json.size() && json[at] != '"') at += json[at] == '\\' ? 2U : 1U;
    json.remove_prefix(std::min(at, json.size()));
  }
  kept += json;
  return kept;
}

}  // namespace

void Checks::violate(std::string_view kind, const std::string& what) {
  if (!violation_.empty()) return;
  violation_ = fmt::format("{}: after {:.3f} s: {}", kind,
                           std::chrono::duration<double>(side_.world().elapsed()).count(), what);
}

void Checks::acted(const ApiSide::Acted& acted) {
  ++counts_.calls;
  const std::string head = acted.sender + acted.request.method + acted.request.target;
  const std::string tail =
      fmt::format("{}{}", acted.response.status, side_.world().elapsed().count());
  mix(digest_, head, acted.request.body, tail);
  // The rate limits of Events depend on their texts.
  if (acted.request.target.find("/events") == std::string::npos) {
    mix(textless_digest_, head, without_texts(acted.request.body), tail);
  }
  const std::string& method = acted.request.method;
  if (method == "GET" || acted.response.status < 200 || acted.response.status > 299) return;
  const auto call = local::parse_call(acted.request);
  if (!call || call->resource == nullptr) return;
  const local::Kind kind = call->resource->kind_id;
  if (kind == local::Kind::pod && method == "POST" && call->subresource == "binding") {
    bound(acted.sender, call->object());
  } else if (kind == local::Kind::pod && method == "PATCH" &&
             acted.request.body.find(dialect::kSignatureAnnotation) != std::string::npos) {
    check_lease(acted.sender, call->object().name);
  } else if (kind == local::Kind::pod && method == "DELETE") {
    removed(acted.sender, call->object());
  } else if (kind == local::Kind::lease) {
    const local::ObjectPtr lease = side_.store().get(kind, {"kube-system", "stowage"});
    if (lease != nullptr) leadership_.written(*lease, method == "POST");
  } else if (kind == local::Kind::persistent_volume_claim && method == "PATCH") {
    // A node was chosen for the pod of this claim.
    const std::uint32_t number = pod_number(call->object().name);
    const local::ObjectPtr pod = side_.store().get(local::Kind::pod, pod_name(plan_, number));
    if (pod != nullptr) witness_.decided(pod->uid, acted.sender);
  }
}

void Checks::bound(const std::string& sender, const local::ObjectName& name) {
  const PodView pod = view_of(*side_.store().get(local::Kind::pod, name));
  if (!bound_.insert(pod.uid).second) violate("bound twice", fmt::format("pod {}", name.name));
  const PodShape shape = shape_of(plan_, pod.number);
  if (sender.starts_with("replica")) {
    ++counts_.bound;
    check_lease(sender, pod.name.name);
    const bool named = !pod.shares.empty() && pod.cards_node == pod.node;
    if ((!named && shape.asks != Asks::devices) || !is_what_it_asks(shape, pod.shares)) {
      violate("bound without its cards", fmt::format("{} bound pod {} to {} with the cards {}",
                                                     sender, name.name, pod.node, pod.cards_text));
    }
  } else if (shape.listener == Listener::pre_allocation && pod.cards_node == pod.node &&
             !pod.shares.empty()) {
    ++counts_.pre_allocated;
  } else if (shape.listener != Listener::count) {
    witness_.disturbed(pod.node);
    return;
  }
  Gift gift{.by = sender, .known_until = witness_.known_until(sender, pod.uid)};
  gifts_[pod.uid] = gift;
  judge(gift, pod);
}

void Checks::judge(const Gift& gift, const PodView& pod) {
  check_cards(pod);
  check_number(gift, pod);
  if (gift.by.starts_with("replica")) check_nominations(gift, pod);
  std::vector<const PodView*> known;  // pods that the bind must take into account
  for (const PodView* each : views_.pods()) {
    if (each->node.empty() || each->ended()) continue;
    if (gifts_.contains(each->uid) || !witness_.disturbed_since(each->node, gift.known_until)) {
      known.push_back(each);
    }
  }
  if (std::string why = quotas_.exceeded(pod, known, gift.known_until); !why.empty()) {
    violate("quota exceeded", why);
  }
  if (!gift.by.starts_with("replica")) return;
  const std::vector<const PodView*> pods = views_.pods();
  const std::vector<const NodeView*> nodes = views_.nodes();
  const RuleRequest ask{.pod = pod,
                        .pods = pods,
                        .nodes = nodes,
                        .steady = !witness_.changed_since(pod.app, gift.known_until) &&
                                  !witness_.changed_since("", gift.known_until)};
  if (std::string why = broken_rule(ask,
                                    [&](const PodView& other) {
                                      return gifts_.contains(other.uid) ||
                                             !witness_.disturbed_since(other.node,
                                                                       gift.known_until);
                                    });
      !why.empty()) {
    violate("rule between pods broken", fmt::format("{} by {}", why, gift.by));
  }
}

// Under the assumptions of api_side.h, nothing that a leader sent is acted on after its term.
void Checks::check_lease(const std::string& sender, const std::string& pod) {
  const std::string why = leadership_.forbids(sender);
  if (why.empty()) return;
  violate("two leaders",
          fmt::format("pod {} is bound or gets its cards by {}: {}", pod, sender, why));
}

void Checks::check_cards(const PodView& pod) {
  check_indexes(pod);
  for (const Share& share : pod.shares) check_card(pod, share.card);
}

// Agents of the older systems use the index. A card keeps its index wherever it is listed.
void Checks::check_indexes(const PodView& pod) {
  const local::ObjectPtr object = side_.store().get(local::Kind::node, {"", pod.node});
  if (pod.indexes.empty() || object == nullptr) return;
  const std::string list = "," + pod.indexes + ",";
  const NodeView node = view_of(plan_, *object);
  if (node.renumbered) return;  // it may have been pre-allocated before
  for (const CardView& card : node.cards) {
    const bool by_id = std::any_of(pod.shares.begin(), pod.shares.end(),
                                   [&](const Share& share) { return share.card == card.id; });
    const bool by_index = list.find(fmt::format(",{},", card.index)) != std::string::npos;
    if (!by_id || by_index) continue;
    violate("two answers differ", fmt::format("pod {} on {} has {} and the indexes {}",
                                              pod.name.name, pod.node, card.id, pod.indexes));
  }
}

void Checks::check_card(const PodView& newest, const std::string& card) {
  const NodeShape shape = node_shape(plan_, pod_number(newest.node));
  std::int64_t milli = 0;
  std::int64_t memory = 0;
  std::int64_t users = 0;
  std::string who;
  for (const PodView* pod : views_.pods()) {
    const auto gift = gifts_.find(pod->uid);
    if (gift == gifts_.end() || edited_.contains(pod->uid) || pod->ended()) continue;
    if (pod->node != newest.node || pod->cards_node != newest.node) continue;
    for (const Share& share : pod->shares) {
      if (share.card != card) continue;
      milli += share.milli;
      memory += share.memory_mib;
      ++users;
      who += fmt::format(" {} ({} milli, {} MiB, by {})", pod->name.name, share.milli,
                         share.memory_mib, gift->second.by);
    }
  }
  const bool shared = shape.inventory && shape.slots > 0;
  if (milli > 1000 || memory > shape.memory_mib || (shared && users > shape.slots)) {
    violate("two pods on one card", fmt::format("card {} of {}:{}", card, newest.node, who));
  }
}

// For all kinds of requests and all sources of cards: the smallest number of cards that the pods of
// a counted node can have.
void Checks::check_number(const Gift& gift, const PodView& pod) {
  const local::ObjectPtr object = side_.store().get(local::Kind::node, {"", pod.node});
  if (object == nullptr) return;
  const NodeView node = view_of(plan_, *object);
  if (!node.counted || witness_.disturbed_since(pod.node, gift.known_until)) return;
  CardSums before(node);
  CardSums after(node);
  std::string who;
  const auto add = [&](CardSums& sum, const PodView& each) {
    if (each.devices() > 0) {
      sum.add_devices(each.devices());
    } else if (each.shares.empty() || edited_.contains(each.uid)) {
      sum.add_unnamed(shape_of(plan_, each.number).cards);
    } else {
      sum.add_named(each);
    }
  };
  for (const PodView* each : views_.pods()) {
    if (each->node != pod.node || each->ended()) continue;
    add(after, *each);
    if (each->uid != pod.uid) add(before, *each);
    who += fmt::format(" {} ({}{}", each->name.name, each->devices() > 0 ? "devices, " : "",
                       shape_of(plan_, each->number).cards);
    for (const Share& share : each->shares) {
      who += fmt::format(", {} {} milli {} MiB", share.card, share.milli, share.memory_mib);
    }
    who += ')';
  }
  // The kubelet refuses such a pod.
  if (pod.devices() > 0 && after.devices() > std::ssize(node.cards)) return;
  // A share of a card that is already in use makes no difference.
  if (after.cards() <= std::ssize(node.cards) || after.cards() == before.cards()) return;
  violate("more cards than the node has",
          fmt::format("{} was bound to {} by {}: its pods have {} cards of {}:{}", pod.name.name,
                      pod.node, gift.by, after.cards(), node.cards.size(), who));
}

void Checks::refused(const PodView& pod, const std::string& resource) {
  const auto gift = gifts_.find(pod.uid);
  if (gift == gifts_.end() || witness_.disturbed_since(pod.node, gift->second.known_until)) return;
  violate("kubelet refused", fmt::format("pod {} on {} for want of {}; it was bound by {}",
                                         pod.name.name, pod.node, resource, gift->second.by));
}

// Whichever scheduler nominates a pod for a node: free capacity there is kept for it against pods
// of no higher priority.
void Checks::check_nominations(const Gift& gift, const PodView& pod) {
  if (pod.devices() == 0) return;
  const std::vector<const PodView*> pods = views_.pods();
  std::int64_t taken = 0;
  std::int64_t kept = 0;
  std::string who;
  for (const PodView* each : pods) {
    if (each->ended()) continue;
    if (each->node == pod.node) taken += each->devices();
    const auto since = nominated_.find(each->uid);
    if (since == nominated_.end() || since->second >= gift.known_until ||
        since->second + kNominationCounts < side_.world().now() ||
        witness_.resized_since(pod.node, since->second - kNominationBegins)) {
      continue;
    }
    if (each->nominated != pod.node || !each->node.empty() || each->priority < pod.priority) {
      continue;
    }
    kept += each->devices();
    who += " " + each->name.name;
  }
  const local::ObjectPtr object = side_.store().get(local::Kind::node, {"", pod.node});
  if (kept == 0 || object == nullptr) return;
  const std::int64_t offered = view_of(plan_, *object).offers["nvidia.com/gpu"];
  if (kept > offered || taken + kept <= offered) return;
  violate(
      "room of a nominated pod taken",
      fmt::format("{} was bound to {} by {}: {} cards are taken, {} are pre-allocated to{}, and it "
                  "has {}",
                  pod.name.name, pod.node, gift.by, taken, kept, who, offered));
}

void Checks::removed(const std::string& sender, const local::ObjectName& name) {
  if (!sender.starts_with("replica")) return;
  evictions_.push_back(side_.world().now());
  const local::ObjectPtr pod = side_.store().get(local::Kind::pod, name);
  if (pod == nullptr) return;
  const json::object tree = pod->tree();
  const json::array* conditions = local::array_at(tree, "status.conditions");
  std::string why = "preempted, it seems: the condition could not be written";
  for (const json::value& each : conditions == nullptr ? json::array() : *conditions) {
    const json::object& condition = each.get_object();
    if (local::text_at(condition, "type") != "DisruptionTarget") continue;
    why = local::text_at(condition, "message");
  }
  if (why.find("preempt") != std::string::npos) return;
  // A pod that lied about its cards may be evicted.
  if (shape_of(plan_, pod_number(name.name)).born_on != 0) return;
  // If a user has edited the cards of a pod, it is undefined which pod is right.
  for (const PodView* each : views_.pods()) {
    const bool edited = edited_.contains(each->uid) && shape_of(plan_, each->number).born_on == 0;
    if (edited && each->node == pod->field("spec.nodeName") && !each->ended()) return;
  }
  violate("innocent evicted", fmt::format("{} deleted pod {}: {}", sender, name.name, why));
}

}  // namespace stowage::faults
