// What must always hold, judged by the writes and objects of the API server alone, not by the
// memory of the controller.
//
//   - We never give more of a card than it has: the sum, by card id, of the shares on live pods
//     that our replicas bound, or that kube-scheduler bound by our pre-allocation.
//   - On a node that only counts its cards, we use no more of them than it has, for all kinds of
//     requests, and its kubelet refuses none of our pods.
//   - No pod is bound twice, and none without the cards that it requests. If a pod names its cards
//     in two ways, they are the same cards.
//   - The server acts on no binding of a replica that may not bind by the lease (leadership.h).
//   - No pod that we bind exceeds a quota (quota_recount.h).
//   - Required rules between pods hold for pods that we bind (rule_checks.h).
//   - Capacity that is kept for a nominated pod is not given to one of no higher priority.
//   - Pods are evicted only by preemption.
//
// Not checked: pods that others bind, and cards that users write on pods. What a replica could not
// know yet is not a violation (witness.h).
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
  // A user has written other cards on this pod: what we gave it no longer counts.
  void disown(const std::string& uid) { edited_.insert(uid); }
  [[nodiscard]] const std::set<std::string>& edited() const { return edited_; }

  // The kubelet has refused this pod because a resource is exhausted.
  void refused(const PodView& pod, const std::string& resource);
  // Another scheduler has nominated this pod for a node.
  void nominated(const std::string& uid) { nominated_[uid] = side_.world().now(); }
  [[nodiscard]] const std::vector<Moment>& evictions() const { return evictions_; }
  [[nodiscard]] QuotaRecount& quotas() { return quotas_; }
  [[nodiscard]] Leadership& leadership() { return leadership_; }

  // `kind`: one of a few phrases that stay the same between versions.
  void violate(std::string_view kind, const std::string& what);
  [[nodiscard]] const std::string& violation() const { return violation_; }  // the first
  // Of everything that the server did, in order: equal for equal runs.
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
  void check_lease(const std::string& sender, const std::string& pod);
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
