#include "scheduler/pod_classifier.h"

#include <algorithm>

namespace stowage::scheduler {

PodClassifier::Class PodClassifier::classify(const dialect::PodObject& pod) const {
  const auto found = std::find_if(profiles_.begin(), profiles_.end(), [&](const Profile& profile) {
    return profile.name == pod.scheduler;
  });
  Class result;
  if (found != profiles_.end()) {
    result.profile = &*found;
    result.number = static_cast<std::uint32_t>(found - profiles_.begin());
  }
  result.state = pod.ended()                 ? PodState::ended
                 : !pod.node.empty()         ? PodState::bound
                 : pod.deleting              ? PodState::deleting
                 : result.profile == nullptr ? PodState::external
                 : !pod.gates.empty()        ? PodState::gated
                                             : PodState::pending;
  return result;
}

std::vector<std::string> PodClassifier::profile_names() const {
  std::vector<std::string> names;
  for (const Profile& profile : profiles_) names.push_back(profile.name);
  return names;
}

}  // namespace stowage::scheduler
