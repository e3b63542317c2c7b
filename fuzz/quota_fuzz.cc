// Quotas from ConfigMaps: an accepted quota limits something, and nothing is negative.
#include "fuzz/fuzz.h"
#include "kube/quota_text.h"

namespace stowage::fuzz {

void one(std::string_view input) {
  const auto by_node = kube::parse_gpu_quota(input);
  if (good(by_node)) {
    for (const auto& [ns, quota] : *by_node) {
      STOWAGE_CHECK(!ns.empty());
      for (const auto& [model, milli] : quota.milli) STOWAGE_CHECK(!model.empty() && milli >= 0);
      for (const auto& pool : quota.pools) STOWAGE_CHECK(!pool.empty());
    }
  }
  const auto by_card = kube::parse_stowage_quota(input);
  if (!good(by_card)) return;
  for (const auto& [ns, limits] : *by_card) {
    STOWAGE_CHECK(!ns.empty());
    for (const auto& limit : limits) {
      STOWAGE_CHECK(!limit.model.empty());
      STOWAGE_CHECK(limit.cards || limit.milli || limit.memory_mib);
      STOWAGE_CHECK(limit.cards.value_or(0) >= 0 && limit.milli.value_or(0) >= 0);
    }
  }
}

}  // namespace stowage::fuzz
