#include "controller/node_publisher.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "codec/patches.h"
#include "core/model/counted.h"

namespace stowage::controller {
namespace {

std::string words(const dialect::NodeOfferPlan& plan) {
  std::string text = dialect::record_text(plan.write);
  for (const std::string& name : plan.remove) {
    text += fmt::format("{}{} removed", text.empty() ? "" : ", ", name);
  }
  return text.empty() ? "the record" : text;
}

}  // namespace

NodePublisher::NodePublisher(NodePublisherOptions options, Deps deps)
    : options_(std::move(options)),
      deps_(std::move(deps)),
      loop_(deps_.client.loop()),
      bucket_(options_.writes_per_second, options_.writes_per_second),
      timer_(loop_),
      access_(deps_.client, {.seed = options_.seed}) {}

void NodePublisher::start() { look(); }

void NodePublisher::set_plugin(const std::string& node, bool present) {
  plugins_[node] = present;
  present ? static_cast<void>(lost_.erase(node))
          : static_cast<void>(lost_.try_emplace(node, loop_.now()));
}

void NodePublisher::look() {
  const bool leads = deps_.leads();
  if (leads && !led_) led_since_ = loop_.now();
  led_ = leads;
  const bool all = !leads || look_at_some();
  timer_.start(all ? options_.look_every : options_.look_every / 10, [this] { look(); });
}

// Returns true at the end of a round.
bool NodePublisher::look_at_some() {
  for (std::size_t i = 0; i < options_.nodes_per_look; ++i) {
    looked_at_ = candidate_after(looked_at_);
    if (looked_at_.empty()) {
      forget_old();
      return true;
    }
    consider(looked_at_);
  }
  return false;
}

// By name; empty: there are no more.
std::string NodePublisher::candidate_after(const std::string& name) const {
  const std::set<std::string>& recorded = deps_.nodes().with_recorded_resources();
  const auto by_record = recorded.upper_bound(name);
  const auto by_plugin = std::find_if(plugins_.upper_bound(name), plugins_.end(),
                                      [](const auto& entry) { return entry.second; });
  if (by_plugin == plugins_.end()) return by_record == recorded.end() ? "" : *by_record;
  if (by_record == recorded.end()) return by_plugin->first;
  return std::min(*by_record, by_plugin->first);
}

void NodePublisher::forget_old() {
  const scheduler::NodeCache& nodes = deps_.nodes();
  std::erase_if(nodes_, [&](const auto& entry) {
    return !entry.second.under_way && nodes.find(entry.first) == nullptr;
  });
  std::erase_if(lost_, [&](const auto& entry) { return nodes.find(entry.first) == nullptr; });
}

void NodePublisher::consider(const std::string& name) {
  const scheduler::NodeCache& nodes = deps_.nodes();
  const core::NodeSpec* spec = nodes.find(name);
  const dialect::NodeOffer* there = nodes.offer(name);
  if (spec == nullptr || there == nullptr || !due(name, *there)) return;
  const auto plugin = plugins_.find(name);
  const bool served = plugin != plugins_.end() && plugin->second;
  dialect::NodeAmounts wanted;
  if (served) {
    // Cards that are only counted come from the resources of another plugin.
    if (core::lists_cards(*spec)) wanted = dialect::node_amounts(spec->cards, options_.amounts);
  } else if (!options_.amounts.dialects.empty() && !gone_for_good(name)) {
    return;
  }
  const dialect::NodeOfferPlan plan = dialect::plan_offer(*there, wanted);
  report_foreign(name, plan.foreign);
  if (!plan.changes || in_flight_ >= options_.in_flight_max || !bucket_.take(loop_.now())) return;
  write(name, *there, plan);
}

// False while a write is under way or not visible yet, and during the pause after it.
bool NodePublisher::due(const std::string& name, const dialect::NodeOffer& there) {
  const auto found = nodes_.find(name);
  if (found == nodes_.end()) return true;
  const net::Moment now = loop_.now();
  Node& node = found->second;
  if (node.under_way || now < node.next) return false;
  const bool unseen = there.resource_version == node.planned_on;
  if (unseen && now - node.wrote < options_.watch_lag) return false;
  if (now - node.wrote > 2 * options_.pause_max) node.pauses.reset();
  return true;
}

bool NodePublisher::gone_for_good(const std::string& name) const {
  const auto lost = lost_.find(name);
  const net::Moment since = lost == lost_.end() ? led_since_ : std::max(led_since_, lost->second);
  return loop_.now() - since >= options_.removed_after;
}

void NodePublisher::write(const std::string& name, const dialect::NodeOffer& there,
                          const dialect::NodeOfferPlan& plan) {
  Node& node = nodes_.try_emplace(name, options_).first->second;
  node.under_way = true;
  node.planned_on = there.resource_version;
  ++in_flight_;
  access_.call({.what = "write the resources of node " + name,
                .target = "/api/v1/nodes/" + net::percent_encode(name) + "/status",
                .body = codec::node_offer_patch(there, plan)},
               [this, name, what = words(plan)](const kube::ObjectOutcome& outcome) {
                 written(name, what, outcome);
               });
}

void NodePublisher::written(const std::string& name, const std::string& what,
                            const kube::ObjectOutcome& outcome) {
  --in_flight_;
  Node& node = nodes_.at(name);
  node.under_way = false;
  node.wrote = loop_.now();
  node.next = node.wrote + node.pauses.next();
  switch (outcome.result) {
    case kube::ObjectResult::done:
      ++counters_.written;
      node.complaint.clear();
      return deps_.log.info("resources of a node are written", {{"node", name}, {"what", what}});
    case kube::ObjectResult::conflict: ++counters_.conflicts; return;
    case kube::ObjectResult::gone: return;
    case kube::ObjectResult::refused:
    case kube::ObjectResult::failed: break;
  }
  ++counters_.failures;
  node.planned_on.clear();
  if (std::exchange(node.complaint, outcome.message) == outcome.message) return;
  deps_.log.warn("cannot write the resources of a node",
                 {{"node", name}, {"why", outcome.message}});
}

void NodePublisher::report_foreign(const std::string& name,
                                   const std::vector<std::string>& foreign) {
  const auto found = nodes_.find(name);
  if (found == nodes_.end() ? foreign.empty() : found->second.foreign == foreign) return;
  nodes_.try_emplace(name, options_).first->second.foreign = foreign;
  if (foreign.empty()) return;
  deps_.log.warn("another plugin publishes these resources; they are left alone",
                 {{"node", name}, {"resources", base::join(foreign, ", ")}});
}

}  // namespace stowage::controller
