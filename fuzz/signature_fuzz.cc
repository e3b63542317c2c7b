// parse_signature, check_seal: a signature has one text form; only our signatures are valid, and
// each is valid only for its own pod, node and text.
#include "dialect/decision.h"
#include "dialect/own_annotations.h"
#include "fuzz/fuzz.h"
#include "kube/key_manager.h"
#include "kube/seal.h"
#include "kube/testing/fixed_keys.h"

namespace stowage::fuzz {
namespace {

using Result = kube::SealCheck::Result;

const kube::Keys& keys() {
  static const kube::Keys made = kube::testing::keys_from_seed("fuzz");
  return made;
}

}  // namespace

void one(std::string_view input) {
  const auto parsed = dialect::parse_signature(input);
  if (parsed) STOWAGE_CHECK(dialect::to_text(*parsed) == input);
  const auto zero = input.find('\0');
  dialect::PodObject pod;
  pod.uid = "uid";
  pod.annotations[std::string(dialect::kSignatureAnnotation)] = input;
  pod.annotations[std::string(dialect::kGpusAnnotation)] = "{}";
  STOWAGE_CHECK(kube::check_seal(*keys(), pod, "n").result != Result::good);
  // The input as one of our texts, and as the entries of a Secret.
  dialect::Annotations answer{{std::string(dialect::kGpusAnnotation), std::string(input)}};
  kube::seal(*keys(), {.object = pod, .node = "n", .unix_nanos = 1}, answer);
  for (const auto& [key, text] : answer) pod.annotations[key] = text;
  STOWAGE_CHECK(kube::check_seal(*keys(), pod, "n").result == Result::good);
  STOWAGE_CHECK(kube::check_seal(*keys(), pod, "m").result == Result::bad);
  const std::string text(input);
  (void)good(kube::read_kept_keys({{"1.pem", text}, {"began", text.substr(0, zero)}}));
  (void)good(kube::read_key_file(text, {.path = "f"}));
}

}  // namespace stowage::fuzz
