// The pods as the workload controllers need them: by owner, and those without one. Follows the
// store: a write is visible after the store's next deliver().
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "local/store.h"
#include "local/wall_time.h"

namespace stowage::local {

struct PodFacts {
  ObjectPtr object;
  std::optional<WallTime> ready_since;  // unset: not ready

  [[nodiscard]] std::string_view phase() const { return object->field("status.phase"); }
  [[nodiscard]] bool ended() const { return phase() == "Succeeded" || phase() == "Failed"; }
  [[nodiscard]] bool active() const { return !object->deleting && !ended(); }
  [[nodiscard]] bool bound() const { return !object->field("spec.nodeName").empty(); }
  [[nodiscard]] bool ready() const { return ready_since.has_value(); }
};

// Since when the pod's condition Ready is True.
[[nodiscard]] std::optional<WallTime> ready_since(const StoredObject& pod);
[[nodiscard]] WallTime created_at(const json::object& object);

class PodIndex {
 public:
  using Pods = std::map<ObjectName, PodFacts>;

  explicit PodIndex(Store& store);

  [[nodiscard]] const Pods& owned_by(const std::string& uid) const;
  [[nodiscard]] const Pods& without_owner() const { return orphans_; }
  [[nodiscard]] const Pods& all() const { return all_; }

  // Called for every change of a pod, after the index is updated. `now` is null for a deletion,
  // `before` for a creation.
  using OnChange = std::function<void(const PodFacts* now, const PodFacts* before)>;
  void on_change(OnChange callback) { callbacks_.push_back(std::move(callback)); }

 private:
  void put(const ObjectPtr& object);
  void take(const ObjectName& name);
  void tell(const PodFacts* now, const PodFacts* before) const;

  Pods all_;
  std::map<std::string, Pods> owned_;  // by the owner's uid
  Pods orphans_;
  std::vector<OnChange> callbacks_;
  Watch watch_;
};

}  // namespace stowage::local
