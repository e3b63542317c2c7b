#include "client/quotas.h"

#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "kube/quota_text.h"

namespace stowage::client {
namespace {

// The text under the key in the ConfigMap; null if none exists.
const std::string* text_of(const codec::ConfigMap& map, const std::string& name,
                           std::string_view key) {
  if (map.name != name) return nullptr;
  const auto found = map.data.find(std::string(key));
  return found == map.data.end() ? nullptr : &found->second;
}

tl::unexpected<Error> unreadable(const codec::ConfigMap& map, const std::string& why) {
  return fail(fmt::format(
      "the quota in ConfigMap {}/{} cannot be read: {}; fix it, or leave the ConfigMap out", map.ns,
      map.name, why));
}

}  // namespace

Result<std::optional<core::Quotas>> quotas_of(const std::vector<codec::ConfigMap>& maps,
                                              const scheduler::QuotaOptions& options) {
  core::Quotas quotas{.model_label = options.model_label, .pool_label = options.pool_label};
  bool any = false;
  for (const codec::ConfigMap& map : maps) {
    if (!options.enabled || map.ns != options.ns) continue;
    if (const auto* text = text_of(map, options.gpu_quota, kube::kGpuQuotaKey)) {
      auto read = kube::parse_gpu_quota(*text);
      if (!read) return unreadable(map, read.error().message);
      for (auto& [ns, quota] : *read) quotas.namespaces[ns].by_node = std::move(quota);
      any = true;
    }
    if (const auto* text = text_of(map, options.stowage_quota, kube::kStowageQuotaKey)) {
      auto read = kube::parse_stowage_quota(*text);
      if (!read) return unreadable(map, read.error().message);
      for (auto& [ns, limits] : *read) quotas.namespaces[ns].limits = std::move(limits);
      any = true;
    }
  }
  return any ? std::optional(std::move(quotas)) : std::nullopt;
}

}  // namespace stowage::client
