// What each namespace holds of which cards, and what its quota leaves to a pod. Only namespaces
// that have a quota are counted. Charged at reserve, whoever schedules the pod.
//
// A pod counts by what it holds, not by what its node shows at the moment: cards, models, sizes and
// labels that a node no longer shows count as they were. A share counts by its compute or by its
// memory, whichever is the larger part of the card. Where something is not known the most is
// charged: cards that nobody has named count for each model that the node has, and for every model
// while it shows none; memory of a card of unknown size is a whole card.
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

class QuotaBook {
 public:
  // New limits; everything is counted again. Nothing is expected any more.
  void set(Quotas quotas, const Ledger& ledger);
  [[nodiscard]] bool limits(std::string_view pod_name) const;

  // ---- pods and nodes come and go. A pod is charged once: charging it again replaces the charge.
  void charge(PodIndex pod, const Ledger& ledger);
  void release(PodIndex pod);  // before the ledger forgets it; nothing if it was not charged
  // The node appeared, or its labels or cards are new. What pods hold stays charged: cards that it
  // no longer shows as they were last, and a label that it no longer has as the last one.
  void node_changed(NodeIndex node, const Ledger& ledger);
  void node_gone(const std::string& name, const Ledger& ledger);  // after the ledger

  // Capacity on this node is kept for the pod: other pods of its namespace that are no more
  // important are left so much less. Until it is charged or no longer expected.
  void expect(const PodSpec& pod, NodeIndex node, const Ledger& ledger);
  void expect_no_more(const std::string& uid);

  // What is left for a pod that holds nothing yet.
  [[nodiscard]] QuotaBounds bounds(const PodSpec& pod) const;

  // The limits that such a pod would exceed, in the order of the quota. Where it depends on the
  // card how much the pod takes, by the card of which it takes least.
  [[nodiscard]] std::vector<QuotaExcess> excesses(const PodSpec& pod) const;

  // Whether that leaves it these cards of this node.
  [[nodiscard]] bool leaves(const PodSpec& pod, const NodeSpec& node,
                            const Assignment& cards) const;

  struct Use {
    std::int64_t cards = 0;
    std::int64_t milli = 0;  // of each card the larger of compute and memory, rounded up
    std::int64_t memory_mib = 0;
    friend bool operator==(const Use&, const Use&) = default;
  };
  // Of the cards of a model (in small letters; "*": all), and of nodes labelled with a model. With
  // what may be of any model, or on any node, for all that is known.
  [[nodiscard]] Use used(const std::string& ns, const std::string& model) const;
  [[nodiscard]] std::int64_t used_on_nodes(const std::string& ns, const std::string& label) const;

 private:
  struct Held {
    std::map<std::string, Use> models;  // by model, with "*"
    Use any_model;                      // of cards of which nobody knows the model
    // Of these, parts of cards with a memory that nobody knows: it counts as that of the largest.
    std::int64_t unsized_milli = 0;
    std::map<std::string, std::int64_t> on_nodes;  // milli, by the model label of the node
    std::int64_t on_any_node = 0;                  // milli, on nodes that nobody knows
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
  // What the namespace of this pod holds, with what is expected of others as far as it counts.
  [[nodiscard]] Held held_before(const PodSpec& pod) const;
  [[nodiscard]] static std::int64_t used_on_nodes(const Held& held, const std::string& label);
  // How many cards there are of each size, in MiB.
  using Sizes = std::map<std::int32_t, std::int64_t>;
  struct NodeCard {
    std::string id;
    std::string model;  // in small letters
    std::int32_t memory_mib = 0;
  };
  struct NodePart {  // a node that is there, or has pods, with what it has shown last
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
  // What the limit leaves no room for: models, and by how much.
  struct Spent {
    std::vector<std::string> models;
    std::vector<QuotaExcess> excesses;  // empty: some model is left
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
