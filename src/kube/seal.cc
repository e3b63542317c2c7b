#include "kube/seal.h"

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

// If a pod is held by number, no cards are named, and the signed text is empty.
std::string_view text_or_empty(const std::string* text) {
  return text == nullptr ? std::string_view() : *text;
}

std::string signed_text(const net::PrivateKey& key, const dialect::Decision& decision) {
  return dialect::to_text(
      {.key = key.public_key().id(),
       .purpose = decision.purpose,
       .unix_nanos = decision.unix_nanos,
       .digest = base::base64_encode(decision.dialect_hash),
       .signature = base::base64_encode(key.sign(dialect::signed_message(decision)))});
}

// Verifies a parsed text. `decision`: everything except what the text itself contains.
SealCheck verify(const Keyring& keys, const dialect::SignatureText& text,
                 dialect::Decision decision) {
  using Result = SealCheck::Result;
  const auto key = keys.known.find(text.key);
  if (key == keys.known.end()) return {.result = Result::unknown};
  const auto digest = base::base64_decode(text.digest);
  const auto signature = base::base64_decode(text.signature);
  // Some different texts encode the same bytes: only one encoding is accepted.
  if (!digest || !signature || base::base64_encode(*digest) != text.digest ||
      base::base64_encode(*signature) != text.signature) {
    return {.result = Result::bad};
  }
  decision.purpose = text.purpose;
  decision.unix_nanos = text.unix_nanos;
  decision.dialect_hash = *digest;
  const bool good = key->second.verifies(dialect::signed_message(decision), *signature);
  return {.result = good ? Result::good : Result::bad,
          .purpose = text.purpose,
          .unix_nanos = text.unix_nanos};
}

}  // namespace

void seal(const Keyring& keys, const SignRequest& ask, dialect::Annotations& answer) {
  const std::string* gpus = text_at(answer, kGpusAnnotation);
  if (gpus == nullptr && text_at(answer, kPreAllocatedNodeAnnotation) == nullptr) return;
  STOWAGE_CHECK(keys.signs.has_value());
  const std::string digest = net::sha256(dialect::dialect_message(ask.object.annotations, answer));
  answer[std::string(kSignatureAnnotation)] =
      signed_text(*keys.signs, {.purpose = ask.purpose,
                                .uid = ask.object.uid,
                                .node = ask.node,
                                .unix_nanos = ask.unix_nanos,
                                .gpus = text_or_empty(gpus),
                                .dialect_hash = digest});
}

std::string withdrawal(const Keyring& keys, const Withdrawal& of) {
  STOWAGE_CHECK(keys.signs.has_value());
  const std::string nothing = net::sha256({});
  return signed_text(*keys.signs, {.purpose = dialect::Purpose::withdrawn,
                                   .uid = of.uid,
                                   .node = {},
                                   .unix_nanos = of.unix_nanos,
                                   .gpus = {},
                                   .dialect_hash = nothing});
}

std::optional<std::int64_t> withdrawn_at(const Keyring& keys, const dialect::PodObject& object) {
  const std::string* text = text_at(object.annotations, kSignatureAnnotation);
  const auto parsed = text == nullptr ? std::nullopt : dialect::parse_signature(*text);
  if (!parsed || parsed->purpose != dialect::Purpose::withdrawn) return std::nullopt;
  const SealCheck check =
      verify(keys, *parsed, {.uid = object.uid, .node = {}, .gpus = {}, .dialect_hash = {}});
  if (check.result != SealCheck::Result::good) return std::nullopt;
  return check.unix_nanos;
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
  SealCheck check =
      verify(keys, *parsed,
             {.uid = object.uid, .node = node, .gpus = text_or_empty(gpus), .dialect_hash = {}});
  if (check.result == Result::good) {
    const std::string now = net::sha256(dialect::dialect_message(object.annotations));
    check.dialect_good = base::base64_encode(now) == parsed->digest;
  }
  return check;
}

}  // namespace stowage::kube
