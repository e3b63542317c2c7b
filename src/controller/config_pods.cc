#include "controller/config_pods.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/nearest.h"
#include "base/text.h"

namespace stowage::controller {

void read_node_resources(yaml::StrictMap& root, Config& config) {
  root.map("nodeResources", [&](yaml::StrictMap& map) {
    Config::NodeResources& resources = config.node_resources;
    map.boolean("enabled", resources.enabled);
    std::vector<std::string> chosen;
    map.texts("dialects", chosen);
    const std::vector<std::string> known = dialect::published_dialects();
    for (const std::string& name : chosen) {
      if (std::find(known.begin(), known.end(), name) != known.end()) continue;
      const std::string near = base::nearest(name, known);
      map.refuse("dialects",
                 fmt::format("\"{}\" is no dialect whose resources are published; {}", name,
                             near.empty() ? "there are " + base::join(known, ", ")
                                          : "did you mean \"" + near + "\"?"));
    }
    if (!chosen.empty()) resources.dialects = std::move(chosen);
    auto requests = static_cast<std::uint32_t>(resources.requests_per_card);
    map.whole("gpuRequestsPerCard", {.min = 1, .max = 1000}, requests);
    resources.requests_per_card = static_cast<std::int32_t>(requests);
  });
}

void read_webhook(yaml::StrictMap& root, Config& config) {
  root.map("webhook", [&](yaml::StrictMap& map) {
    Config::Webhook& webhook = config.webhook;
    map.boolean("enabled", webhook.enabled);
    map.text("configuration", webhook.configuration);
    if (webhook.configuration == "none") webhook.configuration.clear();
    map.boolean("voidUnrequested", webhook.void_unrequested);
    if (webhook.enabled && !config.metrics_api.enabled) {
      map.refuse("enabled",
                 "the webhook is served with the certificates of metricsApi: set "
                 "metricsApi.enabled");
    }
  });
}

}  // namespace stowage::controller
