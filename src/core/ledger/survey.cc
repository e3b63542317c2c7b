#include "core/ledger/survey.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/ledger/ledger.h"

namespace stowage::core {
namespace {

constexpr std::uint16_t kIdlePermille = 10;  // a card with less load is idle

bool takes_pods(const NodeState& node) {
  return node.schedulable && node.cpu_free_milli > 0 && node.memory_free_bytes > 0 &&
         node.pods_free > 0;
}

void survey_card(const NodeTable& nodes, NodeIndex node, std::size_t at, ModelSurvey& model) {
  const NodeState& state = nodes.state(node);
  const NodeRecord& slot = nodes.record(node);
  const CardState& card = nodes.cards(node)[at];
  const CardUse& use = slot.card_use[at];
  const CardLimit& limit = slot.card_limits[at];
  const bool used = !(use == CardUse{});
  const bool full =
      use.milli >= kMilliPerCard || (limit.memory_mib > 0 && use.memory_mib >= limit.memory_mib);
  ++model.cards;
  ++(!limit.healthy ? model.unhealthy : !used ? model.free : full ? model.full : model.partly);
  model.given_milli += std::min<std::int64_t>(use.milli, kMilliPerCard);
  model.memory_mib += limit.memory_mib;
  model.given_memory_mib += std::min<std::int64_t>(use.memory_mib, limit.memory_mib);
  if (at < slot.busy.size() && slot.busy[at] != kNoLoad) {
    ++model.measured;
    model.idle += used && slot.busy[at] < kIdlePermille ? 1 : 0;
  }
  if (!limit.healthy) return;
  // Compute is useless without free memory and a free slot.
  const bool spent = (limit.memory_mib > 0 && card.memory_free_mib == 0) || card.slots_free == 0;
  if (spent || !takes_pods(state)) {
    model.stranded_milli += card.milli_free;
    return;
  }
  for (std::size_t size = 0; size < kSurveySizes.size(); ++size) {
    if (kSurveySizes[size] < kMilliPerCard) {
      model.fits[size] += card.milli_free / kSurveySizes[size];
    }
  }
}

void survey_node(const Ledger& ledger, NodeIndex node, std::vector<ModelSurvey>& models) {
  const NodeTable& nodes = ledger.nodes();
  const NodeState& state = nodes.state(node);
  const NodeRecord& slot = nodes.record(node);
  struct Idle {  // cards that no pod has by name
    std::int64_t count = 0;
    std::int64_t memory_mib = 0;  // of one such card
  };
  std::map<std::uint16_t, Idle> idle;  // by model
  const std::uint64_t unused = slot.by_number().idle;
  for (std::size_t i = 0; i < state.cards; ++i) {
    const std::uint16_t model = nodes.cards(node)[i].model;
    survey_card(nodes, node, i, models[model]);
    if ((unused >> i & 1U) == 0) continue;
    ++idle[model].count;
    idle[model].memory_mib = slot.card_limits[i].memory_mib;
  }
  // Some cards belong to pods with unknown cards, wholly or in part.
  std::int64_t unnamed = slot.use.unknown_whole;
  std::int64_t shared_milli = 0;
  for (const PodIndex pod : slot.pods) {
    shared_milli += ledger.pods().record(pod).unnamed.shared_milli;
  }
  models[nodes.cards(node)[0].model].given_milli +=
      std::min(shared_milli, std::int64_t{state.cards} * kMilliPerCard);
  for (const auto& [number, cards] : idle) {
    ModelSurvey& model = models[number];
    const std::int64_t taken = std::min(unnamed, cards.count);
    unnamed -= taken;
    model.free -= taken;
    model.full += taken;
    model.given_milli += taken * kMilliPerCard;
    model.given_memory_mib += taken * cards.memory_mib;
    // A card that may be shared with another pod is not wholly free.
    const std::int64_t whole = slot.use.unknown == CardUse{} ? cards.count - taken : 0;
    if (!takes_pods(state)) continue;
    for (std::size_t size = 0; size < kSurveySizes.size(); ++size) {
      if (kSurveySizes[size] < kMilliPerCard) continue;
      model.fits[size] += whole / (kSurveySizes[size] / kMilliPerCard);
    }
  }
}

}  // namespace

Survey take_survey(const Ledger& ledger) {
  const NodeTable& nodes = ledger.nodes();
  const std::vector<std::string>& names = ledger.names().models().names();
  std::vector<ModelSurvey> models(names.size());
  for (std::size_t i = 0; i < models.size(); ++i) models[i].model = names[i];
  for (std::uint32_t i = 0; i < nodes.rows(); ++i) {
    const NodeState& state = nodes.state(NodeIndex{i});
    if (state.present && state.cards > 0) survey_node(ledger, NodeIndex{i}, models);
  }
  std::erase_if(models, [](const ModelSurvey& model) { return model.cards == 0; });
  std::sort(models.begin(), models.end(),
            [](const ModelSurvey& a, const ModelSurvey& b) { return a.model < b.model; });
  return {.models = std::move(models)};
}

}  // namespace stowage::core
