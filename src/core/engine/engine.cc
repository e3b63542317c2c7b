#include "core/engine/engine.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/rng.h"
#include "core/engine/waiting.h"
#include "core/index/shape_cache.h"
#include "core/policy/fgd.h"
#include "core/price/blocks.h"
#include "core/price/learner.h"

namespace stowage::core {
namespace {

// FGD's target workload where none was given: the most frequent kinds of pods seen, to 95 percent.
std::vector<TypicalPod> typical_of(const Demand& demand) {
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

}  // namespace

class Engine::Body {
 public:
  explicit Body(PolicyOptions options)
      : options_(std::move(options)),
        cache_(ledger_, options_),
        learner_(options_),
        uses_price_(options_.choice.node == NodePolicy::dual_price ||
                    options_.choice.card == CardPolicy::dual_price),
        uses_fgd_(options_.choice.node == NodePolicy::fgd ||
                  options_.choice.card == CardPolicy::fgd),
        learns_(uses_price_ || (uses_fgd_ && options_.typical.empty())) {
    publish_model();
  }

  Commands handle(const Event& event, base::Instant /*now*/) {
    out_.clear();
    std::visit([this](const auto& e) { on(e); }, event);
    return std::exchange(out_, {});
  }

  std::vector<NodeVerdict> explain(const PodSpec& pod) {
    const Shape shape = make_shape(pod, ledger_);
    const JudgeContext context{.ledger = &ledger_,
                               .options = &options_,
                               .price = model_->price.get(),
                               .fgd = model_->fgd.get()};
    std::vector<NodeVerdict> verdicts;
    for (std::size_t n = 0; n < ledger_.node_slots(); ++n) {
      const NodeIndex node(n);
      if (!ledger_.present(node)) continue;
      verdicts.push_back({ledger_.spec(node).name, judge(context, shape, node).reason});
    }
    return verdicts;
  }

  [[nodiscard]] const Ledger& ledger() const { return ledger_; }

  [[nodiscard]] Counters counters() const {
    Counters counters = counters_;
    counters.nodes_judged = cache_.judged();
    counters.waiting = waiting_.size();
    counters.shapes = cache_.size();
    return counters;
  }

 private:
  void on(const NodeChanged& e) {
    if (auto valid = validate(e.node); !valid) return reject(e.node.name, valid.error().message);
    wake(ledger_.upsert_node(e.node));
  }

  void on(const NodeGone& e) { ledger_.remove_node(e.name); }

  void on(const PodPending& e) {
    if (auto valid = validate(e.pod); !valid) return reject(e.pod.uid, valid.error().message);
    if (ledger_.find_pod(e.pod.uid).valid()) return;  // placed already
    std::uint64_t arrival = arrivals_++;
    const bool again = waiting_.remove(e.pod.uid);
    place(e.pod, arrival, again ? Try::again : Try::first);
  }

  void on(const PodSeenBound& e) {
    if (auto valid = validate(e.pod); !valid) return reject(e.pod.uid, valid.error().message);
    if (e.cards && e.cards->containers.size() != e.pod.containers.size()) {
      return reject(e.pod.uid, "the cards named do not match the pod's containers");
    }
    waiting_.remove(e.pod.uid);
    const bool known = ledger_.find_pod(e.pod.uid).valid();
    const PodIndex pod = ledger_.seen_bound(e.pod, e.node, e.cards);
    if (known || !learns_) return;
    // After a restart this is how the policy learns what runs.
    const Shape shape = make_shape(e.pod, ledger_);
    note_accepted(pod, learner_.arrived(shape, ledger_));
    learn();
  }

  void on(const BindDone& e) {
    const PodIndex pod = ledger_.find_pod(e.uid);
    if (!pod.valid()) return;
    ledger_.confirm(pod);
    binding_.erase(e.uid);
  }

  void on(const BindFailed& e) {
    const auto found = binding_.find(e.uid);
    if (found == binding_.end()) return;
    const Binding failed = std::move(found->second);
    binding_.erase(found);
    const PodIndex pod = ledger_.find_pod(e.uid);
    if (!pod.valid()) return;
    const NodeIndex node = release(pod);
    wake(node);  // others first: this pod would only fail again
    std::string key;
    append_shape_key(failed.pod, key);
    waiting_.park(key, failed.pod, failed.arrival);
  }

  void on(const PodGone& e) {
    if (waiting_.remove(e.uid)) return;
    binding_.erase(e.uid);
    const PodIndex pod = ledger_.find_pod(e.uid);
    if (!pod.valid()) return;
    const NodeIndex node = release(pod);
    if (!waiting_.groups().empty()) wake(node);
  }

