#include "scheduler/ignored_pods.h"

#include <chrono>
#include <cstddef>

#include <fmt/format.h>

#include "base/nearest.h"
#include "dialect/dialect.h"

namespace stowage::scheduler {
namespace {

constexpr std::chrono::seconds kIgnoredMax{60};
constexpr std::size_t kTakenAtOnce = 100;
constexpr std::size_t kNameShown = 100;

}  // namespace

// Only pods that ask for cards are reported.
void IgnoredPods::watch(const dialect::PodObject& pod, base::Instant now) {
  const bool looked_at = !pod.unscheduled_reason.empty() || !pod.nominated.empty();
  if (looked_at || !dialect::asks_for_cards(pod)) return forget(pod.uid);
  if (watched_.contains(pod.uid)) return;
  const base::Instant due{now.ns + std::chrono::nanoseconds(kIgnoredMax).count()};
  watched_.emplace(pod.uid, Watched{.due = due, .scheduler = pod.scheduler});
  due_.emplace(due, pod.uid);
}

void IgnoredPods::forget(const std::string& uid) {
  const auto found = watched_.find(uid);
  if (found == watched_.end()) return;
  due_.erase({found->second.due, uid});
  watched_.erase(found);
}

std::vector<IgnoredPods::Ignored> IgnoredPods::take_due(base::Instant now) {
  std::vector<Ignored> taken;
  while (taken.size() < kTakenAtOnce && !due_.empty() && due_.begin()->first <= now) {
    const std::string uid = due_.begin()->second;
    due_.erase(due_.begin());
    taken.push_back({.uid = uid, .scheduler = watched_.at(uid).scheduler});
  }
  return taken;
}

std::string IgnoredPods::sentence(const Ignored& pod, const std::vector<std::string>& profiles) {
  const std::string name = pod.scheduler.substr(0, kNameShown);
  const std::string near = base::nearest(name, profiles);
  return fmt::format(
      "no scheduler has handled this pod for {} s: check its schedulerName \"{}\".{} Stowage "
      "handles {}",
      kIgnoredMax.count(), name, near.empty() ? "" : fmt::format(" Did you mean {}?", near),
      fmt::join(profiles, ", "));
}

}  // namespace stowage::scheduler
