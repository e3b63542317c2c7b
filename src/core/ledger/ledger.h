// The ledger: every card of the cluster, and which pod holds which share of it. It is the only
// owner of this data; all pods are charged here, wherever they come from.
//
//   reserve -> confirm -> release          a pod that we place
//   seen_bound -> release                  a pod that others placed, with known or unknown cards
//
// All amounts are exact integers. Nothing that others do can break the ledger: a pod on an unknown
// node, cards that disappear while in use, and more pods on a card than it holds (debt) are states,
// not errors. A charge on a card that disappeared is kept until the card returns. If a node reports
// only a number of cards ("node/index"), it is unknown which card disappeared and which reported
// card the charge belongs to. Until that is known, the charge counts like that of a pod with
// unknown cards. Our own reservations never exceed what is free; every call checks this.
//
// The parts own their state and are read directly. Only the ledger changes them, so that they agree
// with each other. For most nodes, decisions read only the rows of nodes().
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/ledger/change_log.h"
#include "core/ledger/name_tables.h"
#include "core/ledger/node_classes.h"
#include "core/ledger/node_table.h"
#include "core/ledger/pod_table.h"
#include "core/model/ids.h"
#include "core/model/node.h"
#include "core/model/pod.h"

namespace stowage::core {

class Ledger {
 public:
  [[nodiscard]] const NodeTable& nodes() const { return nodes_; }
  [[nodiscard]] const PodTable& pods() const { return pods_; }
  [[nodiscard]] const NameTables& names() const { return names_; }
  [[nodiscard]] const NodeClasses& classes() const { return classes_; }
  // Changes of the rows that decisions read.
  [[nodiscard]] const ChangeLog& changes() const { return changes_; }

  // Adds or updates the node; pods on it stay charged. Requires: validate(spec).
  NodeIndex upsert_node(const NodeSpec& spec);
  // Removes the node. Its remaining pods stay charged in case it returns.
  void remove_node(std::string_view name);

  // Charges the pod. Requires: not known yet, the node has capacity for it (checked). An assignment
  // without named cards charges only the number of cards. Requires then: that many are free
  // by_number.
  PodIndex reserve(const PodSpec& pod, NodeIndex node, const Assignment& cards);
  // The same for a pod that another scheduler places: only its cards are checked.
  PodIndex reserve_external(const PodSpec& pod, NodeIndex node, const Assignment& cards);
  // The same for cards that were assigned earlier. As in seen_bound, what does not fit is debt. An
  // assignment without named cards charges their number.
  PodIndex reserve_pre_allocated(const PodSpec& pod, std::string_view node_name,
                                 const Assignment& cards, std::span<const std::string> absent);
  // Keeps what is free now of the cards of `target` and of the pod's other resources; `uid` is that
  // of the nomination, not of the pod. `complete`: nothing is missing. If cards are kept by number
  // and some are missing, the free parts of as many shared cards are kept too. Otherwise shares
  // would keep taking what becomes free, and no card would ever become wholly free.
  struct KeptCapacity {
    PodIndex index;
    bool complete = false;
    std::int32_t cards = 0;  // kept with all that the target needs of them
  };
  KeptCapacity keep_capacity(const PodSpec& pod, const std::string& uid, NodeIndex node,
                             const Assignment& target);
  // True if the node has the cards of this assignment and they are free.
  [[nodiscard]] bool cards_free(const PodSpec& pod, NodeIndex node, const Assignment& cards) const;
  void confirm(PodIndex pod);
  void set_leaving(PodIndex pod, bool leaving) { pods_.record(pod).leaving = leaving; }
  void set_placed(PodIndex pod, std::int64_t when, bool by_then = false) {
    pods_.record(pod).placed = when;
    pods_.record(pod).placed_by_then = by_then;
  }
  void release(PodIndex pod);
  // A pod that others placed, or that we placed before a restart. The charge of a known pod is
  // replaced. Never fails: what does not fit is debt. Positions after the last card of the node are
  // cards that it does not report, with their ids in `absent`.
  PodIndex seen_bound(const PodSpec& pod, std::string_view node, const std::optional<Assignment>&,
                      std::span<const std::string> absent = {});

  // Sets NodeRecord::busy. `felt`: decisions depend on it, so the node counts as changed.
  void set_busy(NodeIndex node, std::vector<std::uint16_t> busy, bool felt = true);
  // Sets the cards of a pod whose cards were unknown or kubelet-reported. False: nothing changed.
  // Requires: charges on cards of the node.
  bool name_cards(PodIndex pod, std::vector<CardCharge> charges);
  // The bit of this name in NodeState::offers; the name keeps it.
  [[nodiscard]] std::uint32_t offer_bit(const std::string& name) { return names_.offer_bit(name); }

  // A copy of this one node without some of its pods, for dry runs. It reads the names of this
  // ledger, which must not change meanwhile.
  [[nodiscard]] Ledger without(NodeIndex node, std::span<const PodIndex> pods) const;
  // Charges a pod of the ledger that this one was made from to this node, with the same record.
  PodIndex put(const PodRecord& pod, NodeIndex node);

  // Recounts everything from the pods and compares; one line per difference. Empty: no difference.
  [[nodiscard]] std::vector<std::string> audit() const;

 private:
  PodIndex new_record(const PodSpec& pod, NodeIndex node);
  // The pod's charges on these cards of the node; none if they are counted by number. Unset: they
  // are not free.
  [[nodiscard]] std::optional<std::vector<CardCharge>> free_charges(const PodSpec& pod,
                                                                    NodeIndex node,
                                                                    const Assignment& cards) const;
  [[nodiscard]] std::vector<CardCharge> rest_of_shared(NodeIndex node, std::uint64_t idle) const;
  // Allocates rows for the node's cards and moves the charges of its pods to the new positions.
  void place_cards(NodeIndex node, const NodeSpec& spec);
  void offer_resources(NodeIndex node, const NodeSpec& spec);
  void withdraw_resources(const NodeSpec& spec);
  // Adds the charges of the pod to its node; with sign -1, subtracts them.
  void charge(const PodRecord& pod, std::int64_t sign);
  void refresh(NodeIndex node);

  NodeTable nodes_;
  PodTable pods_;
  NameTables names_;
  NodeClasses classes_;
  ChangeLog changes_;
};

}  // namespace stowage::core
