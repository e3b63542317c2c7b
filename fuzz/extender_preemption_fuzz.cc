// ExtenderDecoder::preemption: limits hold, and the answer with all victims is read as the same.
#include "codec/extender.h"
#include "fuzz/fuzz.h"

namespace stowage::fuzz {

void one(std::string_view input) {
  codec::ExtenderDecoder decoder;
  auto args = decoder.preemption(input);
  if (!good(args)) return;
  STOWAGE_CHECK(args->given || args->victims.empty());
  for (auto& [node, victims] : args->victims) {
    STOWAGE_CHECK(!node.empty() && victims.pdb_violations >= 0);
    STOWAGE_CHECK(victims.pods.empty() || victims.pods.size() == victims.uids.size());
    for (std::size_t i = 0; i < victims.pods.size(); ++i) {
      STOWAGE_CHECK(victims.pods[i].uid == victims.uids[i]);
    }
    victims.pods.clear();  // the answer has none
  }
  const auto again = decoder.preemption(codec::encode_preemption_result(args->victims));
  STOWAGE_CHECK(again && again->given && again->victims == args->victims);
}

}  // namespace stowage::fuzz
