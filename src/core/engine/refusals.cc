// The details of a refusal besides the counts: whether a new node could help, and names.
#include "core/engine/refusals.h"

#include <algorithm>
#include <map>

#include "core/engine/cluster_state.h"
#include "core/explain/details.h"

namespace stowage::core {
namespace {

// Larger clusters get no card names, because a refusal must not walk over all nodes.
constexpr std::size_t kNodesSearched = 2048;

// Normalizes model names as quotas do: "NVIDIA-A100" is the label form of "NVIDIA A100".
std::string plain(std::string text) {
  for (char& c : text) {
    c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    if (c == '-') c = ' ';
  }
  return text;
}

bool spent(const QuotaBounds& bounds, const std::string& model) {
  return std::any_of(bounds.spent.begin(), bounds.spent.end(), [&](const std::string& entry) {
    return entry == "*" || plain(entry) == plain(model);
  });
}

// True if the quota is used up for every model that the filter asks for.
bool asks_for_spent(const CardFilter& filter, const QuotaBounds& bounds) {
  const bool part = filter.model_match == CardFilter::Match::contains;
  return !filter.models_any.empty() &&
         std::all_of(filter.models_any.begin(), filter.models_any.end(),
                     [&](const std::string& asked) {
                       return std::any_of(
                           bounds.spent.begin(), bounds.spent.end(), [&](const std::string& entry) {
                             return part ? plain(entry).find(plain(asked)) != std::string::npos
                                         : plain(entry) == plain(asked);
                           });
                     });
}

// True if there is a card that the filter accepts and the quota allows.
bool accepts_unspent(const CardFilter& filter, const QuotaBounds& bounds, const Ledger& ledger) {
  for (std::size_t n = 0; n < ledger.nodes().rows(); ++n) {
    if (!ledger.nodes().present(NodeIndex(n))) continue;
    for (const Card& card : ledger.nodes().spec(NodeIndex(n)).cards) {
      if (accepts_model(filter, card.model) && !spent(bounds, card.model)) return true;
    }
  }
  return false;
}

bool quota_shuts_out(const PodSpec& pod, const Ledger& ledger) {
  const QuotaBounds& bounds = pod.bounds;
  if (bounds.by_node && bounds.models.empty()) return true;
  if (bounds.spent.empty()) return false;
  if (bounds.spent.front() == "*") return true;  // sorted: nothing comes before it
  return std::any_of(pod.containers.begin(), pod.containers.end(), [&](const auto& container) {
    const CardFilter& filter = container.gpu.filter;
    return container.gpu.count > 0 && asks_for_spent(filter, bounds) &&
           !accepts_unspent(filter, bounds, ledger);
  });
}

ReasonCount* find(Refusal& refusal, ReasonCode code) {
  const auto found = std::find_if(refusal.counts.begin(), refusal.counts.end(),
                                  [&](const ReasonCount& count) { return count.code == code; });
  return found == refusal.counts.end() ? nullptr : &*found;
}

// True if the counts do not show whether a card of an accepted model exists. A later reason code
// implies that the node has one.
bool all_before_models(const Refusal& refusal) {
  return std::all_of(refusal.counts.begin(), refusal.counts.end(),
                     [](const ReasonCount& count) { return count.code <= ReasonCode::quota; });
}

std::string models_there(const Ledger& ledger, const GpuPart& part) {
  if (part.filter.models_any.empty()) return {};
  const std::vector<std::string>& models = ledger.names().models().names();
  std::vector<ModelCards> known;
  for (std::size_t i = 0; i < models.size(); ++i) {
    const auto cards = static_cast<std::int64_t>(ledger.names().models().cards()[i]);
    if (cards == 0) continue;
    if (accepts_model(part.filter, models[i])) return {};
    if (!models[i].empty()) known.push_back({.model = models[i], .cards = cards});
  }
  std::sort(known.begin(), known.end(),
            [](const ModelCards& x, const ModelCards& y) { return x.model < y.model; });
  return unknown_models(part.filter.models_any, std::move(known));
}

std::string where_named(const Ledger& ledger, const GpuPart& part) {
  if (ledger.nodes().rows() > kNodesSearched) return {};
  std::vector<CardPlace> places;
  for (const std::string& id : part.filter.ids_any) {
    if (!id.empty() && places.size() < kNamesShown) places.push_back({.id = id});
  }
  for (std::size_t n = 0; n < ledger.nodes().rows() && !places.empty(); ++n) {
    if (!ledger.nodes().present(NodeIndex(n))) continue;
    for (const Card& card : ledger.nodes().spec(NodeIndex(n)).cards) {
      for (CardPlace& place : places) {
        const std::string& name = ledger.nodes().spec(NodeIndex(n)).name;
        if (place.id != card.id) continue;
        if (place.node.empty() || name < place.node) place.node = name;
      }
    }
  }
  return named_cards(places);
}

std::string which_are_unhealthy(const Ledger& ledger, const GpuPart& part, const Ranking& ranking) {
  if (ledger.nodes().rows() > kNodesSearched) return {};
  std::vector<CardPlace> places;
  std::map<std::string, bool> models;  // accepted by the filter?
  for (std::size_t n = 0; n < std::min(ledger.nodes().rows(), ranking.rows()); ++n) {
    const NodeIndex node(n);
    if (!ledger.nodes().present(node) || ranking.feasible(node)) continue;
    if (ranking.reason(node).code != ReasonCode::unhealthy) continue;
    for (const Card& card : ledger.nodes().spec(node).cards) {
      if (card.healthy || !part.ids.accept(card.id)) continue;
      const auto [known, fresh] = models.try_emplace(card.model, false);
      if (fresh) known->second = accepts_model(part.filter, card.model);
      if (known->second) places.push_back({.id = card.id, .node = ledger.nodes().name(node)});
    }
  }
  // Sorted by name, not in the order in which the nodes were added.
  const auto all = static_cast<std::int64_t>(places.size());
  std::stable_sort(places.begin(), places.end(),
                   [](const CardPlace& a, const CardPlace& b) { return a.node < b.node; });
  places.resize(std::min(places.size(), kNamesShown));
  return unhealthy_cards(places, all);
}

}  // namespace

void add_card_names(const Ledger& ledger, const Shape& shape, const Ranking& ranking,
                    Refusal& refusal) {
  if (shape.parts.empty()) return;
  if (std::any_of(shape.parts.begin(), shape.parts.end(),
                  [](const GpuPart& part) { return !part.filter.ids_any.empty(); })) {
    refusal.on_any_node = ReasonCode::id_mismatch;  // a new node would have other cards
  }
  const GpuPart& part = shape.parts.front();
  ReasonCount* const mismatch = find(refusal, ReasonCode::model_mismatch);
  if (mismatch != nullptr && all_before_models(refusal)) {
    mismatch->what = models_there(ledger, part);
  }
  if (ReasonCount* count = find(refusal, ReasonCode::id_mismatch)) {
    count->what = where_named(ledger, part);
  }
  if (ReasonCount* count = find(refusal, ReasonCode::unhealthy)) {
    count->what = which_are_unhealthy(ledger, part, ranking);
  }
}

void add_bounds(const ClusterState& cluster, const PodSpec& pod, const ConstraintFilter& more,
                Refusal& refusal) {
  if (more.claim_taken()) refusal.on_any_node = ReasonCode::volume_in_use;
  if (quota_shuts_out(pod, cluster.ledger)) refusal.on_any_node = ReasonCode::quota;
  if (!more.trouble().empty()) refusal.on_any_node = ReasonCode::claim;
  if (!pod.bounds.any()) return;
  ReasonCount* count = find(refusal, ReasonCode::quota);
  if (count == nullptr && refusal.on_any_node != ReasonCode::quota) return;
  refusal.quota = cluster.quotas.excesses(pod);
  if (count != nullptr && refusal.quota.empty()) count->what = describe(pod.bounds);
}

}  // namespace stowage::core
