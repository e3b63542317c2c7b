// What people are told of pods that wait for nothing, or say what nobody reads.
#include <chrono>

#include <fmt/format.h>

#include "base/nearest.h"
#include "scheduler/roster.h"

namespace stowage::scheduler {
namespace {

constexpr std::chrono::seconds kUnlookedMax{60};
constexpr std::size_t kToldAtOnce = 100;
constexpr std::size_t kNameShown = 100;

}  // namespace

// Once, when the pod is first seen: of ours, and of others that ask for cards.
void Roster::tell_unknown_keys(const PodEntry& entry, const dialect::PodObject& object) const {
  if (entry.unplaced) return;
  const std::string text = dialect::unknown_keys(object);
  if (text.empty()) return;
  std::uint32_t number = 0;
  if (profile_named(object.scheduler, number) == nullptr && !dialect::asks_for_cards(object))
    return;
  notify(Notice::Kind::unknown_key, object, text);
}

// A scheduler that looks at a pod binds it or writes a condition. Asks for cards alone are ours to
// speak of.
void Roster::watch_unlooked(const dialect::PodObject& object) {
  const bool looked_at = !object.unscheduled_reason.empty() || !object.nominated.empty();
  if (looked_at || !dialect::asks_for_cards(object)) return forget_unlooked(object.uid);
  if (unlooked_.contains(object.uid)) return;
  const base::Instant due{clock_.now().ns + std::chrono::nanoseconds(kUnlookedMax).count()};
  unlooked_.emplace(object.uid, Unlooked{.due = due, .scheduler = object.scheduler});
  unlooked_due_.emplace(due, object.uid);
}

void Roster::forget_unlooked(const std::string& uid) {
  const auto found = unlooked_.find(uid);
  if (found == unlooked_.end()) return;
  unlooked_due_.erase({found->second.due, uid});
  unlooked_.erase(found);
}

void Roster::tell_unlooked() {
  if (!leads_) return;
  std::vector<std::string> names;
  for (std::size_t told = 0; told < kToldAtOnce && !unlooked_due_.empty(); ++told) {
    const auto [due, uid] = *unlooked_due_.begin();
    if (due > clock_.now()) return;
    unlooked_due_.erase(unlooked_due_.begin());
    const auto pod = pods_.find(uid);
    if (pod == pods_.end()) continue;
    const std::string name = unlooked_.at(uid).scheduler.substr(0, kNameShown);
    if (names.empty()) {
      for (const Profile& profile : profiles_) names.push_back(profile.name);
    }
    const std::string near = base::nearest(name, names);
    const std::string& full = pod->second.name;
    const std::size_t slash = full.find('/');
    on_notice_(
        {.kind = Notice::Kind::unlooked,
         .ns = full.substr(0, slash),
         .name = full.substr(slash + 1),
         .uid = uid,
         .text = fmt::format("no scheduler has looked at this pod for {} s: does one answer to its "
                             "schedulerName \"{}\"?{} Stowage answers to {}",
                             kUnlookedMax.count(), name,
                             near.empty() ? "" : fmt::format(" Did you mean {}?", near),
                             fmt::join(names, ", "))});
  }
}

}  // namespace stowage::scheduler
