// The ledger: every card of the cluster, and who holds which share of it. The one owner of that
// truth; pods that arrive by different doors are charged here and nowhere else.
//
//   reserve -> confirm -> release          the road of a pod that we place
//   seen_bound -> release                  a pod placed by someone else, with or without cards
//   named
//
// Exact integers. Nothing that others do can break it: a pod on a node we do not know, cards that
// vanish under a pod, or more pods on a card than it holds (debt) are states, not errors. A charge
// on a card that vanished waits for the card to return. Where cards are only counted
// ("node/index"), nobody knows which of them vanished, nor which of them has the name that the
// charge knows: until then the charge counts like that of a pod whose cards nobody has named.
// Reservations of our own never exceed what is free: that is checked on every call.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>  // lookup only
#include <vector>

#include "core/ledger/names.h"
#include "core/ledger/state.h"
#include "core/ledger/survey.h"
#include "core/model/ids.h"
#include "core/model/node.h"
#include "core/model/pod.h"
#include "core/place/footprint.h"

namespace stowage::core {

// Nodes that are alike when empty: same cards (model, memory), and CPU and memory to within half a
// core and 4 GiB, rounded down.
struct NodeClass {
  std::vector<std::uint16_t> models;  // per card, sorted
  std::vector<std::int32_t> memory_mib;
  std::int64_t cpu_milli = 0;
  std::int64_t memory_bytes = 0;
  auto operator<=>(const NodeClass&) const = default;
};

enum class PodState : std::uint8_t {
  reserved,
  bound,
  bound_cards_unknown,
  room,  // no pod: what is kept for one that waits for more of it (keep_room)
};

// A charge on a card that its node does not show, with what was known about the card.
struct LostCharge {
  std::string id;           // empty: nobody knows it
  std::int32_t index = -1;  // -1: nobody knows it
  bool seen = false;        // the node has shown it: these two are known
  std::string model;
  std::int32_t memory_mib = 0;  // of the card
  CardCharge charge;            // its position is 0
  friend bool operator==(const LostCharge&, const LostCharge&) = default;
};

// What one container asks of cards, where nobody says which ones it has.
struct UnnamedAsk {
  Phase phase = Phase::app;
  std::int32_t count = 0;
  std::optional<std::int32_t> milli;  // these two as in GpuAsk
  std::optional<std::int32_t> memory_mib;

  [[nodiscard]] bool whole() const {
    return GpuAsk{.milli = milli, .memory_mib = memory_mib}.whole();
  }
  friend bool operator==(const UnnamedAsk&, const UnnamedAsk&) = default;
};

// What a pod may be using of a node's cards, though nobody says of which ones. Containers count by
// their phase (see footprint.h).
struct UnnamedUse {
  CardCharge most;                // of any one card, by its shares
  std::int32_t with_core = 0;     // of most.milli: by shares whose memory goes with their compute
  std::int32_t shared = 0;        // cards of which it has a share
  std::int32_t shared_milli = 0;  // of all of them together
  std::int32_t whole = 0;         // cards that it has whole
  friend bool operator==(const UnnamedUse&, const UnnamedUse&) = default;
};
[[nodiscard]] UnnamedUse unnamed_use(const std::vector<UnnamedAsk>& asks);
[[nodiscard]] std::vector<UnnamedAsk> unnamed_asks(const PodSpec& pod);

struct PodRecord {
  std::string uid;
  std::string name;
  NodeIndex node;
  PodState state = PodState::reserved;
  std::int32_t priority = 0;
  bool leaving = false;  // these three as in PodSpec
  bool stays = false;
  std::int64_t since = 0;
  std::int64_t placed = 0;  // these two as in PodSeenBound
  bool placed_by_then = false;
  bool by_kubelet = false;  // its cards were named by name_cards()
  Resources resources;
  std::vector<CardCharge> charges;  // on cards that the node has
  // On cards that vanished, or that the node does not show yet, by card id.
  std::vector<LostCharge> orphans;
  // Set while nobody has said which cards it has.
  std::vector<UnnamedAsk> asks;
  // By `asks`; and by those `orphans` whose cards may be among the ones that the node shows.
  UnnamedUse unnamed;
  // A room for cards that have to be named: one card that nobody names would hide them all.
  bool by_name = false;

