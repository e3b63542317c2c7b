// Signatures of decisions on pods: how they are made and verified. docs/adr/0017 gives the reasons.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "dialect/decision.h"
#include "dialect/objects.h"
#include "net/ed25519.h"

namespace stowage::kube {

// The keys that are known now. Immutable: newer ones come in another object.
struct Keyring {
  std::optional<net::PrivateKey> signs;         // unset: it only verifies, as agents do
  std::map<std::string, net::PublicKey> known;  // by id
  // Since then everything is signed. Unset: signing has not begun, and unsigned annotations count.
  std::optional<std::int64_t> began_unix;
};
using Keys = std::shared_ptr<const Keyring>;

// Adds the signature to `answer`, which is about to be written on the pod. Does nothing if the
// answer names neither cards nor the node of a pod that is held by number.
struct SignRequest {
  const dialect::PodObject& object;
  std::string_view node;
  dialect::Purpose purpose = dialect::Purpose::bound;
  std::int64_t unix_nanos = 0;
};
void seal(const Keyring& keys, const SignRequest& ask, dialect::Annotations& answer);

// The text of kSignatureAnnotation that replaces pre-allocations that we removed from a pod: those
// made before this time no longer count. An author who only removes a pre-allocation from a pod
// cannot write this text.
struct Withdrawal {
  std::string_view uid;
  std::int64_t unix_nanos = 0;
};
[[nodiscard]] std::string withdrawal(const Keyring& keys, const Withdrawal& of);
// The time of the withdrawal; unset: the pod has no valid one.
[[nodiscard]] std::optional<std::int64_t> withdrawn_at(const Keyring& keys,
                                                       const dialect::PodObject& object);

struct SealCheck {
  enum class Result : std::uint8_t {
    none,     // there is no signature
    good,     // uid, node, cards and time are unchanged
    bad,      // something was changed, or it was made for another pod
    unknown,  // by an unknown key
  };
  Result result = Result::none;
  dialect::Purpose purpose = dialect::Purpose::bound;
  std::int64_t unix_nanos = 0;
  bool dialect_good = false;  // the cards in the annotations of the pod's dialect are unchanged too
};
// Checks a pod for this node.
[[nodiscard]] SealCheck check_seal(const Keyring& keys, const dialect::PodObject& object,
                                   std::string_view node);

// Provides the keys. Runs on the loop's thread.
class KeySource {
 public:
  KeySource() = default;
  virtual ~KeySource() = default;
  KeySource(const KeySource&) = delete;
  KeySource& operator=(const KeySource&) = delete;

  [[nodiscard]] virtual Keys keys() const = 0;            // null: not available yet
  [[nodiscard]] virtual std::string trouble() const = 0;  // what is missing; empty: nothing
  // We are about to decide. If no leader has signed before, everything is signed from now on, and
  // keys()->began_unix is set as soon as that is recorded.
  virtual void begin() = 0;
  // A signature names an unknown key: look again soon. Returns the number of a lookup that begins
  // after this call; looked() reaches it when that lookup, or a later one, has succeeded.
  virtual std::uint64_t look_soon() = 0;
  [[nodiscard]] virtual std::uint64_t looked() const = 0;
};

}  // namespace stowage::kube
