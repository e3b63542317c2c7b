// Signatures of decisions on pods: who may make them, and which are good. docs/adr/0017 says why.
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

// The keys as they are known now. Never changed: newer ones come in another object.
struct Keyring {
  std::optional<net::PrivateKey> signs;         // unset: it verifies alone, as agents do
  std::map<std::string, net::PublicKey> known;  // by id
  // From then on everything is signed; unset: that is to come, and what has no signature counts.
  std::optional<std::int64_t> began_unix;
};
using Keys = std::shared_ptr<const Keyring>;

// Adds the signature to `answer`, which is about to be written on the pod. Nothing if the answer
// names neither cards nor the node of a pod that is held by number.
struct SealAsk {
  const dialect::PodObject& object;
  std::string_view node;
  dialect::Purpose purpose = dialect::Purpose::bound;
  std::int64_t unix_nanos = 0;
};
void seal(const Keyring& keys, const SealAsk& ask, dialect::Annotations& answer);

// The text of kSignatureAnnotation in place of promises that we took off a pod: those that were
// made before this time count no more. Whoever only removes a promise from his pod cannot write it.
struct Withdrawal {
  std::string_view uid;
  std::int64_t unix_nanos = 0;
};
[[nodiscard]] std::string withdrawal(const Keyring& keys, const Withdrawal& of);
// Its time; unset: the pod has none that is good.
[[nodiscard]] std::optional<std::int64_t> withdrawn_at(const Keyring& keys,
                                                       const dialect::PodObject& object);

struct SealCheck {
  enum class Result : std::uint8_t {
    none,     // there is no signature
    good,     // uid, node, cards and time are as they were decided
    bad,      // something was changed, or it was made for another pod
    unknown,  // by a key that is not known here
  };
  Result result = Result::none;
  dialect::Purpose purpose = dialect::Purpose::bound;
  std::int64_t unix_nanos = 0;
  bool dialect_good = false;  // what the pod's dialect says about the cards is unchanged too
};
// Of a pod as it is, for this node.
[[nodiscard]] SealCheck check_seal(const Keyring& keys, const dialect::PodObject& object,
                                   std::string_view node);

// Where the keys come from. One thread, the loop's.
class KeySource {
 public:
  KeySource() = default;
  virtual ~KeySource() = default;
  KeySource(const KeySource&) = delete;
  KeySource& operator=(const KeySource&) = delete;

  [[nodiscard]] virtual Keys keys() const = 0;            // null: not there yet
  [[nodiscard]] virtual std::string trouble() const = 0;  // what is missing; empty: nothing
  // We are about to decide. If nobody has before, everything is signed from now on, and
  // keys()->began_unix is set as soon as that is on record.
  virtual void begin() = 0;
  // A key was named that is not known: look again soon. The number of a look that begins after
  // this call; looked() has reached it when that look, or a later one, has succeeded.
  virtual std::uint64_t look_soon() = 0;
  [[nodiscard]] virtual std::uint64_t looked() const = 0;
};

}  // namespace stowage::kube
