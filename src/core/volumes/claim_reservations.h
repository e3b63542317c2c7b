// Plans for waiting claims of pods that are being bound: volumes that they will bind, which no
// other claim may get, and claims that will get a new volume on their node.
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
    std::string volume;  // empty: it will be provisioned
    std::string node;
  };
  // Replaces the pod's reservations. They last until release(), or until the API shows them done.
  void reserve(const std::string& uid, const std::vector<ClaimStep>& steps, std::string_view node);
  void release(const std::string& uid);
  // The current state in the API; reservations that it shows as done are removed.
  void seen(const Claim& claim);
  void seen(const Volume& volume);

  // Another pod's reservation of the claim; null if none exists.
  [[nodiscard]] const Reservation* by_another(const std::string& claim,
                                              const std::string& uid) const;
  // True if another pod will bind the volume to another claim.
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
