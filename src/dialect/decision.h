// A decision as it is signed: the cards of a pod, with proof of their origin. The signature is in
// an annotation of its own:
//
//   stowage.dev/signature: v1:<key>:<purpose>:<nanoseconds since 1970>:<digest>:<signature>
//
// The digest (SHA-256) covers the card annotations of the pod's dialect, which the agents of that
// dialect may change later. Everything else is in the signed message (docs/contract.md). This file
// handles only texts and bytes; keys and digests are in kube/seal.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "dialect/objects.h"

namespace stowage::dialect {

enum class Purpose : std::uint8_t {
  bound,           // written with the Binding
  pre_allocation,  // written before another scheduler binds the pod
  withdrawn,       // replaces a pre-allocation: earlier pre-allocations are no longer valid
};
[[nodiscard]] std::string_view to_string(Purpose purpose);

struct Decision {
  Purpose purpose = Purpose::bound;
  std::string_view uid;
  std::string_view node;
  std::int64_t unix_nanos = 0;    // when it was made
  std::string_view gpus;          // the text of kGpusAnnotation
  std::string_view dialect_hash;  // 32 bytes
};
// The signed bytes: every field is preceded by its length, so different decisions have different
// messages.
[[nodiscard]] std::string signed_message(const Decision& decision);

// True for annotation keys in which the scheduler of a dialect writes its chosen cards. Only
// schedulers write them.
[[nodiscard]] bool chosen_by_scheduler(std::string_view key);
// The input of the digest: all such annotations of the pod with their values, each preceded by its
// length. `added` overrides those of the pod.
[[nodiscard]] std::string dialect_message(const Annotations& pod, const Annotations& added = {});
// Removes them and our own annotations from the pod, so that none of them counts.
void erase_scheduler_words(Annotations& annotations);

// The value of kSignatureAnnotation; its parts are kept encoded, in base64 or hexadecimal.
struct SignatureText {
  std::string key;
  Purpose purpose = Purpose::bound;
  std::int64_t unix_nanos = 0;
  std::string digest;     // base64
  std::string signature;  // base64
  friend bool operator==(const SignatureText&, const SignatureText&) = default;
};
[[nodiscard]] std::string to_text(const SignatureText& signature);
// Unset if invalid: another version, too long, or not exactly in the format of to_text().
[[nodiscard]] std::optional<SignatureText> parse_signature(std::string_view text);

}  // namespace stowage::dialect
