// For tests: nodes, pods and links in one line each, and helpers that drive an engine.
//
//   Engine engine = engine_with("binpack", {node("a").cards(2).memory_mib(16384),
//                                           node("b").cards(4).memory_mib(16384).slots(10)});
//   occupy(engine, "a", 0, {.milli = 500, .memory_mib = 8192});
//   place(engine, pod("p").gpus(1).milli(200)).text();             // "a 0"
//   place(engine, pod("q").gpus(2).container("side")).text();      // "b 0,1|-"
//   place(engine, pod("r").gpus(8)).text();                        // "none"
//
// Builders convert to NodeSpec, PodSpec and LinkMatrix wherever one is expected.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/check.h"
#include "core/engine/engine.h"

namespace stowage::core::testing {

// ---- links ------------------------------------------------------------------------------------

// The link matrix of a machine. Several links between one pair add up.
//   links(4).join(2 * link::kNvlink, {{0, 3}, {1, 2}}).rest(link::kCrossCpu)
class LinkBuilder {
 public:
  using Pair = std::pair<std::size_t, std::size_t>;

  explicit LinkBuilder(std::size_t cards)
      : matrix_{.cards = static_cast<std::int32_t>(cards),
                .score = std::vector<std::int32_t>(cards * cards)} {}

  LinkBuilder& join(std::int32_t score, std::initializer_list<Pair> pairs) {
    for (const auto& [a, b] : pairs) {
      at(a, b) += score;
      at(b, a) += score;
    }
    return *this;
  }
  // Every pair among these cards without a link.
  LinkBuilder& within(std::initializer_list<std::size_t> cards, std::int32_t score) {
    for (const std::size_t a : cards) {
      for (const std::size_t b : cards) {
        if (a != b && at(a, b) == link::kNone) at(a, b) = score;
      }
    }
    return *this;
  }
  // Every pair of the machine without a link.
  LinkBuilder& rest(std::int32_t score) {
    const auto cards = static_cast<std::size_t>(matrix_.cards);
    for (std::size_t a = 0; a < cards; ++a) {
      for (std::size_t b = 0; b < cards; ++b) {
        if (a != b && at(a, b) == link::kNone) at(a, b) = score;
      }
    }
    return *this;
  }
  operator LinkMatrix() const { return matrix_; }  // NOLINT(google-explicit-constructor)

 private:
  std::int32_t& at(std::size_t a, std::size_t b) {
    return matrix_.score[a * static_cast<std::size_t>(matrix_.cards) + b];
  }
  LinkMatrix matrix_;
};
inline LinkBuilder links(std::size_t cards) { return LinkBuilder(cards); }

// ---- nodes ------------------------------------------------------------------------------------

// A node with 110 pods, 128 CPUs and 1 TiB, and no cards yet. cards(n) adds n cards; the following
// calls apply to these n: node("a").cards(2).model("T4").cards(1).model("A100").memory_mib(81920)
class NodeBuilder {
 public:
  explicit NodeBuilder(std::string name) {
    node_.name = std::move(name);
    node_.allocatable = {.cpu_milli = 128000,
                         .memory_bytes = std::int64_t{1} << 40U,
                         .ephemeral_bytes = std::int64_t{1} << 40U,
                         .pods = 110};
  }

  // Healthy cards with 16384 MiB, no slot limit, and unknown model and NUMA node. Their ids are
  // "name/0", "name/1", ...
  NodeBuilder& cards(std::size_t count) {
    group_ = node_.cards.size();
    for (std::size_t i = 0; i < count; ++i) {
      const auto index = node_.cards.size();
      node_.cards.push_back({.id = node_.name + "/" + std::to_string(index),
                             .index = static_cast<std::int32_t>(index),
                             .memory_mib = 16384});
    }
    return *this;
  }
  NodeBuilder& memory_mib(std::int32_t mib) {
    return each([mib](Card& card) { card.memory_mib = mib; });
  }
  NodeBuilder& model(const std::string& name) {
    return each([&name](Card& card) { card.model = name; });
  }
  NodeBuilder& slots(std::int32_t places) {
    return each([places](Card& card) { card.slots = places; });
  }
  NodeBuilder& numa(std::int32_t numa_node) {
    return each([numa_node](Card& card) { card.numa = numa_node; });
  }
  NodeBuilder& unhealthy() {
    return each([](Card& card) { card.healthy = false; });
  }

