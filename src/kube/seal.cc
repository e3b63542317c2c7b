#include "kube/seal.h"

#include <utility>

#include "base/base64.h"
#include "base/check.h"
#include "dialect/own_annotations.h"
#include "net/digest.h"

namespace stowage::kube {
namespace {

using dialect::kGpusAnnotation;
using dialect::kPreAllocatedNodeAnnotation;
using dialect::kSignatureAnnotation;

const std::string* text_at(const dialect::Annotations& annotations, std::string_view key) {
  const auto found = annotations.find(std::string(key));
  return found == annotations.end() ? nullptr : &found->second;
}

// No cards are named where a pod is held by their number; the signed text is empty then.
std::string_view text_or_empty(const std::string* text) {
  return text == nullptr ? std::string_view() : *text;
}

}  // namespace

void seal(const Keyring& keys, const SealAsk& ask, dialect::Annotations& answer) {
  const std::string* gpus = text_at(answer, kGpusAnnotation);
  if (gpus == nullptr && text_at(answer, kPreAllocatedNodeAnnotation) == nullptr) return;
  STOWAGE_CHECK(keys.signs.has_value());
  const std::string digest = net::sha256(dialect::dialect_message(ask.object.annotations, answer));
  const std::string message = dialect::signed_message({.purpose = ask.purpose,
                                                       .uid = ask.object.uid,
                                                       .node = ask.node,
                                                       .unix_nanos = ask.unix_nanos,
                                                       .gpus = text_or_empty(gpus),
                                                       .dialect_hash = digest});
  answer[std::string(kSignatureAnnotation)] =
      dialect::to_text({.key = keys.signs->public_key().id(),
                        .purpose = ask.purpose,
                        .unix_nanos = ask.unix_nanos,
                        .digest = base::base64_encode(digest),
                        .signature = base::base64_encode(keys.signs->sign(message))});
}

SealCheck check_seal(const Keyring& keys, const dialect::PodObject& object, std::string_view node) {
  using Result = SealCheck::Result;
  const std::string* text = text_at(object.annotations, kSignatureAnnotation);
  if (text == nullptr) return {};
  const std::string* gpus = text_at(object.annotations, kGpusAnnotation);
  const auto parsed = dialect::parse_signature(*text);
  const bool by_number =
      gpus == nullptr && text_at(object.annotations, kPreAllocatedNodeAnnotation) != nullptr;
  if ((gpus == nullptr && !by_number) || !parsed) return {.result = Result::bad};
  const auto key = keys.known.find(parsed->key);
  if (key == keys.known.end()) return {.result = Result::unknown};
  const auto digest = base::base64_decode(parsed->digest);
  const auto signature = base::base64_decode(parsed->signature);
  // Some texts differ and mean the same bytes: one way to write it is enough.
  if (!digest || !signature || base::base64_encode(*digest) != parsed->digest ||
      base::base64_encode(*signature) != parsed->signature) {
    return {.result = Result::bad};
  }
  const std::string message = dialect::signed_message({.purpose = parsed->purpose,
                                                       .uid = object.uid,
                                                       .node = node,
                                                       .unix_nanos = parsed->unix_nanos,
                                                       .gpus = text_or_empty(gpus),
                                                       .dialect_hash = *digest});
  if (!key->second.verifies(message, *signature)) return {.result = Result::bad};
  const bool same = net::sha256(dialect::dialect_message(object.annotations)) == *digest;
  return {.result = Result::good,
          .purpose = parsed->purpose,
          .unix_nanos = parsed->unix_nanos,
          .dialect_good = same};
}

}  // namespace stowage::kube
