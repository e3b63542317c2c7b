// Pods of other schedulers that ask for cards, and that no scheduler has handled for a minute:
// perhaps no scheduler has their schedulerName.
#pragma once

#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/instant.h"
#include "dialect/objects.h"

namespace stowage::scheduler {

class IgnoredPods {
 public:
  // A scheduler that handles a pod binds it or writes a condition.
  void watch(const dialect::PodObject& pod, base::Instant now);
  void forget(const std::string& uid);

  struct Ignored {
    std::string uid;
    std::string scheduler;
  };
  // Pods whose minute has passed, each once, and a limited number at a time.
  [[nodiscard]] std::vector<Ignored> take_due(base::Instant now);

  // The message for users. `profiles`: our scheduler names.
  [[nodiscard]] static std::string sentence(const Ignored& pod,
                                            const std::vector<std::string>& profiles);

 private:
  struct Watched {
    base::Instant due;
    std::string scheduler;
  };
  std::unordered_map<std::string, Watched> watched_;  // by uid
  std::set<std::pair<base::Instant, std::string>> due_;
};

}  // namespace stowage::scheduler