  [[nodiscard]] bool cards_known() const { return asks.empty(); }
};
// May the card that vanished be one of those that the node shows?
[[nodiscard]] bool may_be_shown(const LostCharge& lost, const NodeSpec& node);
// What PodRecord::unnamed has to be on a node like this.
[[nodiscard]] UnnamedUse unnamed_use(const PodRecord& record, const NodeSpec& node);

// Charges by position, apart from those on cards that the node does not show. Positions behind its
// last card are those of `absent`.
struct SeenCards {
  std::vector<CardCharge> charges;
  std::vector<LostCharge> orphans;  // by id
};
[[nodiscard]] SeenCards seen_cards(const std::vector<CardCharge>& all, const NodeSpec& node,
                                   std::span<const std::string> absent);
// The same charges on the same cards, whatever is known about these besides.
[[nodiscard]] bool same_orphans(const PodRecord& record, const std::vector<LostCharge>& orphans);

class Ledger {
 public:
  // Adds the node or brings it up to date; pods on it stay charged. Requires: validate(spec).
  NodeIndex upsert_node(const NodeSpec& spec);
  // The node is gone; pods that are not yet gone keep their place in case it returns.
  void remove_node(std::string_view name);

  // Charges the pod. Requires: not known yet, the node has room for it (checked).
  // An assignment that names no card charges the number of cards alone: some card, nobody says
  // which. Requires then: that many are free by_number.
  PodIndex reserve(const PodSpec& pod, NodeIndex node, const Assignment& cards);
  // The same for a pod that somebody else schedules: only its cards are checked.
  PodIndex reserve_guest(const PodSpec& pod, NodeIndex node, const Assignment& cards);
  // The same for cards that it was given before, as seen_bound: what does not fit is debt. An
  // assignment that names no card charges their number.
  PodIndex reserve_promised(const PodSpec& pod, std::string_view node_name, const Assignment& cards,
                            std::span<const std::string> absent);
  // Keeps for a pod what is free now of the cards of `target` and of its other resources; `uid` is
  // that of the room, not of the pod. `complete`: nothing is missing any more.
  struct Room {
    PodIndex index;
    bool complete = false;
    std::int32_t cards = 0;  // kept with all that the target takes of them
  };
  Room keep_room(const PodSpec& pod, const std::string& uid, NodeIndex node,
                 const Assignment& target);
  // Are the cards of this assignment free, and part of the node?
  [[nodiscard]] bool cards_free(const PodSpec& pod, NodeIndex node, const Assignment& cards) const;
  void confirm(PodIndex pod);
  void set_leaving(PodIndex pod, bool leaving) { pods_[pod.at()].leaving = leaving; }
  void set_placed(PodIndex pod, std::int64_t when, bool by_then = false) {
    pods_[pod.at()].placed = when;
    pods_[pod.at()].placed_by_then = by_then;
  }
  void release(PodIndex pod);
  // A pod that others placed (or that we placed before a restart). A pod that is known already is
  // re-charged to what is said now. Never fails: what does not fit is debt. Positions behind the
  // last card of the node are cards that it does not show, by their ids in `absent`.
  PodIndex seen_bound(const PodSpec& pod, std::string_view node, const std::optional<Assignment>&,
                      std::span<const std::string> absent = {});

  // How busy the node's cards are, in thousandths by position; kNoLoad where nobody knows. Beyond
  // the end nobody does. `felt`: decisions go by it, so the node counts as changed.
  void set_busy(NodeIndex node, std::vector<std::uint16_t> busy, bool felt = true);
  [[nodiscard]] std::span<const std::uint16_t> busy(NodeIndex node) const {
    return nodes_[node.at()].busy;
  }

  // Somebody says which cards a pod has, of which nobody had said, or the same one had. False: that
  // is known already. Requires: charges on cards of the node.
  bool name_cards(PodIndex pod, std::vector<CardCharge> charges);

  [[nodiscard]] NodeIndex find_node(std::string_view name) const;  // invalid if absent
  // Of the node in this slot, if there is one; quicker to read than its spec.
  [[nodiscard]] const std::string& name(NodeIndex node) const { return names_[node.at()]; }
  [[nodiscard]] PodIndex find_pod(const std::string& uid) const;

