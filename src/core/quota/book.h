// What each namespace holds of which cards, and what its quota leaves to a pod. Only namespaces
// that have a quota are counted. Charged at reserve, whoever schedules the pod.
//
// Cards that nobody has named count as the model of the node's first card.
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
  // New limits; everything is counted again.
  void set(Quotas quotas, const Ledger& ledger);
  [[nodiscard]] bool limits(std::string_view pod_name) const;

  // ---- pods and nodes come and go. A pod is charged once: charging it again replaces the charge.
  void charge(PodIndex pod, const Ledger& ledger);
  void release(PodIndex pod);  // before the ledger forgets it; nothing if it was not charged
  // The node appeared, or its labels or cards are new.
  void node_changed(NodeIndex node, const Ledger& ledger);

  // What is left for a pod that holds nothing yet.
  [[nodiscard]] QuotaBounds bounds(const PodSpec& pod) const;

  // The limits that such a pod would exceed, in the order of the quota.
  [[nodiscard]] std::vector<QuotaExcess> excesses(const PodSpec& pod) const;

  // Whether that leaves it these cards of this node.
  [[nodiscard]] bool leaves(const PodSpec& pod, const NodeSpec& node,
                            const Assignment& cards) const;

  struct Use {
    std::int64_t cards = 0;
    std::int64_t milli = 0;
    std::int64_t memory_mib = 0;
    friend bool operator==(const Use&, const Use&) = default;
  };
  // Of the cards of a model (in small letters; "*": all), and of nodes labelled with a model.
  [[nodiscard]] Use used(const std::string& ns, const std::string& model) const;
  [[nodiscard]] std::int64_t used_on_nodes(const std::string& ns, const std::string& label) const;

 private:
  struct Held {
    std::map<std::string, Use> models;             // by model, with "*"
    std::map<std::string, std::int64_t> on_nodes;  // milli, by the model label of the node
  };
  struct Charge {
    std::string ns;
    Held held;
  };
  void add(const Charge& charge, std::int64_t sign);
  [[nodiscard]] Charge charge_of(const PodRecord& pod, const Ledger& ledger) const;
  void add_excesses(const ModelLimit& limit, const Held& held, const PodSpec& pod,
                    std::vector<QuotaExcess>& out) const;

  Quotas quotas_;
  std::map<std::string, Held, std::less<>> held_;                 // by namespace
  std::unordered_map<std::size_t, Charge> charges_;               // lookup only
  std::map<std::string, std::int64_t, std::less<>> card_memory_;  // the largest card of a model
};

}  // namespace stowage::core
