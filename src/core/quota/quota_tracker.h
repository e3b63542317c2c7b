// What each namespace holds of which cards, and what its quota allows a pod. Only namespaces with a
// quota are counted. Pods are charged when they are reserved, whichever scheduler places them.
//
// A pod counts by what it holds, not by what its node reports at the moment: cards, models, sizes
// and labels that a node no longer reports keep their last values. A share counts by compute or
// memory, whichever is the larger part of the card. If something is unknown, the maximum is
// charged: unnamed cards count for each model of the node, or for every model if the node reports
// none; memory of a card of unknown size counts as a whole card.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>  // lookup only
#include <vector>

#include "core/ledger/ledger.h"
#include "core/model/pod.h"
#include "core/model/quota.h"
#include "core/model/reason.h"

namespace stowage::core {

class QuotaTracker {
 public:
  // Sets new limits, recounts everything, and removes all expected charges.
  void set(Quotas quotas, const Ledger& ledger);
  [[nodiscard]] bool limits(std::string_view pod_name) const;

  // ---- pods and nodes. A pod is charged once: charging it again replaces the charge.
  void charge(PodIndex pod, const Ledger& ledger);
  void release(PodIndex pod);  // before the ledger removes it; no effect if it was not charged
  // The node was added, or its labels or cards changed. Charges of its pods stay: with the last
  // known values of cards and labels that it no longer reports.
  void node_changed(NodeIndex node, const Ledger& ledger);
  void node_gone(const std::string& name, const Ledger& ledger);  // after the ledger

  // Capacity on this node is kept for the pod. Other pods of the namespace with the same or a lower
  // priority have that much less, until the pod is charged or no longer expected.
  void expect(const PodSpec& pod, NodeIndex node, const Ledger& ledger);
  void expect_no_more(const std::string& uid);

  // What the quota allows a pod that holds nothing yet.
  [[nodiscard]] QuotaBounds bounds(const PodSpec& pod) const;

  // The limits that this pod would exceed, in the order of the quota. If its use depends on the
  // card, the card with the smallest use counts.
  [[nodiscard]] std::vector<QuotaExcess> excesses(const PodSpec& pod) const;

  // True if the quota allows these cards of this node.
  [[nodiscard]] bool leaves(const PodSpec& pod, const NodeSpec& node,
                            const Assignment& cards) const;

  struct Use {
    std::int64_t cards = 0;
    std::int64_t milli = 0;  // per card the larger of compute and memory, rounded up
    std::int64_t memory_mib = 0;
    friend bool operator==(const Use&, const Use&) = default;
  };
  // Use of the cards of a model (lower case; "*": all), and of nodes labelled with a model.
  // Includes charges whose model or node is unknown.
  [[nodiscard]] Use used(const std::string& ns, const std::string& model) const;
  [[nodiscard]] std::int64_t used_on_nodes(const std::string& ns, const std::string& label) const;

 private:
  struct Held {
    std::map<std::string, Use> models;  // by model, with "*"
    Use any_model;                      // of cards with an unknown model
    // The part of them with unknown memory; it counts as that of the largest card.
    std::int64_t unsized_milli = 0;
    std::map<std::string, std::int64_t> on_nodes;  // milli, by the model label of the node
    std::int64_t on_any_node = 0;                  // milli, on unknown nodes
  };
  struct Charge {
    std::string ns;
    Held held;
  };
  struct Expected {
    std::int32_t priority = 0;
    Charge charge;
  };
  [[nodiscard]] Use used(const Held& held, const std::string& model) const;
  // Charges of the pod's namespace, plus the expected charges of other pods that count against this
  // pod.
  [[nodiscard]] Held held_before(const PodSpec& pod) const;
  [[nodiscard]] static std::int64_t used_on_nodes(const Held& held, const std::string& label);
  // Number of cards by size in MiB.
  using Sizes = std::map<std::int32_t, std::int64_t>;
  struct NodeCard {
    std::string id;
    std::string model;  // in lower case
    std::int32_t memory_mib = 0;
  };
  struct NodePart {  // a node that is present or has pods, with its last reported values
    bool gone = false;
    std::string label;
    std::vector<NodeCard> cards;  // by position
  };
  void add(const Charge& charge, std::int64_t sign);
  static void add(Held& held, const Held& more, std::int64_t sign);
  void add_sizes(const NodePart& part, std::int64_t sign);
  void see_cards(const NodeSpec& spec, bool in_use, NodePart& part);
  [[nodiscard]] static const Sizes& sizes_of(const std::map<std::string, Sizes>& all,
                                             const std::string& key);
  [[nodiscard]] Charge charge_of(const PodRecord& pod, const Ledger& ledger) const;
  // The models for which the limit is used up, and by how much it would be exceeded.
  struct Spent {
    std::vector<std::string> models;
    std::vector<QuotaExcess> excesses;  // empty: some model is allowed
  };
  [[nodiscard]] Spent spent_by(const ModelLimit& limit, const Held& held, const PodSpec& pod) const;

  Quotas quotas_;
  std::map<std::string, Held, std::less<>> held_;    // by namespace
  std::unordered_map<std::size_t, Charge> charges_;  // lookup only
  std::map<std::string, Expected> expected_;         // by uid
  std::map<std::string, NodePart> nodes_;            // by name
  std::map<std::string, Sizes> sizes_;               // by model, with "*"
  std::map<std::string, Sizes> label_sizes_;         // by the model label of nodes
};

}  // namespace stowage::core
