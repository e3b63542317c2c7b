// What pods on their way to a node will do with claims that wait: volumes that they will bind,
// which are given to no other claim, and claims for which a volume will be made on their node.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/event.h"
#include "core/model/storage.h"

namespace stowage::core {

class ClaimReservations {
 public:
  struct Reservation {
    std::string volume;  // empty: it will be made
    std::string node;
  };
  // Replaces what the pod has reserved. Until release(), or until the API shows it done.
  void reserve(const std::string& uid, const std::vector<ClaimStep>& steps, std::string_view node);
  void release(const std::string& uid);
  // As the API shows them now: what they show done is no longer reserved.
  void seen(const Claim& claim);
  void seen(const Volume& volume);

  // What another pod on its way does with the claim; null: none does anything.
  [[nodiscard]] const Reservation* by_another(const std::string& claim,
                                              const std::string& uid) const;
  // Will another pod bind the volume to another claim?
  [[nodiscard]] bool for_another(const std::string& volume, const std::string& claim,
                                 const std::string& uid) const;
  [[nodiscard]] bool empty() const { return claims_.empty(); }

 private:
  struct Holder {
    std::string uid;
    std::string claim;
    friend auto operator<=>(const Holder&, const Holder&) = default;
  };
  void erase(const Holder& holder);

  std::map<std::string, std::map<std::string, Reservation>> claims_;  // by claim, by uid
  std::map<std::string, std::set<std::string>> pods_;                 // claims, by uid
  std::map<std::string, std::set<Holder>> volumes_;                   // by volume
};

}  // namespace stowage::core
