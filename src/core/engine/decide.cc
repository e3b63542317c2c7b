// Finding a place for one pod, and learning from it.
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/rng.h"
#include "core/engine/body.h"

namespace stowage::core {
namespace {

// Judgements per decision towards rankings by a newer model.
constexpr std::size_t kSlice = 16;
constexpr std::size_t kYoungSlice = 64;

}  // namespace

Engine::Body::Body(PolicyOptions options)
    : options_(std::move(options)),
      cache_(ledger_, options_),
      learner_(options_),
      uses_price_(options_.choice.node == NodePolicy::dual_price ||
                  options_.choice.card == CardPolicy::dual_price),
      uses_fgd_(options_.choice.node == NodePolicy::fgd || options_.choice.card == CardPolicy::fgd),
      learns_(uses_price_ || (uses_fgd_ && options_.typical.empty())) {
  publish_model();
}

ShapeCache::Entry& Engine::Body::entry_for(const PodSpec& pod) {
  key_.clear();
  append_shape_key(pod, key_);
  return cache_.find(key_, [&] { return make_shape(pod, ledger_); });
}

JudgeContext Engine::Body::context() const {
  return {.ledger = &ledger_,
          .options = &options_,
          .price = model_->price.get(),
          .fgd = model_->fgd.get(),
          .draw = 0};
}

bool Engine::Body::place(const PodSpec& pod, std::uint64_t arrival, Try which) {
  ShapeCache::Entry& entry = entry_for(pod);
  entry.shape.learn_models(ledger_);
  std::uint32_t kind = kNoKind;
  if (learns_) {
    kind = which == Try::first ? learner_.arrived(entry.shape, ledger_)
                               : learner_.kind_of(entry.shape, ledger_);
    learn();
  }
  if (uses_fgd_ && fgd_models_ != ledger_.models().size()) publish_model();  // a new card model
  cache_.refresh(entry, model_);
  ++counters_.decisions;
  const Choice choice = choose(entry, kind);
  if (choice.node.valid()) {
    bind(pod, arrival, entry, choice, kind);
  } else {
    ++counters_.refused;
    if (choice.held_back) ++counters_.held_back;
    if (which == Try::first) {
      out_.emplace_back(refusal(pod, entry, choice.held_back));
      if (kind != kNoKind) blocks_.refused(kind, learner_.demand().kinds()[kind], ledger_);
    }
    waiting_.park(entry.shape.key, pod, arrival);
  }
  // While the cluster is new its model is young and changes fast: rankings follow faster.
  const bool young = learner_.demand().arrivals() < 2 * ledger_.node_count();
  cache_.work(young ? kYoungSlice : kSlice);
  return choice.node.valid();
}

Engine::Body::Choice Engine::Body::choose(ShapeCache::Entry& entry, std::uint32_t kind) {
  ++draw_;
  const Ranking& ranking = entry.ranking;
  if (options_.choice.node == NodePolicy::random) {
    if (ranking.feasible() == 0) return {};
    base::Rng rng(options_.seed * 0x9E3779B97F4A7C15ULL + draw_);
    return {.node = ranking.nth_feasible(rng.below(ranking.feasible()))};
  }
  const NodeIndex best = ranking.best();
  if (!best.valid() || options_.choice.node != NodePolicy::dual_price) return {.node = best};
  blocks_.catch_up(ledger_);
  const Blocks::Rules rules = blocks_.rules_for(entry.shape, kind);
  if (!rules.any()) return {.node = best};
  const JudgeContext judging = cache_.context(entry);
  const auto allowed = [&](NodeIndex node) {
    if (!blocks_.touches(node)) return true;
    Placement placement;
    CardMask used = 0;
    (void)judge(judging, entry.shape, node, &placement);
    for (const CardMask mask : placement.parts) used |= mask;
    return blocks_.allows(ledger_, entry.shape, node, used, rules);
  };
  if (allowed(best)) return {.node = best};
  const NodeIndex other = ranking.best_if(allowed);
  if (other.valid()) return {.node = other};
  if (options_.hold_back) return {.node = {}, .held_back = true};
  return {.node = best};
}

Assignment Engine::Body::cards_on(const PodSpec& pod, const ShapeCache::Entry& entry,
                                  NodeIndex node) {
  Placement placement;
  JudgeContext judging = cache_.context(entry);
  judging.draw = draw_ + options_.seed;
  const Verdict verdict = judge(judging, entry.shape, node, &placement);
  STOWAGE_CHECK(verdict.reason.code == ReasonCode::none);
  return to_assignment(ledger_, entry.shape, node, placement, pod.containers.size());
}

void Engine::Body::bind(const PodSpec& pod, std::uint64_t arrival, const ShapeCache::Entry& entry,
                        const Choice& choice, std::uint32_t kind) {
  Assignment cards = cards_on(pod, entry, choice.node);
  const PodIndex index = ledger_.reserve(pod, choice.node, cards);
  if (kind != kNoKind) note_accepted(index, kind);
  binding_.emplace(pod.uid, Binding{.pod = pod, .arrival = arrival});
  ++counters_.bound;
  out_.emplace_back(
      Bind{.uid = pod.uid, .node = ledger_.spec(choice.node).name, .cards = std::move(cards)});
}

Refuse Engine::Body::refusal(const PodSpec& pod, ShapeCache::Entry& entry, bool held_back) const {
  Refuse refuse{.uid = pod.uid, .refusal = {}};
  refuse.refusal =
      entry.ranking.refusal([&](ReasonCode code) { return asked_of(entry.shape, code); });
  if (!held_back) return refuse;
  const auto nodes = static_cast<std::int64_t>(entry.ranking.feasible());
  const ReasonCount kept{.code = ReasonCode::held_back, .nodes = nodes, .asked = entry.shape.cards};
  refuse.refusal.counts.insert(refuse.refusal.counts.begin(), kept);
  refuse.refusal.nodes += nodes;
  return refuse;
}

// ---- learning -------------------------------------------------------------------------------

void Engine::Body::note_accepted(PodIndex pod, std::uint32_t kind) {
  if (kind_of_pod_.size() <= pod.at()) kind_of_pod_.resize(pod.at() + 1, kNoKind);
  kind_of_pod_[pod.at()] = kind;
  learner_.accepted(kind);
  blocks_.accepted(kind, learner_.demand().kinds()[kind], ledger_);
}

void Engine::Body::learn() {
  const std::uint64_t lessons = learner_.lessons();
  const bool fresh = learner_.step(ledger_);
  const bool lesson = learner_.lessons() != lessons;
  if (lesson && uses_price_) {
    blocks_.learn(learner_.demand(), ledger_, learner_.departures());
  }
  if (fresh || (lesson && uses_fgd_ && options_.typical.empty())) publish_model();
  if (fresh) ++counters_.models_learned;
}

// FGD's target workload where none was given: the most frequent kinds of pods seen, to 95 percent.
std::vector<TypicalPod> Engine::Body::typical() const {
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

void Engine::Body::publish_model() {
  auto model = std::make_shared<PolicyModel>();
  model->price = learner_.model();
  if (uses_fgd_) {
    fgd_models_ = ledger_.models().size();
    model->typical = typical();
    model->fgd = std::make_shared<const FgdModel>(make_fgd_model(model->typical, ledger_));
  }
  model_ = std::move(model);
}

}  // namespace stowage::core