  // These apply to the node.
  NodeBuilder& linked(LinkMatrix matrix) {
    node_.links = std::move(matrix);
    return *this;
  }
  NodeBuilder& cpu_milli(std::int64_t milli) {
    node_.allocatable.cpu_milli = milli;
    return *this;
  }
  NodeBuilder& memory_bytes(std::int64_t bytes) {
    node_.allocatable.memory_bytes = bytes;
    return *this;
  }
  NodeBuilder& pods(std::int64_t count) {
    node_.allocatable.pods = count;
    return *this;
  }
  NodeBuilder& extended(const std::string& resource, std::int64_t amount) {
    node_.allocatable.extended[resource] = amount;
    return *this;
  }
  NodeBuilder& rank(std::uint32_t order) {
    node_.rank = order;
    return *this;
  }
  NodeBuilder& cordoned() {
    node_.schedulable = false;
    return *this;
  }
  operator NodeSpec() const { return node_; }  // NOLINT(google-explicit-constructor)

 private:
  template <class Change>
  NodeBuilder& each(Change change) {
    for (std::size_t i = group_; i < node_.cards.size(); ++i) change(node_.cards[i]);
    return *this;
  }
  NodeSpec node_;
  std::size_t group_ = 0;  // first card of the last cards()
};
inline NodeBuilder node(std::string name) { return NodeBuilder(std::move(name)); }

// ---- pods -------------------------------------------------------------------------------------

// A pod whose uid is its name. Calls before the first container(), init() or sidecar() apply to a
// container "main". milli() and memory_mib() imply one card if no number is given.
class PodBuilder {
 public:
  explicit PodBuilder(std::string name) {
    pod_.uid = name;
    pod_.name = std::move(name);
  }

  PodBuilder& container(std::string name) { return begin(std::move(name), Phase::app); }
  PodBuilder& init(std::string name) { return begin(std::move(name), Phase::init); }
  PodBuilder& sidecar(std::string name) { return begin(std::move(name), Phase::sidecar); }

  PodBuilder& gpus(std::int32_t count) {
    return gpu([=](GpuRequest& ask) { ask.count = count; });
  }
  PodBuilder& milli(std::int32_t per_card) {
    return share([=](GpuRequest& ask) { ask.milli = per_card; });
  }
  PodBuilder& memory_mib(std::int32_t per_card) {
    return share([=](GpuRequest& ask) { ask.memory_mib = per_card; });
  }
  PodBuilder& whole_memory() { return memory_mib(kWholeMemory); }
  PodBuilder& ask(const GpuRequest& wanted) {
    return gpu([&](GpuRequest& ask) { ask = wanted; });
  }
  PodBuilder& topology(Topology wish) {
    return gpu([=](GpuRequest& ask) { ask.topology = wish; });
  }
  PodBuilder& filter(const CardFilter& accepted) {
    return gpu([&](GpuRequest& ask) { ask.filter = accepted; });
  }
  PodBuilder& model(const std::string& name) {
    return gpu([&](GpuRequest& ask) { ask.filter.models_any.push_back(name); });
  }
  PodBuilder& card_id(const std::string& id) {
    return gpu([&](GpuRequest& ask) { ask.filter.ids_any.push_back(id); });
  }

  PodBuilder& cpu_milli(std::int64_t milli) {
    current().resources.cpu_milli = milli;
    return *this;
  }
  PodBuilder& memory_bytes(std::int64_t bytes) {
    current().resources.memory_bytes = bytes;
    return *this;
  }
  PodBuilder& extended(const std::string& resource, std::int64_t amount) {
    current().resources.extended[resource] = amount;
    return *this;
  }

  // These apply to the pod.
  PodBuilder& uid(std::string text) {
    pod_.uid = std::move(text);
    return *this;
  }
  PodBuilder& priority(std::int32_t value) {
    pod_.priority = value;
    return *this;
  }
  [[nodiscard]] std::size_t size() const { return pod_.containers.size(); }
  operator PodSpec() const { return pod_; }  // NOLINT(google-explicit-constructor)

