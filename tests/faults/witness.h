// Records which replica knew what, and when. A replica cannot consider what it has not received,
// and a bind in flight cannot be cancelled. What is older than both must be considered.
#pragma once

#include <algorithm>
#include <map>
#include <string>

#include "world.h"

namespace stowage::faults {

class Witness {
 public:
  explicit Witness(const World& world) : world_(world) {}

  // Longer than a bind is retried.
  static constexpr Duration kUnderWay = std::chrono::seconds{32};

  // This replica has received everything up to now.
  void heard(const std::string& replica) { heard_[replica] = world_.now(); }
  // This replica has decided where the pod goes; it may be bound much later.
  void decided(const std::string& uid, const std::string& replica) {
    decided_[uid] = known_until(replica);
  }
  // Others have made this node fuller, or smaller.
  void disturbed(const std::string& node) { disturbed_[node] = world_.now(); }

  // It has other cards, or another number of them.
  void resized(const std::string& node) { resized_[node] = world_.now(); }
  [[nodiscard]] bool resized_since(const std::string& node, Moment since) const {
    const auto found = resized_.find(node);
    return found != resized_.end() && found->second >= since;
  }
  // Pods of this app have ended or gone; with an empty name: nodes came or went.
  void changed(const std::string& app) { changed_[app] = world_.now(); }
  [[nodiscard]] bool changed_since(const std::string& app, Moment since) const {
    const auto found = changed_.find(app);
    return found != changed_.end() && found->second >= since;
  }

  // What happened before that time must be considered in what this replica does now.
  [[nodiscard]] Moment known_until(const std::string& replica) const {
    const auto heard = heard_.find(replica);
    if (heard == heard_.end()) return {};
    return std::min(heard->second, world_.now() - kUnderWay);
  }
  // The same for a bind of this pod, by any sender.
  [[nodiscard]] Moment known_until(const std::string& sender, const std::string& uid) const {
    const auto decided = decided_.find(uid);
    if (decided == decided_.end()) return known_until(sender);
    return heard_.contains(sender) ? std::min(decided->second, known_until(sender))
                                   : decided->second;
  }
  [[nodiscard]] bool disturbed_since(const std::string& node, Moment since) const {
    const auto found = disturbed_.find(node);
    return found != disturbed_.end() && found->second >= since;
  }

 private:
  const World& world_;
  std::map<std::string, Moment> heard_;      // by name of the replica
  std::map<std::string, Moment> decided_;    // by uid: what was known then
  std::map<std::string, Moment> disturbed_;  // by node
  std::map<std::string, Moment> resized_;    // by node
  std::map<std::string, Moment> changed_;    // by app
};

}  // namespace stowage::faults
