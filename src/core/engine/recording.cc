// Records a decision with all its inputs, and decides again from the record.
#include <algorithm>
#include <utility>

#include "core/engine/engine.h"
#include "core/engine/planner.h"

namespace stowage::core {

// The commands of a decision, without reserving or parking.
Commands Planner::decide_only(const PodSpec& pod, Entry& entry, std::uint32_t kind,
                              const ChoiceOptions& choice_options) {
  const Choice choice = pick(entry, kind, choice_options);
  Commands commands;
  if (choice.node.valid()) {
    const NodeSpec& node = ledger_.nodes().spec(choice.node);
    commands.emplace_back(Bind{.uid = pod.uid,
                               .node = node.name,
                               .cards = by_id(cards_on(pod, entry, choice.node), node)});
  } else {
    commands.emplace_back(Refuse{.uid = pod.uid, .refusal = refusal(entry, choice.held_back)});
  }
  return commands;
}

DecisionRecord Planner::record(const PodSpec& pod, const ChoiceOptions& choice_options) {
  DecisionRecord record;
  record.options = options_;
  record.pod = pod;
  for (std::size_t n = 0; n < ledger_.nodes().rows(); ++n) {
    const NodeIndex node(n);
    if (!ledger_.nodes().present(node)) continue;
    record.nodes.push_back(ledger_.nodes().spec(node));
    record.nodes.back().rank = ledger_.nodes().order().rank(node);
    const auto& busy = ledger_.nodes().record(node).busy;
    record.busy.emplace_back(busy.begin(), busy.end());
    for (const PodIndex p : ledger_.nodes().pods_on(node)) {
      record.pods.push_back(to_placed_pod(ledger_.pods().record(p), ledger_.nodes().spec(node)));
    }
  }
  Entry& entry = entry_for(pod);
  const auto model_before = model_;
  const std::size_t models_before = fgd_models_;
  if (uses_fgd_ && fgd_models_ != models_known()) publish_model();
  cache_.refresh(entry, model_);
  if (uses_fgd_) record.options.typical = entry.model->typical;
  const std::uint32_t kind = learner_.demand().known(entry.shape.key).value_or(kNoKind);
  record.learned = learned_state(*entry.model, kind);
  record.draw = draw_;
  for (std::size_t n = 0; choice_options.allowed && n < ledger_.nodes().rows(); ++n) {
    const NodeIndex node(n);
    if (ledger_.nodes().present(node) && !choice_options.allowed(node)) {
      record.barred.push_back(ledger_.nodes().name(node));
    }
  }
  record.outcome =
      to_text(decide_only(pod, entry, kind, {.allowed = choice_options.allowed, .among = {}}));
  draw_ = record.draw;  // undo the draw of this call
  model_ = model_before;
  fgd_models_ = models_before;
  return record;
}

LearnedState Planner::learned_state(const PolicyModel& model, std::uint32_t kind) {
  LearnedState learned;
  learned.price = *model.price;
  learned.memory_mib = ledger_.names().memory().sizes();
  learned.class_node.resize(ledger_.classes().all().size());
  for (std::size_t n = 0; n < ledger_.nodes().rows(); ++n) {
    if (!ledger_.nodes().present(NodeIndex(n))) continue;
    learned.class_node[ledger_.nodes().state(NodeIndex(n)).node_class] =
        ledger_.nodes().spec(NodeIndex(n)).name;
  }
  blocks_.catch_up(ledger_);
  learned.blocks = blocks_.state(ledger_);
  learned.group = blocks_.group_of(kind);
  return learned;
}

// Maps recorded classes and card sizes to the numbers of this ledger.
void Planner::restore(const LearnedState& learned) {
  const std::size_t classes = ledger_.classes().all().size();
  auto price = std::make_shared<PriceModel>(learned.price);
  Blocks::State blocks = learned.blocks;
  price->weight.assign(classes, 1.0);
  for (auto& group : blocks.groups) group.classes.assign(classes, 0);
  for (std::size_t c = 0; c < learned.class_node.size(); ++c) {
    const NodeIndex node = ledger_.nodes().find(learned.class_node[c]);
    if (!node.valid()) continue;
    const std::size_t here = ledger_.nodes().state(node).node_class;
    if (c < learned.price.weight.size()) price->weight[here] = learned.price.weight[c];
    for (std::size_t g = 0; g < blocks.groups.size(); ++g) {
      const auto& were = learned.blocks.groups[g].classes;
      blocks.groups[g].classes[here] = c < were.size() ? were[c] : 0;
    }
  }
  const auto& sizes = ledger_.names().memory().sizes();
  price->memory_value.assign(learned.price.memory_value.empty() ? 0 : sizes.size(), CardValue());
  for (std::size_t i = 0; i < price->memory_value.size(); ++i) {
    const auto was = std::find(learned.memory_mib.begin(), learned.memory_mib.end(), sizes[i]);
    const auto at = static_cast<std::size_t>(was - learned.memory_mib.begin());
    if (at < learned.price.memory_value.size()) {
      price->memory_value[i] = learned.price.memory_value[at];
    }
  }
  price->prepare();
  blocks_.restore(blocks, learned.group, ledger_);
  publish_model();
  auto model = std::make_shared<PolicyModel>(*model_);
  model->price = std::move(price);
  model_ = std::move(model);
}

// Requires: a fresh planner on an empty ledger, with the record's options. The record comes from a
// file and is not trusted.
Result<Commands> Planner::replay(const DecisionRecord& record) {
  learns_ = false;
  for (const auto& node : record.nodes) {
    STOWAGE_TRY_VOID(validate(node));
    const std::size_t at = static_cast<std::size_t>(&node - record.nodes.data());
    const NodeIndex known = ledger_.upsert_node(node);
    if (at < record.busy.size()) ledger_.set_busy(known, record.busy[at]);
  }
  for (const auto& placed : record.pods) {
    STOWAGE_TRY_VOID(validate(placed.pod, placed.cards));
    PodSpec without_cards = placed.pod;
    for (auto& container : without_cards.containers) container.gpu = {};
    STOWAGE_TRY_VOID(validate(without_cards));
    ledger_.seen_bound(placed.pod, placed.node, placed.cards);
  }
  STOWAGE_TRY_VOID(validate(record.pod));
  if (ledger_.pods().find(record.pod.uid).valid()) return fail("the pod is placed already");
  restore(record.learned);
  draw_ = record.draw;
  Entry& entry = entry_for(record.pod);
  cache_.refresh(entry, model_);
  const auto barred = [&](NodeIndex node) {
    return std::find(record.barred.begin(), record.barred.end(), ledger_.nodes().name(node)) !=
           record.barred.end();
  };
  ChoiceOptions choice_options;
  if (!record.barred.empty())
    choice_options.allowed = [&](NodeIndex node) { return !barred(node); };
  return decide_only(record.pod, entry, 0, choice_options);
}

Result<Replay> replay_decision(std::string_view text) {
  STOWAGE_TRY(record, parse_decision(text));
  const Result<Commands> commands = Engine(record.options).replay(record);
  if (!commands) return fail(commands.error().message);
  return Replay{.recorded = record.outcome, .replayed = to_text(*commands), .commands = *commands};
}

}  // namespace stowage::core
