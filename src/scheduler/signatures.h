// Checks whether annotations under our name on a pod are ours: signed by one of our keys, or older
// than all signatures.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>

#include "dialect/objects.h"
#include "kube/seal.h"
#include "scheduler/assignment_resolver.h"

namespace stowage::scheduler {

// When the pod was bound, in nanoseconds since 1970: the API server writes the condition together
// with the node. Without that condition, when the pod was created.
[[nodiscard]] std::int64_t placed_at(const dialect::PodObject& object);

class Signatures {
 public:
  // Without keys nothing is signed and the first annotation counts, as before signing existed.
  // Returns the uids of pods that unknown keys had signed: they are checked again.
  [[nodiscard]] std::set<std::string> use_keys(kube::Keys keys);
  [[nodiscard]] const kube::Keys& keys() const { return keys_; }
  // Called when a pod is signed by an unknown key.
  void on_unknown_key(std::function<void()> told) { on_unknown_key_ = std::move(told); }
  [[nodiscard]] bool has_unknown_key(const std::string& uid) const {
    return unknown_key_.contains(uid);
  }
  void forget(const std::string& uid) { unknown_key_.erase(uid); }

  void seal(const kube::SignRequest& ask, dialect::Annotations& answer) const {
    if (keys_ && keys_->signs) kube::seal(*keys_, ask, answer);
  }
  // The annotations that replace a pre-allocation that is removed from a pod.
  [[nodiscard]] dialect::Annotations withdrawal(const kube::Withdrawal& of) const;
  // Until when replicas of ours have removed pre-allocations from the pod; unset if never.
  [[nodiscard]] std::optional<std::int64_t> withdrawn_at(const dialect::PodObject& unbound) const {
    return keys_ ? kube::withdrawn_at(*keys_, unbound) : std::nullopt;
  }

  // Checks the cards in the annotations of a bound pod. `check`: the result of its signature check,
  // if already done.
  using Checked = std::optional<kube::SealCheck>;
  using Proof = AssignmentResolver::Observation::Proof;
  [[nodiscard]] Proof proof_of(const dialect::PodObject& bound, const Checked& check);
  // Whether it was placed when everything was already signed. Requires: keys.
  [[nodiscard]] bool placed_since_signing(const dialect::PodObject& bound) const {
    return signed_since(placed_at(bound));
  }

  // Whether a replica of ours has written a decision on the pod that is later than this one: a
  // pre-allocation, or the removal of one. One by an unknown key may be later.
  [[nodiscard]] bool decided_after(const dialect::PodObject& unbound, std::int64_t decided);

  // The origin of a pre-allocation on an unbound pod.
  enum class Origin : std::uint8_t { none, unknown, unsigned_ours, ours };
  struct PreAllocationCheck {
    Origin origin = Origin::none;
    std::string node;       // empty: none
    std::int64_t made = 0;  // nanoseconds since 1970
    bool edited = false;    // signed, but the annotations of its dialect differ from the signed
                            // ones
    [[nodiscard]] bool counts() const {
      return origin == Origin::ours || origin == Origin::unsigned_ours;
    }
  };
  [[nodiscard]] PreAllocationCheck pre_allocation_origin(const dialect::PodObject& unbound);
  // Whether the pre-allocation of the node counts.
  [[nodiscard]] bool trusts_pre_allocation(const dialect::PodObject& unbound);

 private:
  void meet_unknown_key(const std::string& uid);
  [[nodiscard]] bool signed_since(std::int64_t unix_nanos) const;
  [[nodiscard]] bool pre_allocated_before_signing(const dialect::PodObject& object) const;

  kube::Keys keys_;
  std::function<void()> on_unknown_key_;
  // Uids of known pods that are signed by an unknown key. A pod stays here until it is deleted or
  // checked with other keys.
  std::set<std::string> unknown_key_;
};

}  // namespace stowage::scheduler
