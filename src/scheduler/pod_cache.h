// All pods of the API: the state of each, and which node it is on. A typed store with indexes; it
// decides nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/instant.h"
#include "core/model/pod.h"
#include "dialect/dialect.h"
#include "scheduler/assignment_resolver.h"
#include "scheduler/kubelet_cards.h"

namespace stowage::scheduler {

// A pod that wants a place or is being bound.
struct PendingPod {
  dialect::PodObject object;  // without rules and constraints: the spec has them
  core::PodSpec spec;
};

// A pod on a node whose annotations have the indexes of its cards, but not their ids.
struct IndexedPod {
  PendingPod pod;    // its object has the annotations that its cards were read from
  std::string text;  // of these annotations (dialect::answer_text())
  core::NamedAssignment cards;
  bool listed = false;   // the node listed its cards when they were read
  bool missing = false;  // the node had no card of that index when they were last read
};

// What preemption needs of a pod on a node.
struct PreemptionInfo {
  std::string node;
  std::int32_t priority = 0;
  bool has_priority = false;
  bool must_stay = false;    // terminating, a mirror pod, critical, or of a DaemonSet
  std::int64_t created = 0;  // digits of the creation time: larger is newer
  std::string gang;
};
[[nodiscard]] PreemptionInfo preemption_info_of(const dialect::PodObject& object);

// The pre-allocation of an unbound pod of another scheduler.
struct PreAllocation {
  std::string version;     // resource version that was last searched for one
  bool told = false;       // one that counts was sent to the engine
  bool untrusted = false;  // one that does not count was reported to users
  std::int64_t made = 0;   // time of the newest that counts, by the clock of its writer
  base::Instant seen;      // when that one was first seen here
  bool over = false;       // that one has ended: if written back, it does not count
  // Its annotations, if it is signed: it counts until it ends, even if they are edited.
  std::unique_ptr<dialect::Annotations> proved;
  bool proved_whole = false;  // the annotations of its dialect are proved as well
};

class PodCache {
 public:
  struct Entry {
    const std::string* uid = nullptr;  // the key of the store, never null
    std::string name;                  // "namespace/name"
    std::string node;
    bool told = false;             // the engine has it
    bool unplaced = false;         // it was seen before it was bound
    std::string nominated;         // pods of other schedulers: the node that was sent to the engine
    PreAllocation pre_allocation;  // pods of other schedulers
    AssignmentResolver resolver;   // resolves its cards
    KubeletCards::Pod cards;       // as its kubelet reports them
    std::unique_ptr<PreemptionInfo> preemption_info;  // set while it is on a node
    std::unique_ptr<IndexedPod> indexed;
    std::unique_ptr<PendingPod> pending;  // set while it is unbound, or its node lacks its cards
  };

  [[nodiscard]] Entry* find(const std::string& uid);
  [[nodiscard]] const Entry* find(const std::string& uid) const;
  // The entry of this uid, or a new one. `name`: "namespace/name".
  Entry& add(const std::string& uid, const std::string& name);
  void erase(const std::string& uid);
  // In no order.
  [[nodiscard]] std::unordered_map<std::string, Entry>& all() { return pods_; }

  // Marks the pod as pending.
  void set_pending(Entry& entry, PendingPod pending);
  void clear_pending(Entry& entry);
  // The pending pods, by name.
  [[nodiscard]] std::map<std::string, const PendingPod*> all_pending() const;
  // The pod is on its node and no longer pending.
  void bind(Entry& entry, const dialect::PodObject& object);
  // Its cards could not be looked up: its node is unknown or lacks some of them. The object is kept
  // until take_unresolved(), or until the pod is seen again.
  void set_unresolved(Entry& entry, PendingPod bound);
  [[nodiscard]] std::set<std::string> take_unresolved(const std::string& node);

  // Null if it is on a node or unknown. Valid until the next call.
  [[nodiscard]] const PendingPod* pending(const std::string& uid) const;
  [[nodiscard]] const PreemptionInfo* preemption_info(
      const std::string& uid) const;  // null: not on a node
  [[nodiscard]] std::vector<std::string> pods_on(const std::string& node) const;  // sorted uids
  // By "namespace/name"; empty if unknown.
  [[nodiscard]] std::string uid_of(const std::string& pod) const;
  // "namespace/name" of a pod on any node or none; empty if unknown. For logs only: all users who
  // may read a namespace can read annotations and events of its pods (see called()).
  [[nodiscard]] std::string name_of(const std::string& uid) const;
  // How a text on another pod (`reader`) names this pod: "pod ns/name" if both are in one
  // namespace, else "a pod of another namespace".
  struct Called {
    const std::string& uid;
    const std::string& reader;  // uid of the pod whose readers see the text
  };
  [[nodiscard]] std::string called(const Called& pod) const;

  [[nodiscard]] std::size_t size() const { return pods_.size(); }
  [[nodiscard]] std::size_t pending_count() const { return pending_; }
  [[nodiscard]] std::size_t bound_count() const { return bound_; }

 private:
  using UidsByNode = std::unordered_map<std::string, std::set<std::string>>;
  static void drop(UidsByNode& uids, const Entry& entry);

  std::unordered_map<std::string, Entry> pods_;        // by uid
  std::unordered_map<std::string, std::string> uids_;  // by "namespace/name"
  UidsByNode on_node_;
  UidsByNode unresolved_;
  std::size_t pending_ = 0;
  std::size_t bound_ = 0;
};

}  // namespace stowage::scheduler
