#include "agent/plugin_view.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "kube/object_path.h"
#include "plugin/device_ids.h"

namespace stowage::agent {
namespace {

constexpr std::chrono::seconds kFetchDeadline{5};

bool is_ours(std::string_view resource) {
  return std::find(plugin::kResources.begin(), plugin::kResources.end(), resource) !=
         plugin::kResources.end();
}

// An instance is numbered within its card.
std::string number_of(const gpu::CardInfo& card) {
  return card.mig ? fmt::format("{}:{}", card.index, card.mig->position)
                  : fmt::format("{}", card.index);
}

}  // namespace

std::vector<plugin::Holder> holders_in(const std::vector<PodDevices>& pods) {
  std::vector<plugin::Holder> holders;
  for (const PodDevices& pod : pods) {
    for (const ContainerDevices& container : pod.containers) {
      std::map<std::string, plugin::Ids> by_resource;
      for (const DeviceGroup& group : container.devices) {
        if (!is_ours(group.resource)) continue;
        plugin::Ids& ids = by_resource[group.resource];
        ids.insert(ids.end(), group.ids.begin(), group.ids.end());
      }
      for (auto& [resource, ids] : by_resource) {
        std::sort(ids.begin(), ids.end());
        ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
        holders.push_back({.ns = pod.pod.ns,
                           .pod = pod.pod.name,
                           .container = container.name,
                           .resource = resource,
                           .ids = std::move(ids)});
      }
    }
  }
  return holders;
}

plugin::NodeCards node_cards(const CardsSnapshot& snapshot) {
  plugin::NodeCards out{.known = snapshot.known,
                        .trouble = "the cards of the node cannot be read",
                        .cards = snapshot.list.cards,
                        .names = {}};
  if (!snapshot.trouble.empty()) out.trouble += ": " + snapshot.trouble;
  for (const gpu::CardInfo& card : snapshot.inventory.cards) {
    out.names.push_back({.id = card.id, .number = number_of(card), .device_minor = card.minor});
  }
  return out;
}

PluginView::PluginView(Deps deps)
    : deps_(std::move(deps)),
      access_(deps_.client,
              {.attempt_deadline = kFetchDeadline, .total_deadline = kFetchDeadline}) {}

void PluginView::fetch_pod(const PodKey& key, Fetched done) {
  access_.call({.what = fmt::format("read pod {}/{}", key.ns, key.name),
                .method = "GET",
                .target = kube::core_path(key.ns, "pods", key.name)},
               [this, done = std::move(done)](const kube::ObjectOutcome& outcome) {
                 if (outcome.result == kube::ObjectResult::done) {
                   return done(decoder_.pod(outcome.body));
                 }
                 done(fail(outcome.message));
               });
}

void PluginView::list_holders(Listed done) {
  waiting_.push_back(std::move(done));
  if (!listing_) list();
}

void PluginView::list() {
  listing_ = true;
  deps_.resources->list(
      [this, alive = std::weak_ptr<bool>(alive_),
       callers = std::exchange(waiting_, {})](const Result<std::vector<PodDevices>>& pods) {
        if (alive.expired()) return;
        listing_ = false;
        if (!waiting_.empty()) list();
        const auto holders = pods ? Result<std::vector<plugin::Holder>>(holders_in(*pods))
                                  : Result<std::vector<plugin::Holder>>(fail(pods.error().message));
        for (const Listed& caller : callers) {
          caller(holders);
          if (alive.expired()) return;
        }
      });
}

}  // namespace stowage::agent
