// What must hold whatever happens, judged by what the API server did and has; nothing in the
// memory of the controller is asked here.
//
//   - of no card do we give away more than there is: the shares that stand on live pods which
//     replicas of ours bound, or kube-scheduler by a pre-allocation of ours, summed by
//     the id of the card
//   - on a node that only counts its cards we fill no more of them than it has, whatever asks for
//     them, and its kubelet refuses none of our pods
//   - no pod is bound twice, and none without the cards that it asks for; where a pod names its
//     cards in two ways, they are the same cards
//   - no binding of a replica is acted on that may not bind by the lease (leadership.h)
//   - no quota is exceeded by a pod that we bind (quota_recount.h)
//   - required rules between pods hold for pods that we bind (rule_checks.h)
//   - room that is kept for a nominated pod is not given to one that matters no more
//   - nobody is evicted but by preemption
//
// What others do is theirs: pods that they bind, and cards that users write on pods by hand. What a
// replica could not know yet is no fault of its own (witness.h).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api_side.h"
#include "leadership.h"
#include "objects.h"
#include "plan.h"
#include "quota_recount.h"
#include "witness.h"

namespace stowage::faults {

class Checks {
 public:
  Checks(const Plan& plan, ApiSide& side, Views& views, Witness& witness)
      : plan_(plan),
        side_(side),
        views_(views),
        witness_(witness),
        quotas_(plan, side.world()),
        leadership_(side.world()) {}

  void acted(const ApiSide::Acted& acted);
  // A user has written on this pod which cards it has: what we gave it does not count any more.
  void disown(const std::string& uid) { edited_.insert(uid); }
  [[nodiscard]] const std::set<std::string>& edited() const { return edited_; }

  // The kubelet has refused this pod for want of a resource.
  void refused(const PodView& pod, const std::string& resource);
  // Another scheduler has nominated this pod for a node.
  void nominated(const std::string& uid) { nominated_[uid] = side_.world().now(); }
  [[nodiscard]] const std::vector<Moment>& evictions() const { return evictions_; }
  [[nodiscard]] QuotaRecount& quotas() { return quotas_; }
  [[nodiscard]] Leadership& leadership() { return leadership_; }

  // `kind`: one of a few words that stay the same from version to version.
  void violate(std::string_view kind, const std::string& what);
  [[nodiscard]] const std::string& violation() const { return violation_; }  // the first
  // Of everything that the server did, in its order: equal for equal runs.
  [[nodiscard]] std::uint64_t digest() const { return digest_; }
  // Without messages and reasons: equal if only wording changed.
  [[nodiscard]] std::uint64_t textless_digest() const { return textless_digest_; }

  struct Counts {
    std::uint64_t calls = 0;
    std::uint64_t bound = 0;          // by replicas
    std::uint64_t pre_allocated = 0;  // bound by kube-scheduler to cards that we pre-allocated
  };
  [[nodiscard]] const Counts& counts() const { return counts_; }

 private:
  struct Gift {  // a pod that was bound by us, or as we answered
    std::string by;
    Moment known_until{};
  };

  void bound(const std::string& sender, const local::ObjectName& pod);
  void judge(const Gift& gift, const PodView& pod);
  void removed(const std::string& sender, const local::ObjectName& pod);
  void check_lease(const std::string& sender, const PodView& pod);
  void check_cards(const PodView& pod);
  void check_indexes(const PodView& pod);
  void check_card(const PodView& pod, const std::string& card);
  void check_number(const Gift& gift, const PodView& pod);
  void check_nominations(const Gift& gift, const PodView& pod);

  const Plan& plan_;
  ApiSide& side_;
  Views& views_;
  Witness& witness_;
  QuotaRecount quotas_;
  Leadership leadership_;
  std::map<std::string, Gift> gifts_;        // by uid
  std::set<std::string> bound_;              // uids
  std::set<std::string> edited_;             // uids
  std::map<std::string, Moment> nominated_;  // by uid: since when
  std::vector<Moment> evictions_;            // by replicas
  Counts counts_;
  std::string violation_;
  std::uint64_t digest_ = 0xcbf29ce484222325ULL;
  std::uint64_t textless_digest_ = 0xcbf29ce484222325ULL;
};

}  // namespace stowage::faults
