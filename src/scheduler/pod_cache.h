// All pods as the API tells of them: what is known of each, and who is where. A typed store with
// indexes; it decides nothing.
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
#include "scheduler/kubelet_cards.h"
#include "scheduler/testimony.h"

namespace stowage::scheduler {

// A pod that wants a place, or is being bound.
struct Wanting {
  dialect::PodObject object;  // without rules and around: the spec has them
  core::PodSpec spec;
};

// What preemption has to know about a pod on a node.
struct Standing {
  std::string node;
  std::int32_t priority = 0;
  bool has_priority = false;
  bool must_stay = false;    // ending, a mirror pod, critical, or of a DaemonSet
  std::int64_t created = 0;  // digits of the time: larger is newer
  std::string gang;
};
[[nodiscard]] Standing standing_of(const dialect::PodObject& object);

// What an unbound pod of another scheduler was promised.
struct PreAllocation {
  std::string version;    // resource version in which one was looked for
  bool told = false;      // one that counts, to the engine
  bool forged = false;    // one that does not was told to people
  std::int64_t made = 0;  // the newest that counts, by the clock of who made it
  base::Instant seen;     // and when it was first seen here
  bool over = false;      // and it has ended: put back, it counts no more
  // Its annotations, if it is signed: it counts, whoever edits them, until it is over.
  std::unique_ptr<dialect::Annotations> proved;
  bool proved_whole = false;  // with what its dialect says
};

class PodCache {
 public:
  struct Entry {
    const std::string* uid = nullptr;  // the key of the store, never null
    std::string name;                  // "namespace/name"
    std::string node;
    bool told = false;                   // the engine knows of it
    bool unplaced = false;               // it was seen before it was on a node
    std::string nominated;               // of another scheduler's pod: the node that was told
    PreAllocation promise;               // of another scheduler's pod
    Testimony testimony;                 // about its cards
    KubeletCards::Pod cards;             // as its kubelet has them
    std::unique_ptr<Standing> standing;  // while it is on a node
    std::unique_ptr<Wanting> wanting;    // while it is unbound, or its node lacks its cards
  };

  [[nodiscard]] Entry* find(const std::string& uid);
  [[nodiscard]] const Entry* find(const std::string& uid) const;
  // That of this uid, or a new one. `name`: "namespace/name".
  Entry& add(const std::string& uid, const std::string& name);
  void erase(const std::string& uid);
  // In no order.
  [[nodiscard]] std::unordered_map<std::string, Entry>& all() { return pods_; }

  // The pod wants a place.
  void set_wanting(Entry& entry, Wanting wanting);
  void clear_wanting(Entry& entry);
  // Those that want a place, by name.
  [[nodiscard]] std::map<std::string, const Wanting*> all_wanting() const;
  // The pod is on its node, and wants no place.
  void bind(Entry& entry, const dialect::PodObject& object);
  // Its cards could not be looked up: its node is not known, or has not all of them. The object is
  // kept until take_unresolved(), or until the pod is seen again.
  void set_unresolved(Entry& entry, Wanting bound);
  [[nodiscard]] std::set<std::string> take_unresolved(const std::string& node);

  // Null if it is on a node, or there is none. Valid until the next call.
  [[nodiscard]] const Wanting* wanting(const std::string& uid) const;
  [[nodiscard]] const Standing* standing(const std::string& uid) const;  // null: not on a node
  [[nodiscard]] std::vector<std::string> pods_on(const std::string& node) const;  // sorted uids
  // By "namespace/name"; empty if unknown.
  [[nodiscard]] std::string uid_of(const std::string& pod) const;
  // "namespace/name" of a pod, wherever it is; empty if unknown. For logs: what stands on a pod, or
  // in an event about it, is read by whoever may read that namespace (see called()).
  [[nodiscard]] std::string name_of(const std::string& uid) const;
  // The pod in words for those who may read another pod: "pod ns/name" if both are in one
  // namespace, else "a pod of another namespace".
  struct Called {
    const std::string& uid;
    const std::string& reader;  // uid of the pod whose readers read it
  };
  [[nodiscard]] std::string called(const Called& pod) const;

  [[nodiscard]] std::size_t size() const { return pods_.size(); }
  [[nodiscard]] std::size_t wanting_count() const { return wanting_; }
  [[nodiscard]] std::size_t bound_count() const { return bound_; }

 private:
  using UidsByNode = std::unordered_map<std::string, std::set<std::string>>;
  static void drop(UidsByNode& uids, const Entry& entry);

  std::unordered_map<std::string, Entry> pods_;        // by uid
  std::unordered_map<std::string, std::string> uids_;  // by "namespace/name"
  UidsByNode on_node_;
  UidsByNode unresolved_;
  std::size_t wanting_ = 0;
  std::size_t bound_ = 0;
};

}  // namespace stowage::scheduler
