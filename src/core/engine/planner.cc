#include "core/engine/planner.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/rng.h"
#include "core/engine/refusals.h"

namespace stowage::core {
namespace {

// Judgements per decision that go into rankings by a newer model.
constexpr std::size_t kSlice = 16;
constexpr std::size_t kYoungSlice = 64;

// Names of the missing resources; if no node offers some of them, only those.
std::string resources_in_words(const Shape& shape) {
  constexpr std::size_t kTold = 8;
  std::vector<std::string> names;
  for (const bool offered : {false, true}) {
    for (std::size_t i = 0; i < shape.extended.size(); ++i) {
      const bool known = shape.extended[i].first != ResourceNames::kNone;
      if (known == offered) names.push_back(shape.extended_names[i]);
    }
    if (!names.empty()) break;
  }
  std::string words;
  for (std::size_t i = 0; i < std::min(names.size(), kTold); ++i) {
    words += (i == 0 ? "" : ", ") + names[i];
  }
  if (names.size() > kTold) words += " and " + std::to_string(names.size() - kTold) + " more";
  return words;
}

}  // namespace

Planner::Planner(Ledger& ledger, PolicyOptions options, std::size_t keys, SearchSteps* search)
    : ledger_(ledger),
      options_(std::move(options)),
      search_(search),
      cache_(ledger_, options_, keys, search),
      learner_(options_),
      uses_price_(options_.choice.node == NodePolicy::dual_price ||
                  options_.choice.card == CardPolicy::dual_price),
      uses_fgd_(options_.choice.node == NodePolicy::fgd || options_.choice.card == CardPolicy::fgd),
      learns_(uses_price_ || (uses_fgd_ && options_.typical.empty())) {
  publish_model();
}

Planner::Entry& Planner::entry_for(const PodSpec& pod) {
  key_.clear();
  append_shape_key(pod, key_);
  return cache_.find(key_, [&] { return make_shape(pod, ledger_); });
}

JudgeContext Planner::context() const {
  return {.ledger = &ledger_,
          .options = &options_,
          .price = model_->price.get(),
          .fgd = model_->fgd.get(),
          .draw = 0,
          .search = search_};
}

Reason Planner::verdict(const Shape& shape, NodeIndex node) const {
  return judge(context(), shape, node).reason;
}

// ---- decisions ------------------------------------------------------------------------------

const Ranking& Planner::ranked(Entry& entry) {
  if (uses_fgd_ && fgd_models_ != models_known()) publish_model();  // a new card model
  cache_.refresh(entry, model_);
  ++draw_;
  return entry.ranking;
}

Planner::Choice Planner::choose(Entry& entry, std::uint32_t kind,
                                const ChoiceOptions& choice_options) {
  if (uses_fgd_ && fgd_models_ != models_known()) publish_model();
  cache_.refresh(entry, model_);
  return pick(entry, kind, choice_options);
}

// True if placing the pod on this node respects the rules about blocks.
bool Planner::spares_blocks(const Entry& entry, const Blocks::Rules& rules, NodeIndex node) {
  if (!blocks_.touches(node)) return true;
  Placement placement;
  CardMask used = 0;
  (void)judge(cache_.context(entry), entry.shape, node, &placement);
  for (const CardMask mask : placement.parts) used |= mask;
  return blocks_.allows(ledger_, entry.shape, node, used, rules);
}

bool Planner::willing(const Entry& entry, std::uint32_t kind, NodeIndex node) {
  if (options_.choice.node != NodePolicy::dual_price) return true;
  blocks_.catch_up(ledger_);
  const Blocks::Rules rules = blocks_.rules_for(entry.shape, kind);
  return !rules.any() || spares_blocks(entry, rules, node);
}

Planner::Choice Planner::pick_at_random(const Ranking& ranking,
                                        const ChoiceOptions& choice_options) const {
  base::Rng rng(options_.seed * 0x9E3779B97F4A7C15ULL + draw_);
  if (!choice_options.allowed) {
    if (ranking.feasible() == 0) return {};
    return {.node = ranking.nth_feasible(rng.below(ranking.feasible()))};
  }
  std::vector<NodeIndex> fitting;
  for (std::size_t n = 0; n < ranking.rows(); ++n) {
    if (ranking.feasible(NodeIndex(n)) && choice_options.allowed(NodeIndex(n)))
      fitting.emplace_back(n);
  }
  if (fitting.empty()) return {};
  return {.node = fitting[rng.below(fitting.size())]};
}

Planner::Choice Planner::pick(Entry& entry, std::uint32_t kind,
                              const ChoiceOptions& choice_options) {
  ++draw_;
  const Ranking& ranking = entry.ranking;
  if (options_.choice.node == NodePolicy::random) return pick_at_random(ranking, choice_options);
  const auto best_of = [&](const std::function<bool(NodeIndex)>& allowed) {
    const NodeIndex first = ranking.best();
    return !first.valid() || !allowed || allowed(first) ? first : ranking.best_if(allowed);
  };
  const auto most_preferred = [&](NodeIndex best, const std::function<bool(NodeIndex)>& allowed) {
    if (!best.valid() || !choice_options.among) return best;
    const std::vector<NodeIndex> equals = ranking.at_cost(ranking.cost(best), allowed);
    return equals.size() > 1 ? choice_options.among(equals) : best;
  };
  const NodeIndex best = best_of(choice_options.allowed);
  if (!best.valid() || options_.choice.node != NodePolicy::dual_price) {
    return {.node = most_preferred(best, choice_options.allowed)};
  }
  blocks_.catch_up(ledger_);
  const Blocks::Rules rules = blocks_.rules_for(entry.shape, kind);
  if (!rules.any()) return {.node = most_preferred(best, choice_options.allowed)};
  const auto allowed = [&](NodeIndex node) {
    return (!choice_options.allowed || choice_options.allowed(node)) &&
           spares_blocks(entry, rules, node);
  };
  const NodeIndex sparing = spares_blocks(entry, rules, best) ? best : ranking.best_if(allowed);
  if (sparing.valid()) return {.node = most_preferred(sparing, allowed)};
  if (options_.hold_back) return {.node = {}, .held_back = true};
  return {.node = most_preferred(best, choice_options.allowed)};
}

Assignment Planner::cards_on(const PodSpec& pod, const Entry& entry, NodeIndex node) {
  Placement placement;
  JudgeContext judging = cache_.context(entry);
  judging.draw = draw_ + options_.seed;
  const Verdict verdict = judge(judging, entry.shape, node, &placement);
  STOWAGE_CHECK(verdict.reason.code == ReasonCode::none);
  return to_assignment(ledger_, entry.shape, node, placement, pod.containers.size());
}

Refusal Planner::refusal(Entry& entry, bool held_back) const {
  Refusal refusal =
      entry.ranking.refusal([&](ReasonCode code) { return asked_of(entry.shape, code); });
  for (auto& count : refusal.counts) {
    if (count.code != ReasonCode::extended) continue;
    count.what = resources_in_words(entry.shape);
  }
  add_card_names(ledger_, entry.shape, entry.ranking, refusal);
  if (!held_back) return refusal;
  const auto nodes = static_cast<std::int64_t>(entry.ranking.feasible());
  const ReasonCount kept{.code = ReasonCode::held_back, .nodes = nodes, .asked = entry.shape.cards};
  refusal.counts.insert(refusal.counts.begin(), kept);
  refusal.nodes += nodes;
  return refusal;
}

void Planner::work() {
  // The model of a new cluster changes fast, so its rankings are rebuilt faster.
  const bool young = learner_.demand().arrivals() < 2 * ledger_.nodes().count();
  cache_.work(young ? kYoungSlice : kSlice);
}

// ---- learning -------------------------------------------------------------------------------

std::uint32_t Planner::arrived(Entry& entry, Try which) {
  entry.shape.learn_names(ledger_);
  if (!learns_) return kNoKind;
  const std::uint32_t kind = which == Try::first ? learner_.arrived(entry.shape, ledger_)
                                                 : learner_.kind_of(entry.shape, ledger_);
  learn();
  return kind;
}

void Planner::accepted(PodIndex pod, std::uint32_t kind) {
  if (kind == kNoKind) return;
  if (kind_of_pod_.size() <= pod.at()) kind_of_pod_.resize(pod.at() + 1, kNoKind);
  kind_of_pod_[pod.at()] = kind;
  learner_.accepted(kind);
  blocks_.accepted(kind, learner_.demand().kinds()[kind]);
}

void Planner::refused(std::uint32_t kind) {
  if (kind != kNoKind) blocks_.refused(kind, learner_.demand().kinds()[kind], ledger_);
}

void Planner::departed(PodIndex pod) {
  if (pod.at() >= kind_of_pod_.size() || kind_of_pod_[pod.at()] == kNoKind) return;
  const std::uint32_t kind = std::exchange(kind_of_pod_[pod.at()], kNoKind);
  learner_.departed(kind);
  blocks_.departed(kind);
}

void Planner::learn() {
  const std::uint64_t lessons = learner_.lessons();
  const bool fresh = learner_.step(ledger_);
  const bool lesson = learner_.lessons() != lessons;
  if (lesson && uses_price_) blocks_.learn(learner_.demand(), ledger_, learner_.departures());
  if (fresh || (lesson && uses_fgd_ && options_.typical.empty())) publish_model();
  if (fresh) ++models_learned_;
}

// FGD's target workload if none is given: the most frequent kinds of pods seen, up to 95 percent.
std::vector<TypicalPod> Planner::typical() const {
  if (!options_.typical.empty()) return options_.typical;
  const Demand& demand = learner_.demand();
  std::vector<TypicalPod> pods;
  double total = 0;
  for (const auto& kind : demand.kinds()) {
    TypicalPod pod{.cpu_milli = kind.cpu_milli, .cards = kind.cards};
    if (!kind.parts.empty()) {
      pod.milli = kind.parts[0].milli;
      pod.models_any = kind.parts[0].filter.models_any;
    }
    pod.frequency = demand.weight(kind);
    total += pod.frequency;
    pods.push_back(std::move(pod));
  }
  std::stable_sort(pods.begin(), pods.end(), [](const TypicalPod& a, const TypicalPod& b) {
    return a.frequency > b.frequency;
  });
  double covered = 0;
  std::size_t keep = 0;
  while (keep < pods.size() && covered < 0.95 * total) covered += pods[keep++].frequency;
  pods.resize(keep);
  for (auto& pod : pods) pod.frequency /= covered;
  return pods;
}

void Planner::publish_model() {
  auto model = std::make_shared<PolicyModel>();
  model->price = learner_.model();
  if (uses_fgd_) {
    fgd_models_ = models_known();
    model->typical = typical();
    model->fgd = std::make_shared<const FgdModel>(make_fgd_model(model->typical, ledger_));
  }
  model_ = std::move(model);
}

}  // namespace stowage::core