  void on(const Tick& /*unused*/) {
    std::vector<std::string> keys;
    for (const auto& [key, group] : waiting_.groups()) keys.push_back(key);
    for (const auto& key : keys) try_group(key);
  }

  void reject(const std::string& subject, std::string why) {
    out_.emplace_back(Reject{.subject = subject, .why = std::move(why)});
  }

  NodeIndex release(PodIndex pod) {
    const NodeIndex node = ledger_.pod(pod).node;
    if (pod.at() < kind_of_pod_.size() && kind_of_pod_[pod.at()] != kNoKind) {
      learner_.departed(kind_of_pod_[pod.at()]);
      blocks_.departed(kind_of_pod_[pod.at()]);
      kind_of_pod_[pod.at()] = kNoKind;
    }
    ledger_.release(pod);
    return node;
  }

  void note_accepted(PodIndex pod, std::uint32_t kind) {
    if (kind_of_pod_.size() <= pod.at()) kind_of_pod_.resize(pod.at() + 1, kNoKind);
    kind_of_pod_[pod.at()] = kind;
    learner_.accepted(kind);
    blocks_.accepted(kind, learner_.demand().kinds()[kind], ledger_);
  }

  // ---- deciding -----------------------------------------------------------------------------

  enum class Try : std::uint8_t { first, again };

  ShapeCache::Entry& entry_for(const PodSpec& pod) {
    key_.clear();
    append_shape_key(pod, key_);
    return cache_.find(key_, [&] { return make_shape(pod, ledger_); });
  }

  // Finds a place for the pod, reserves it and asks for the bind; or parks the pod and says why.
  bool place(const PodSpec& pod, std::uint64_t arrival, Try which) {
    ShapeCache::Entry& entry = entry_for(pod);
    entry.shape.learn_models(ledger_);
    std::uint32_t kind = kNoKind;
    if (learns_) {
      kind = which == Try::first ? learner_.arrived(entry.shape, ledger_)
                                 : learner_.kind_of(entry.shape, ledger_);
      learn();
    }
    cache_.refresh(entry, model_);
    ++counters_.decisions;
    const Choice choice = choose(entry, kind);
    if (choice.node.valid()) {
      bind(pod, arrival, entry, choice.node, kind);
    } else {
      ++counters_.refused;
      if (choice.held_back) ++counters_.held_back;
      if (which == Try::first) refuse(pod, entry, choice.held_back);
      if (which == Try::first && kind != kNoKind) {
        blocks_.refused(kind, learner_.demand().kinds()[kind], ledger_);
      }
      waiting_.park(entry.shape.key, pod, arrival);
    }
    cache_.work();
    return choice.node.valid();
  }

  struct Choice {
    NodeIndex node;
    bool held_back = false;
  };

  Choice choose(ShapeCache::Entry& entry, std::uint32_t kind) {
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
    const JudgeContext context = cache_.context(entry);
    const auto allowed = [&](NodeIndex node) {
      if (!blocks_.touches(node)) return true;
      Placement placement;
      CardMask used = 0;
      (void)judge(context, entry.shape, node, &placement);
      for (const CardMask mask : placement.parts) used |= mask;
      return blocks_.allows(ledger_, entry.shape, node, used, rules);
    };
    if (allowed(best)) return {.node = best};
    const NodeIndex other = ranking.best_if(allowed);
    if (other.valid()) return {.node = other};
    if (options_.hold_back) return {.node = {}, .held_back = true};
    return {.node = best};
  }

  void bind(const PodSpec& pod, std::uint64_t arrival, const ShapeCache::Entry& entry,
            NodeIndex node, std::uint32_t kind) {
    Placement placement;
    JudgeContext context = cache_.context(entry);
    context.draw = draw_ + options_.seed;
    const Verdict verdict = judge(context, entry.shape, node, &placement);
    STOWAGE_CHECK(verdict.reason.code == ReasonCode::none);
    Assignment cards =
        to_assignment(ledger_, entry.shape, node, placement, pod.containers.size());
    const PodIndex index = ledger_.reserve(pod, node, cards);
    if (kind != kNoKind) note_accepted(index, kind);
    binding_.emplace(pod.uid, Binding{.pod = pod, .arrival = arrival});
    ++counters_.bound;
    out_.emplace_back(
        Bind{.uid = pod.uid, .node = ledger_.spec(node).name, .cards = std::move(cards)});
  }

