// Which scheduler places a pod, and its phase.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dialect/objects.h"
#include "scheduler/profile.h"

namespace stowage::scheduler {

enum class PodState : std::uint8_t {
  ended,     // succeeded or failed
  bound,     // on a node, by any scheduler
  deleting,  // on no node
  external,  // another scheduler places it
  gated,     // ours, and it must not be placed yet
  pending,   // ours, to be placed
};

class PodClassifier {
 public:
  explicit PodClassifier(std::vector<Profile> profiles) : profiles_(std::move(profiles)) {}

  struct Class {
    PodState state = PodState::external;
    const Profile* profile = nullptr;  // null: another scheduler's, bound or not
    std::uint32_t number = 0;          // of the profile
  };
  [[nodiscard]] Class classify(const dialect::PodObject& pod) const;
  [[nodiscard]] bool is_ours(const dialect::PodObject& pod) const {
    return classify(pod).profile != nullptr;
  }
  [[nodiscard]] std::vector<std::string> profile_names() const;

 private:
  std::vector<Profile> profiles_;
};

}  // namespace stowage::scheduler
