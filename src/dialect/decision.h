// A decision as it is signed: which cards a pod was given, by whom it may be believed. The
// signature stands in an annotation of its own:
//
//   stowage.dev/signature: v1:<key>:<purpose>:<nanoseconds since 1970>:<digest>:<signature>
//
// The digest (SHA-256) is of what the pod's dialect says about the cards; agents of a dialect may
// change that later. All else is in the message that is signed (docs/contract.md). Texts and bytes
// only: keys and digests are made elsewhere (kube/seal.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "dialect/objects.h"

namespace stowage::dialect {

enum class Purpose : std::uint8_t {
  bound,      // written with the Binding
  promise,    // written before another scheduler binds the pod
  withdrawn,  // in place of a promise: what was promised before does not count any more
};
[[nodiscard]] std::string_view to_word(Purpose purpose);

struct Decision {
  Purpose purpose = Purpose::bound;
  std::string_view uid;
  std::string_view node;
  std::int64_t unix_nanos = 0;    // when it was taken
  std::string_view gpus;          // the text of kGpusAnnotation
  std::string_view dialect_hash;  // 32 bytes
};
// The bytes that are signed: every field with its length before it, so that no two decisions have
// the same.
[[nodiscard]] std::string signed_message(const Decision& decision);

// By how their keys begin: the annotations by which the scheduler of any dialect says which cards
// it chose. Nobody but a scheduler writes them.
[[nodiscard]] bool chosen_by_scheduler(std::string_view key);
// All of these on the pod, with their texts, each with its length: what the digest is of. `added`
// replaces what the pod has.
[[nodiscard]] std::string dialect_message(const Annotations& pod, const Annotations& added = {});
// Takes them, and our own, off the pod: none of them counts.
void erase_scheduler_words(Annotations& annotations);

// The value of kSignatureAnnotation, with the bytes of its parts in base64 or hexadecimal digits as
// they are written.
struct SignatureText {
  std::string key;
  Purpose purpose = Purpose::bound;
  std::int64_t unix_nanos = 0;
  std::string digest;     // base64
  std::string signature;  // base64
  friend bool operator==(const SignatureText&, const SignatureText&) = default;
};
[[nodiscard]] std::string to_text(const SignatureText& signature);
// Unset if it is none: of another version, too long, or not written exactly as to_text() does.
[[nodiscard]] std::optional<SignatureText> parse_signature(std::string_view text);

}  // namespace stowage::dialect
