// What kubelets report: the devices that they have given to pods. A report names the cards of a pod
// whose cards are unknown. If the cards are known and the report names others, that is a device
// mismatch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/instant.h"
#include "base/keyed_hash.h"
#include "core/model/event.h"
#include "core/model/node.h"
#include "core/model/pod.h"
#include "dialect/kubelet_allocation.h"
#include "scheduler/notice.h"

namespace stowage::scheduler {

class KubeletCards {
 public:
  // What is known of one pod on a node.
  class Pod {
   private:
    friend class KubeletCards;
    struct Asked {
      std::vector<core::ContainerSpec> containers;  // only their card requests
      bool named = false;                           // the kubelet has named the cards
      bool told = false;                            // an invalid report was reported to users
      bool counted = false;                         // it was assigned counted cards
    };
    // While it is on a node and no other source has named its cards by ids of their own.
    std::unique_ptr<Asked> asked_;
    std::uint64_t cards_ = 0;  // hash of its cards; 0: not known
    bool mismatched_ = false;
    bool unconfirmed_ = false;  // listed by take_unconfirmed()
  };
  explicit KubeletCards(std::function<base::Instant()> now) : now_(std::move(now)) {}

  // Remembers the known cards of the pod, or its requests if its cards are not known or are only
  // counted.
  struct Bound {
    const core::PodSpec& spec;
    const std::string& node;
    const std::optional<core::NamedAssignment>& cards;
  };
  void set_cards(Pod& pod, const Bound& bound);
  void forget(Pod& pod);

  // The devices of a pod on this node. The kubelet reports no uids: after a pod was replaced by
  // another of the same name, the report may still be about the old one. It counts if it changes,
  // or if the agent repeats it after the time in which it must have listed again.
  struct About {
    const std::string& node;
    const std::string& name;  // "namespace/name"
    const std::string& uid;   // of the pod that has this name now; empty: none
  };
  void set_allocation(const About& about, dialect::KubeletAllocation allocation);
  void forget_allocation(const std::string& node, const std::string& pod);
  void forget_node(const std::string& node);  // it was deleted, and its agent with it
  // Whether the agent of the node has stopped reporting.
  void set_agent_silent(const std::string& node, bool silent);

  // What the kubelet's report means: at most one of the two is set.
  struct Finding {
    std::optional<core::CardsNamed> cards;
    std::optional<Notice> notice;
  };
  struct Where {
    const std::string& uid;
    const std::string& name;     // "namespace/name"
    const core::NodeSpec* node;  // null: not known
  };
  [[nodiscard]] Finding compare(const Where& where, Pod& pod);
  // Uids of pods with unconfirmed reports that may be old enough: for confirm().
  [[nodiscard]] std::vector<std::string> take_unconfirmed();
  // The report counts if the agent was connected for the whole time; otherwise it stays
  // unconfirmed.
  [[nodiscard]] Finding confirm(const Where& where, Pod& pod);

  [[nodiscard]] std::size_t mismatched() const { return mismatched_; }
  [[nodiscard]] std::size_t unnamed() const { return unnamed_; }
  [[nodiscard]] std::size_t by_kubelet() const { return by_kubelet_; }

 private:
  [[nodiscard]] Finding name_cards(const Where& where, Pod& pod,
                                   const dialect::KubeletAllocation& allocation);
  [[nodiscard]] static Notice notice_of(Notice::Kind kind, const Where& where, std::string text);
  [[nodiscard]] std::uint64_t hash_of(const std::vector<std::string>& ids) const;
  void set_mismatched(Pod& pod, bool mismatched);
  void ask_kubelet(Pod& pod, const core::PodSpec& spec, bool counted);
  struct Reported {
    dialect::KubeletAllocation allocation;
    std::string about;  // uid of the pod that it is about; empty: there was no pod of that name yet
  };
  [[nodiscard]] Reported* allocation_of(const Where& where);
  void mark_unconfirmed(const Where& where, Pod& pod, base::Instant since);

  std::function<base::Instant()> now_;
  // By node, then by "namespace/name" of the pod. Reports of different nodes about a pod are
  // independent; a report counts if the pod is on that node.
  std::unordered_map<std::string, std::unordered_map<std::string, Reported>> allocations_;
  std::unordered_map<std::string, base::Instant> agents_;  // by node: connected since, without
                                                           // silence
  std::set<std::pair<base::Instant, std::string>>
      unconfirmed_;  // uids whose reports may be about another pod
  base::HashKey hash_key_ = base::random_hash_key();
  std::size_t mismatched_ = 0;
  std::size_t unnamed_ = 0;
  std::size_t by_kubelet_ = 0;
};

}  // namespace stowage::scheduler
