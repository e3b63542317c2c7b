// Whether what we are said to have written on a pod is ours: signed by one of our keys, or older
// than all signatures.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>

#include "dialect/objects.h"
#include "kube/seal.h"
#include "scheduler/testimony.h"

namespace stowage::scheduler {

// When the pod was bound, in nanoseconds since 1970: the API server writes the condition together
// with the node. Where it does not say, when the pod was made.
[[nodiscard]] std::int64_t placed_at(const dialect::PodObject& object);

class Signatures {
 public:
  // Without any keys, as it was before there were some: nothing is signed, and the first word
  // counts. The uids of pods that were signed by keys that were not known: they are judged anew.
  [[nodiscard]] std::set<std::string> use_keys(kube::Keys keys);
  [[nodiscard]] const kube::Keys& keys() const { return keys_; }
  // A pod was signed by a key that is not known.
  void on_unknown_key(std::function<void()> told) { on_unknown_key_ = std::move(told); }
  [[nodiscard]] bool has_unknown_key(const std::string& uid) const {
    return unknown_key_.contains(uid);
  }
  void forget(const std::string& uid) { unknown_key_.erase(uid); }

  void seal(const kube::SealAsk& ask, dialect::Annotations& answer) const {
    if (keys_ && keys_->signs) kube::seal(*keys_, ask, answer);
  }
  // What is written on a pod in place of a promise that is taken off it.
  [[nodiscard]] dialect::Annotations withdrawal(const kube::Withdrawal& of) const;
  // Until when promises of the pod were taken off it by one of us; unset if they were not.
  [[nodiscard]] std::optional<std::int64_t> withdrawn_at(const dialect::PodObject& unbound) const {
    return keys_ ? kube::withdrawn_at(*keys_, unbound) : std::nullopt;
  }

  // Of what a bound pod says about its cards. `check`: its signature was looked at already.
  using Checked = std::optional<kube::SealCheck>;
  using Proof = Testimony::Sight::Proof;
  [[nodiscard]] Proof proof_of(const dialect::PodObject& bound, const Checked& check);
  // Was it placed when everything was signed? Requires: keys.
  [[nodiscard]] bool placed_since_signing(const dialect::PodObject& bound) const {
    return signed_since(placed_at(bound));
  }

  // What an unbound pod says that it was promised.
  enum class Whose : std::uint8_t { nobodys, unknown, unsigned_ours, ours };
  struct Said {
    Whose whose = Whose::nobodys;
    std::string node;       // empty: it says nothing
    std::int64_t made = 0;  // nanoseconds since 1970
    bool edited = false;    // signed, and what its dialect says is not what was signed
    [[nodiscard]] bool counts() const {
      return whose == Whose::ours || whose == Whose::unsigned_ours;
    }
  };
  [[nodiscard]] Said whose_promise(const dialect::PodObject& unbound);
  // Was it promised the node that it says?
  [[nodiscard]] bool believes_promise(const dialect::PodObject& unbound);

 private:
  void meet_unknown_key(const std::string& uid);
  [[nodiscard]] bool signed_since(std::int64_t unix_nanos) const;
  [[nodiscard]] bool promised_before_signing(const dialect::PodObject& object) const;

  kube::Keys keys_;
  std::function<void()> on_unknown_key_;
  // Uids of known pods that are signed by a key that is not: none of them is forgotten before it
  // goes, or is judged by other keys.
  std::set<std::string> unknown_key_;
};

}  // namespace stowage::scheduler