 private:
  PodBuilder& begin(std::string name, Phase phase) {
    pod_.containers.push_back({.name = std::move(name), .phase = phase});
    return *this;
  }
  ContainerSpec& current() {
    if (pod_.containers.empty()) begin("main", Phase::app);
    return pod_.containers.back();
  }
  template <class Change>
  PodBuilder& gpu(Change change) {
    change(current().gpu);
    return *this;
  }
  template <class Change>
  PodBuilder& share(Change change) {
    GpuRequest& ask = current().gpu;
    if (ask.count == 0) ask.count = 1;
    change(ask);
    return *this;
  }
  PodSpec pod_;
};
inline PodBuilder pod(std::string name) { return PodBuilder(std::move(name)); }

// ---- driving an engine ------------------------------------------------------------------------

// The outcome for a pod.
struct Placed {
  std::string node;                               // empty: not placed
  std::vector<std::vector<std::uint32_t>> cards;  // of each container, ascending
  Assignment assignment;
  std::optional<Refusal> refusal;
  std::string rejected;  // the engine's message if it rejects the pod

  [[nodiscard]] bool placed() const { return !node.empty(); }
  // "a 0,1|-": on node a, the first container on cards 0 and 1, the second without a card. A pod
  // that is not placed is "none", a rejected one "rejected".
  [[nodiscard]] std::string text() const {
    if (!rejected.empty()) return "rejected";
    if (!placed()) return "none";
    return node + " " + cards_text();
  }
  [[nodiscard]] std::string cards_text() const {
    if (!placed()) return "none";
    std::string text;
    for (std::size_t i = 0; i < cards.size(); ++i) {
      if (i > 0) text += '|';
      if (cards[i].empty()) text += '-';
      for (std::size_t k = 0; k < cards[i].size(); ++k) {
        if (k > 0) text += ',';
        text += std::to_string(cards[i][k]);
      }
    }
    return text;
  }
};

// Requires: validate(spec).
inline void add(Engine& engine, const NodeSpec& spec) {
  STOWAGE_CHECK(validate(spec).has_value());
  (void)engine.handle(NodeChanged{spec}, base::Instant{});
}
inline void end(Engine& engine, const std::string& uid) {
  (void)engine.handle(PodGone{uid}, base::Instant{});
}

inline Engine engine_with(PolicyOptions options, const std::vector<NodeSpec>& nodes = {}) {
  Engine engine(std::move(options));
  for (const auto& spec : nodes) add(engine, spec);
  return engine;
}
// Requires a policy as parse_policy() reads it: "binpack", "most-used/first".
inline PolicyOptions policy(std::string_view name) {
  const auto choice = parse_policy(name);
  STOWAGE_CHECK(choice.has_value());
  return {.choice = *choice};
}
// The same, with slots, memory and compute weighted by the pod's request.
inline PolicyOptions weighted(std::string_view name) {
  PolicyOptions options = policy(name);
  options.profile_weights = true;
  return options;
}
inline Engine engine_with(std::string_view name, const std::vector<NodeSpec>& nodes = {}) {
  return engine_with(policy(name), nodes);
}

// Converts cards to ids by their positions on a node of the engine. Requires: the node has them.
inline NamedAssignment named(const Engine& engine, const std::string& node_name,
                             const Assignment& cards) {
  return by_id(cards, engine.ledger().nodes().spec(engine.ledger().nodes().find(node_name)));
}
inline Assignment on_node(const Engine& engine, const std::string& node_name,
                          const NamedAssignment& cards) {
  const auto at =
      by_position(cards, engine.ledger().nodes().spec(engine.ledger().nodes().find(node_name)));
  STOWAGE_CHECK(at.has_value());
  return *at;
}
// The same for a node that need not exist: ids as node() generates them.
inline NamedAssignment named(const std::string& node_name, const Assignment& cards) {
  NamedAssignment out;
  for (const auto& container : cards.containers) {
    auto& shares = out.containers.emplace_back();
    for (const auto& share : container) {
      shares.push_back({.card = node_name + "/" + std::to_string(share.card),
                        .milli = share.milli,
                        .memory_mib = share.memory_mib});
    }
  }
  return out;
}

// Offers the pod and confirms the bind. A pod that is not placed is removed, so that it does not
// appear later. Drive the engine directly if parked pods matter.
inline Placed place(Engine& engine, const PodSpec& spec) {
  Placed result;
  for (const auto& command : engine.handle(PodPending{spec}, base::Instant{})) {
    if (const auto* bind = std::get_if<Bind>(&command); bind != nullptr && bind->uid == spec.uid) {
      result.node = bind->node;
      result.assignment = on_node(engine, bind->node, bind->cards);
      for (const auto& container : result.assignment.containers) {
        auto& cards = result.cards.emplace_back();
        for (const auto& share : container) cards.push_back(share.card);
      }
    } else if (const auto* refuse = std::get_if<Refuse>(&command); refuse != nullptr) {
      result.refusal = refuse->refusal;
    } else if (const auto* reject = std::get_if<Reject>(&command); reject != nullptr) {
      result.rejected = reject->why;
    }
  }
  if (result.placed()) {
    (void)engine.handle(BindDone{spec.uid}, base::Instant{});
  } else {
    end(engine, spec.uid);
  }
  return result;
}

// A share of one card in use.
struct Use {
  std::int32_t milli = 0;
  std::int32_t memory_mib = 0;
  std::int32_t slots = 1;
};

// Adds a pod of another scheduler that holds this much of the card; returns its uid. `use.slots` is
// the number of its containers; the first one has all the rest.
inline std::string occupy(Engine& engine, const std::string& node_name, std::uint32_t card,
                          const Use& use) {
  std::size_t number = engine.ledger().pods().count();
  std::string uid;
  do {
    uid = "held-" + std::to_string(number++);
  } while (engine.ledger().pods().find(uid).valid());
  PodBuilder holder = pod(uid);
  Assignment cards;
  for (std::int32_t i = 0; i < use.slots; ++i) {
    CardShare share{.card = card};
    if (i == 0) share = {.card = card, .milli = use.milli, .memory_mib = use.memory_mib};
    // A request is never empty, even if nothing is charged.
    const bool something = share.milli > 0 || share.memory_mib > 0;
    holder.container("c" + std::to_string(i)).memory_mib(something ? share.memory_mib : 1);
    if (share.milli > 0) holder.milli(share.milli);
    cards.containers.push_back({share});
  }
  const PodSeenBound event{
      .pod = holder, .node = node_name, .cards = named(engine, node_name, cards)};
  STOWAGE_CHECK(engine.handle(event, base::Instant{}).empty());  // the engine accepts it
  return uid;
}

// The charges on the node's cards, "percent/MiB" each: "30/4 0/0". Requires: no debt.
inline std::string use_of(const Engine& engine, const std::string& node_name) {
  const Ledger& ledger = engine.ledger();
  const NodeIndex index = ledger.nodes().find(node_name);
  std::string text;
  for (std::size_t i = 0; i < ledger.nodes().cards(index).size(); ++i) {
    const CardState& free = ledger.nodes().cards(index)[i];
    if (i > 0) text += ' ';
    text += std::to_string((kMilliPerCard - free.milli_free) / 10) + "/" +
            std::to_string(ledger.nodes().spec(index).cards[i].memory_mib - free.memory_free_mib);
  }
  return text;
}

// The nodes that refuse the pod, in node order, as "a c".
inline std::string refusing(Engine& engine, const PodSpec& spec) {
  std::string names;
  for (const auto& verdict : engine.explain(spec)) {
    if (verdict.reason.code == ReasonCode::none) continue;
    names += (names.empty() ? "" : " ") + verdict.node;
  }
  return names;
}

// The nodes that would take the pod, best first, as "c a b". Does not change the ledger.
inline std::string node_order(Engine& engine, const PodSpec& spec) {
  std::string order;
  std::vector<NodeSpec> tried;
  for (Placed placed = place(engine, spec); placed.placed(); placed = place(engine, spec)) {
    end(engine, spec.uid);
    order += (order.empty() ? "" : " ") + placed.node;
    tried.push_back(engine.ledger().nodes().spec(engine.ledger().nodes().find(placed.node)));
    NodeSpec closed = tried.back();
    closed.schedulable = false;
    add(engine, closed);
  }
  for (const auto& spec_before : tried) add(engine, spec_before);
  return order;
}

// The time this many seconds after the start.
[[nodiscard]] inline base::Instant at(std::int64_t seconds) { return {seconds * 1'000'000'000}; }

}  // namespace stowage::core::testing
