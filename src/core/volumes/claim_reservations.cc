#include "core/volumes/claim_reservations.h"

#include <algorithm>

#include "core/volumes/erase_entry.h"

namespace stowage::core {

void ClaimReservations::reserve(const std::string& uid, const std::vector<ClaimStep>& steps,
                                std::string_view node) {
  release(uid);
  for (const auto& step : steps) {
    erase({.uid = uid, .claim = step.claim});
    pods_[uid].insert(step.claim);
    claims_[step.claim][uid] = {.volume = step.volume, .node = std::string(node)};
    if (!step.volume.empty()) volumes_[step.volume].insert({.uid = uid, .claim = step.claim});
  }
}

void ClaimReservations::release(const std::string& uid) {
  const auto found = pods_.find(uid);
  if (found == pods_.end()) return;
  const std::set<std::string> claims = found->second;
  for (const auto& claim : claims) erase({.uid = uid, .claim = claim});
}

void ClaimReservations::seen(const Claim& claim) {
  const auto found = claims_.find(claim.name);
  if (found == claims_.end()) return;
  std::vector<std::string> done;
  for (const auto& [uid, reservation] : found->second) {
    const bool being_made = reservation.volume.empty() && !claim.selected_node.empty();
    if (claim.bound || being_made) done.push_back(uid);
  }
  for (const auto& uid : done) erase({.uid = uid, .claim = claim.name});
}

void ClaimReservations::seen(const Volume& volume) {
  const auto found = volumes_.find(volume.name);
  if (found == volumes_.end() || volume.claim_uid.empty()) return;
  std::vector<Holder> done;
  for (const auto& holder : found->second) {
    if (holder.claim == volume.claim) done.push_back(holder);
  }
  for (const auto& holder : done) erase(holder);
}

void ClaimReservations::erase(const Holder& holder) {
  const auto of_claim = claims_.find(holder.claim);
  if (of_claim == claims_.end()) return;
  const auto its = of_claim->second.find(holder.uid);
  if (its == of_claim->second.end()) return;
  erase_entry(volumes_, its->second.volume, holder);
  erase_entry(claims_, holder.claim, holder.uid);
  erase_entry(pods_, holder.uid, holder.claim);
}

const ClaimReservations::Reservation* ClaimReservations::by_another(const std::string& claim,
                                                                    const std::string& uid) const {
  const auto found = claims_.find(claim);
  if (found == claims_.end()) return nullptr;
  for (const auto& [holder, reservation] : found->second) {
    if (holder != uid) return &reservation;
  }
  return nullptr;
}

bool ClaimReservations::for_another(const std::string& volume, const std::string& claim,
                                    const std::string& uid) const {
  const auto found = volumes_.find(volume);
  return found != volumes_.end() &&
         std::any_of(found->second.begin(), found->second.end(), [&](const Holder& holder) {
           return holder.uid != uid && holder.claim != claim;
         });
}

}  // namespace stowage::core