  void refuse(const PodSpec& pod, ShapeCache::Entry& entry, bool held_back) {
    Refuse refuse{.uid = pod.uid, .refusal = {}};
    refuse.refusal = entry.ranking.refusal(
        [&](ReasonCode code) { return asked_of(entry.shape, code); });
    if (held_back) {
      const auto nodes = static_cast<std::int64_t>(entry.ranking.feasible());
      const ReasonCount kept{.code = ReasonCode::held_back, .nodes = nodes,
                             .asked = entry.shape.cards};
      refuse.refusal.counts.insert(refuse.refusal.counts.begin(), kept);
      refuse.refusal.nodes += nodes;
    }
    out_.emplace_back(std::move(refuse));
  }

  // ---- parked pods --------------------------------------------------------------------------

  // There is more room on this node: parked pods that it can hold now are tried, the most urgent
  // first. All other nodes refused them, and nothing has changed there.
  void wake(NodeIndex node) {
    while (!waiting_.groups().empty() && node.at() < ledger_.node_slots() &&
           ledger_.present(node)) {
      const std::string* best = nullptr;
      Waiting::Place first;
      for (const auto& [key, group] : waiting_.groups()) {
        const auto& [place, pod] = *group.begin();
        if (best != nullptr && !(place < first)) continue;
        if (!fits_on(pod, node)) continue;
        best = &key;
        first = place;
      }
      if (best == nullptr || !try_first(*best)) return;
    }
  }

  bool fits_on(const PodSpec& pod, NodeIndex node) {
    ShapeCache::Entry& entry = entry_for(pod);
    entry.shape.learn_models(ledger_);
    const JudgeContext context{.ledger = &ledger_,
                               .options = &options_,
                               .price = model_->price.get(),
                               .fgd = model_->fgd.get()};
    return judge(context, entry.shape, node).reason.code == ReasonCode::none;
  }

  bool try_first(const std::string& key) {
    const auto group = waiting_.groups().find(key);
    const auto [where, parked] = *group->second.begin();
    const PodSpec pod = parked;
    const std::uint64_t arrival = where.arrival;
    waiting_.remove(pod.uid);
    return place(pod, arrival, Try::again);
  }

  void try_group(const std::string& key) {
    while (waiting_.groups().contains(key) && try_first(key)) {
    }
  }

  // ---- learning -----------------------------------------------------------------------------

  void learn() {
    const std::uint64_t lessons = learner_.lessons();
    const bool fresh = learner_.step(ledger_);
    const bool lesson = learner_.lessons() != lessons;
    if (lesson && uses_price_) {
      blocks_.learn(learner_.demand(), ledger_, learner_.departures());
    }
    const bool new_models = uses_fgd_ && fgd_models_ != ledger_.models().size();
    if (fresh || new_models || (lesson && uses_fgd_ && options_.typical.empty())) publish_model();
    if (fresh) ++counters_.models_learned;
  }

  void publish_model() {
    auto model = std::make_shared<PolicyModel>();
    model->price = learner_.model();
    if (uses_fgd_) {
      fgd_models_ = ledger_.models().size();
      model->fgd = std::make_shared<const FgdModel>(make_fgd_model(
          options_.typical.empty() ? typical_of(learner_.demand()) : options_.typical, ledger_));
    }
    model_ = std::move(model);
  }

  static constexpr std::uint32_t kNoKind = ~0U;
  struct Binding {
    PodSpec pod;
    std::uint64_t arrival = 0;
  };

  PolicyOptions options_;
  Ledger ledger_;
  ShapeCache cache_;
  Learner learner_;
  Blocks blocks_;
  bool uses_price_;
  bool uses_fgd_;
  bool learns_;
  std::shared_ptr<const PolicyModel> model_;
  std::size_t fgd_models_ = 0;
  Waiting waiting_;
  std::unordered_map<std::string, Binding> binding_;  // lookup only
  std::vector<std::uint32_t> kind_of_pod_;            // by PodIndex
  std::string key_;
  std::uint64_t arrivals_ = 0;
  std::uint64_t draw_ = 0;
  Counters counters_;
  Commands out_;
};

Engine::Engine(PolicyOptions options) : body_(std::make_unique<Body>(std::move(options))) {}
Engine::~Engine() = default;
Engine::Engine(Engine&&) noexcept = default;
Engine& Engine::operator=(Engine&&) noexcept = default;

Commands Engine::handle(const Event& event, base::Instant now) { return body_->handle(event, now); }
const Ledger& Engine::ledger() const { return body_->ledger(); }
std::vector<Engine::NodeVerdict> Engine::explain(const PodSpec& pod) { return body_->explain(pod); }
Engine::Counters Engine::counters() const { return body_->counters(); }

}  // namespace stowage::core