  // Slots of nodes, used or not. Unused ones are not schedulable and have no name.
  [[nodiscard]] std::size_t node_slots() const { return states_.size(); }
  [[nodiscard]] std::size_t node_count() const { return present_; }
  // Nodes with taints that pods would rather avoid.
  [[nodiscard]] std::size_t soft_taints() const { return soft_taints_; }
  [[nodiscard]] std::size_t pod_count() const { return pods_by_uid_.size(); }
  [[nodiscard]] const NodeState& state(NodeIndex node) const { return states_[node.at()]; }
  [[nodiscard]] std::span<const CardState> cards(NodeIndex node) const {
    const auto& s = states_[node.at()];
    return {cards_.data() + s.first_card, s.cards};
  }
  // Tells the processor that these rows will be read soon. cards_soon() reads the node's row.
  void node_soon(NodeIndex node) const { __builtin_prefetch(&states_[node.at()]); }
  void cards_soon(NodeIndex node) const {
    const CardState* cards = cards_.data() + states_[node.at()].first_card;
    __builtin_prefetch(cards);
    __builtin_prefetch(cards + 4);
  }
  [[nodiscard]] const NodeSpec& spec(NodeIndex node) const { return nodes_[node.at()].spec; }
  // The node's cards; those that it had last while it shows none or is gone.
  [[nodiscard]] const std::vector<Card>& cards_last_seen(NodeIndex node) const {
    const NodeSlot& slot = nodes_[node.at()];
    return slot.spec.cards.empty() ? slot.last_cards : slot.spec.cards;
  }
  // The node's labels; those that it had last while it is gone.
  [[nodiscard]] const Labels& labels_last_seen(NodeIndex node) const {
    const NodeSlot& slot = nodes_[node.at()];
    return slot.present ? slot.spec.labels : slot.last_labels;
  }
  [[nodiscard]] bool present(NodeIndex node) const { return states_[node.at()].present; }
  [[nodiscard]] std::uint32_t rank(NodeIndex node) const { return ranks_[node.at()]; }
  [[nodiscard]] std::span<const std::uint32_t> ranks() const { return ranks_; }
  [[nodiscard]] std::int64_t extended_free(NodeIndex node, std::uint32_t resource) const;
  [[nodiscard]] const PodRecord& pod(PodIndex pod) const { return pods_[pod.at()]; }
  // Healthy cards that no pod names as its own, and how many cards pods hold here, in whole or in
  // part, that nobody has named. Of the former as many as the latter may be in use.
  struct ByNumber {
    std::uint64_t idle = 0;  // one bit per card
    std::int64_t unnamed = 0;
    bool closed = false;  // a room is kept here whose pod needs its cards by name
  };
  [[nodiscard]] ByNumber by_number(NodeIndex node) const;
  // A ledger of this node alone, without some of its pods: what it would be like without them. It
  // reads the names of this one, which has to stay as it is meanwhile.
  [[nodiscard]] Ledger without(NodeIndex node, std::span<const PodIndex> pods) const;
  // Charges a pod of another ledger (that this one was made from) to this node, as it is there.
  PodIndex put(const PodRecord& pod, NodeIndex node);
  [[nodiscard]] std::span<const PodIndex> pods_on(NodeIndex node) const {
    return nodes_[node.at()].pods;
  }

  // Numbers of names (names.h). Whoever keeps one asks again when the version is another.
  [[nodiscard]] const std::vector<std::string>& models() const { return tables().models.names(); }
  // How many cards of each there are, on all nodes.
  [[nodiscard]] const std::vector<std::uint64_t>& cards_of_models() const {
    return tables().models.cards();
  }
  [[nodiscard]] std::uint64_t models_version() const { return tables().models.version(); }
  // ResourceNames::kNone: no node offers it.
  [[nodiscard]] std::uint32_t resource_number(const std::string& name) const {
    return tables().resources.find(name);
  }
  [[nodiscard]] std::uint64_t resources_version() const { return tables().resources.version(); }
  [[nodiscard]] std::size_t resource_names() const { return tables().resources.size(); }
  // The bit of this name in NodeState::offers. Beyond 32 names the last bit means all of them.
  [[nodiscard]] std::uint32_t offer_bit(const std::string& name);
  [[nodiscard]] const std::vector<NodeClass>& classes() const { return classes_; }
  [[nodiscard]] std::size_t nodes_in_class(std::size_t c) const { return class_nodes_[c]; }
  [[nodiscard]] const std::vector<std::int32_t>& memory_sizes() const {
    return memory_sizes_.sizes();
  }

  // Nodes whose state changed, oldest first, since position `from`; unset if that is too long ago.
  [[nodiscard]] std::optional<std::span<const NodeIndex>> changes_since(std::uint64_t from) const;
  [[nodiscard]] std::uint64_t change_count() const { return log_start_ + log_.size(); }
  // Changes when nodes come or go, or their order among equals does: rankings start afresh.
  [[nodiscard]] std::uint64_t layout_version() const { return layout_version_; }

  // Over-commitment made by others: how far the charges on a card exceed it.
  struct Debt {
    NodeIndex node;
    CardCharge excess;
  };
  [[nodiscard]] std::vector<Debt> debts() const;

  // Walks over all cards: for now and then.
  [[nodiscard]] Survey survey() const;

  // Recounts everything from the pods and compares; one line per difference. Empty: all is well.
  [[nodiscard]] std::vector<std::string> audit() const;

