// What must hold whatever happens, judged by what the API server did and has; nothing in the
// memory of the controller is asked here.
//
//   - of no card do we give away more than there is: the shares named in the bindings that replicas
//     of ours sent, and in promises of ours that kube-scheduler bound by, summed over live pods
//   - no pod is bound twice, and none without the cards that it asks for
//   - no binding of a replica is acted on while another replica holds the lease
//
// What others do is theirs: pods that they bind, and cards that users write on pods by hand.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api_side.h"
#include "objects.h"
#include "plan.h"

namespace stowage::faults {

class Checks {
 public:
  Checks(const Plan& plan, ApiSide& side) : plan_(plan), side_(side) {}

  void acted(const ApiSide::Acted& acted);
  // A user has written on this pod which cards it has: what we gave it does not count any more.
  void disown(const std::string& uid) {
    gifts_.erase(uid);
    edited_.insert(uid);
  }
  [[nodiscard]] const std::set<std::string>& edited() const { return edited_; }

  void violate(std::string what);
  [[nodiscard]] const std::string& violation() const { return violation_; }  // the first
  // Of everything that the server did, in its order: equal for equal runs.
  [[nodiscard]] std::uint64_t digest() const { return digest_; }

  struct Counts {
    std::uint64_t calls = 0;
    std::uint64_t bound = 0;     // by replicas
    std::uint64_t promised = 0;  // bound by kube-scheduler to cards that we promised
  };
  [[nodiscard]] const Counts& counts() const { return counts_; }

 private:
  struct Gift {
    local::ObjectName pod;
    std::string node;
    std::string by;
    std::vector<Share> shares;
  };

  void bound(const std::string& sender, const local::ObjectName& pod);
  void check_lease(const std::string& sender, const PodView& pod);
  void check_card(const std::string& node, const std::string& card);
  [[nodiscard]] bool live(const std::string& uid, const Gift& gift) const;

  const Plan& plan_;
  ApiSide& side_;
  std::map<std::string, Gift> gifts_;  // by uid
  std::set<std::string> bound_;        // uids
  std::set<std::string> edited_;       // uids
  Counts counts_;
  std::string violation_;
  std::uint64_t digest_ = 0xcbf29ce484222325ULL;
};

}  // namespace stowage::faults