 private:
  struct CardUse {
    std::int64_t milli = 0;
    std::int64_t memory_mib = 0;
    std::int64_t slots = 0;
    friend bool operator==(const CardUse&, const CardUse&) = default;
  };
  struct NodeUse {
    std::int64_t cpu_milli = 0;
    std::int64_t memory_bytes = 0;
    std::int64_t ephemeral_bytes = 0;
    std::int64_t pods = 0;
    std::vector<std::int64_t> extended;  // by resource number; missing means 0
    // Sums of PodRecord::unnamed.
    CardUse unknown;  // on any one card
    std::int64_t unknown_with_core = 0;
    std::int64_t unknown_shared = 0;
    std::int64_t unknown_whole = 0;
    std::int64_t rooms_by_name = 0;
    friend bool operator==(const NodeUse&, const NodeUse&) = default;
  };
  struct CardLimit {  // of NodeSpec::cards, packed: every change of a node reads them
    std::int32_t memory_mib = 0;
    std::int32_t slots = 0;
    bool healthy = false;
  };
  struct NodeSlot {
    NodeSpec spec;
    bool present = false;
    NodeUse use;
    std::vector<CardUse> card_use;
    std::vector<CardLimit> card_limits;
    std::size_t card_room = 0;  // rows of cards that belong to the slot
    std::vector<PodIndex> pods;
    std::vector<Card> last_cards;  // while the node shows none
    Labels last_labels;            // while it is gone
    std::vector<std::int64_t> extended_capacity;
    std::vector<std::uint16_t> busy;
  };
  struct Tables {
    ModelNames models;
    ResourceNames resources;
    std::map<std::string, std::uint32_t, std::less<>> offers;
  };

  NodeIndex slot_for(const std::string& name);
  void drop_slot_if_empty(NodeIndex node);
  void place_cards(NodeIndex node, const NodeSpec& spec);
  void classify(NodeIndex node);
  // The names that this node has brought along, before it brings others, or goes.
  void give_names_back(NodeIndex node);
  void withdraw_resources(const NodeSpec& spec);
  void offer_resources(const NodeSpec& spec, NodeSlot& slot);
  void charge_new_resources(const std::vector<std::string>& names);
  [[nodiscard]] Resources kept_resources(const PodSpec& pod) const;
  [[nodiscard]] const Tables& tables() const { return borrowed_ == nullptr ? tables_ : *borrowed_; }
  void assign_rank(NodeIndex node);
  void relabel();
  void charge(const PodRecord& pod, std::int64_t sign);
  static void add_charges(const PodRecord& pod, std::int64_t sign, NodeUse& use,
                          std::vector<CardUse>& cards);
  static void add_unnamed(const UnnamedUse& unnamed, std::int64_t sign, NodeUse& use);
  void add_extended(const PodRecord& pod, std::int64_t sign, NodeUse& use) const;
  void refresh(NodeIndex node);
  [[nodiscard]] static CardState effective(const NodeSlot& slot, std::size_t card, bool overdrawn);
  void changed(NodeIndex node);
  PodIndex new_record(const PodSpec& pod, NodeIndex node);
  static void take_unnamed(const PodSpec& pod, PodRecord& record);
  // Pods have more whole cards here than look free: some are on cards that others use in part.
  [[nodiscard]] static bool overdrawn(const NodeSlot& slot);
  void forget(PodIndex pod);
  void survey_card(NodeIndex node, std::size_t at, ModelSurvey& model) const;
  void survey_node(NodeIndex node, std::vector<ModelSurvey>& models) const;
  void audit_node(NodeIndex node, std::vector<std::string>& out) const;

  std::vector<NodeState> states_;
  std::vector<CardState> cards_;
  std::vector<NodeSlot> nodes_;
  std::vector<std::uint32_t> ranks_;
  std::vector<std::string> names_;
  std::vector<NodeIndex> free_slots_;
  std::map<std::string, NodeIndex, std::less<>> nodes_by_name_;
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>()(text);
    }
  };
  // The same, found faster.
  std::unordered_map<std::string, NodeIndex, Hash, std::equal_to<>> quick_;  // lookup only
  std::size_t present_ = 0;
  std::size_t soft_taints_ = 0;

  std::vector<PodRecord> pods_;
  std::vector<PodIndex> free_pods_;
  std::unordered_map<std::string, PodIndex> pods_by_uid_;  // lookup only

  Tables tables_;
  const Tables* borrowed_ = nullptr;  // a dry run's: of the ledger that it was made from
  std::vector<NodeClass> classes_;
  std::map<NodeClass, std::uint16_t> class_numbers_;
  std::vector<std::size_t> class_nodes_;
  MemorySizes memory_sizes_;

  std::vector<NodeIndex> log_;
  std::uint64_t log_start_ = 0;
  std::uint64_t layout_version_ = 1;
};

}  // namespace stowage::core
