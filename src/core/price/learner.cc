#include "core/price/learner.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

namespace stowage::core {
namespace {

constexpr std::uint64_t kDoublingUntil = 256;
constexpr std::uint64_t kInterval = 200;        // 100 to 500 give the same placements on the traces
constexpr std::uint64_t kNodesPerInterval = 8;  // larger clusters change more slowly
constexpr int kRoundsPerStep = 8;        // of pricing, in one dimension 2 to 20 microseconds each
constexpr int kMemoryRoundsPerStep = 2;  // in two dimensions 50 to 150 microseconds each
constexpr std::size_t kMemorySizesPriced = 8;
constexpr double kFadePerArrival = 0.9995;
constexpr double kEnoughAcceptances = 50;
constexpr double kLeavingFrom = 0.3;  // departures per acceptance

constexpr double kScarceModelWeight = 3.0;
constexpr double kMostModelPressure = 2.0;
constexpr double kPriorCards =
    0.02;  // fraction of the cluster: prior weight of a demand for any model
constexpr double kSameRate = 0.02;  // smaller changes of a rate are ignored as noise
constexpr double kSameWeight = 0.06;
constexpr double kSamePrices = 0.005;  // relative to the value of the demand in cards

double keep_if_close(double fresh, double old, double tolerance) {
  return std::abs(fresh - old) <= tolerance * old ? old : fresh;
}

double total_cards(const Ledger& ledger) {
  double cards = 0;
  for (std::size_t c = 0; c < ledger.classes().all().size(); ++c) {
    cards +=
        static_cast<double>(ledger.classes().nodes(c) * ledger.classes().all()[c].models.size());
  }
  return cards;
}

// By memory class: whether it is one of the few most frequent sizes. Each such size needs its own
// packing.
std::vector<bool> common_sizes(const Ledger& ledger) {
  const auto& sizes = ledger.names().memory().sizes();
  std::map<std::int32_t, std::size_t> cards;
  for (std::size_t c = 0; c < ledger.classes().all().size(); ++c) {
    for (const auto mib : ledger.classes().all()[c].memory_mib) {
      cards[mib] += ledger.classes().nodes(c);
    }
  }
  std::vector<std::size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return cards[sizes[a]] > cards[sizes[b]]; });
  std::vector<bool> common(sizes.size(), false);
  for (std::size_t i = 0; i < std::min(order.size(), kMemorySizesPriced); ++i) {
    common[order[i]] = cards[sizes[order[i]]] > 0;
  }
  return common;
}

}  // namespace

Learner::Learner(const PolicyOptions& options) : memory_duals_(options.memory_duals) {
  auto model = std::make_shared<PriceModel>();
  model->prepare();
  model_ = std::move(model);
}

double Learner::departures() const {
  if (accepted_ < kEnoughAcceptances) return 0;
  const double ratio = std::min(1.0, departed_ / accepted_);
  return std::floor(ratio * 20 + 0.5) / 20;  // rounded, so that rankings stay valid longer
}

std::uint32_t Learner::arrived(const Shape& shape, const Ledger& ledger) {
  accepted_ *= kFadePerArrival;
  departed_ *= kFadePerArrival;
  const auto seen = demand_.arrived(shape, ledger);
  const std::uint64_t n = demand_.arrivals();
  if (n >= next_at_ || seen.new_share) {
    if (learning_) {
      again_ = true;  // restarting each time would never finish
    } else {
      begin(ledger);
    }
    const std::uint64_t interval =
        std::max<std::uint64_t>(kInterval, ledger.nodes().count() / kNodesPerInterval);
    if (n >= next_at_) next_at_ = n < kDoublingUntil ? n * 2 : n + interval;
  }
  return seen.kind;
}

std::uint32_t Learner::kind_of(const Shape& shape, const Ledger& ledger) {
  return demand_.kind_of(shape, ledger);
}

void Learner::accepted(std::uint32_t kind) {
  accepted_ += 1;
  demand_.set_running(kind, 1);
}

void Learner::departed(std::uint32_t kind) {
  departed_ += 1;
  demand_.set_running(kind, -1);
}

void Learner::begin(const Ledger& ledger) {
  std::map<std::pair<std::int32_t, std::int32_t>, double> shares;  // (milli, MiB) -> demand
  bool memory_asked = false;
  for (const auto& kind : demand_.kinds()) {
    for (const auto& part : kind.parts) {
      if (part.whole) continue;
      const std::int32_t mib = part.whole_memory       ? kWholeMemory
                               : part.memory_with_core ? kMemoryWithCore
                                                       : part.memory_mib;
      shares[{part.milli, mib}] += demand_.weight(kind) * part.count;
      memory_asked = memory_asked || mib != 0;
    }
  }
  std::map<std::int32_t, double> by_milli;
  for (const auto& [size, demand] : shares) by_milli[size.first] += demand;
  std::vector<PackingItem> items;
  items.reserve(by_milli.size());
  for (const auto& [milli, demand] : by_milli) items.push_back({milli, 0, demand});
  packing_.start(std::move(items), false);

  memory_packing_.resize(memory_duals_ && memory_asked ? ledger.names().memory().sizes().size()
                                                       : 0);
  const std::vector<bool> priced = common_sizes(ledger);
  for (std::size_t c = 0; c < memory_packing_.size(); ++c) {
    const std::int64_t card = priced[c] ? ledger.names().memory().sizes()[c] : 0;
    std::vector<PackingItem> pairs;
    for (const auto& [size, demand] : shares) {
      const auto [milli, mib] = size;
      if (card == 0) continue;
      const std::int64_t permille = mib == kWholeMemory      ? 1000
                                    : mib == kMemoryWithCore ? milli
                                                             : (mib * 1000LL + card - 1) / card;
      if (permille <= 1000) pairs.push_back({milli, static_cast<std::int32_t>(permille), demand});
    }
    memory_packing_[c].start(std::move(pairs), true);
  }
  learning_ = true;
}

// Dual prices stay feasible for any demand, but may no longer be optimal. The value of the demand
// at these prices, relative to the value at the optimal prices, shows how far off they are.
bool Learner::Prices::serve(const Packing& fresh) const {
  double ours = 0;
  double best = 0;
  for (std::size_t i = 0; i < fresh.items().size(); ++i) {
    const PackingItem& item = fresh.items()[i];
    const auto known = std::find_if(items.begin(), items.end(), [&](const PackingItem& old) {
      return old.milli == item.milli && old.memory_permille == item.memory_permille;
    });
    if (known == items.end()) return false;  // a size without a price
    ours += item.demand * prices[static_cast<std::size_t>(known - items.begin())];
    best += item.demand * fresh.prices()[i];
  }
  return ours >= (1 - kSamePrices) * best;
}

void Learner::Prices::renew(const Packing& fresh) {
  if (fresh.items().size() == items.size() && serve(fresh)) return;
  items = fresh.items();
  prices = fresh.prices();
  value = fresh.value();
}

bool Learner::step(const Ledger& ledger) {
  if (!learning_) return false;
  for (int i = 0; i < kRoundsPerStep && packing_.running(); ++i) packing_.step();
  if (packing_.running()) return false;
  for (auto& packing : memory_packing_) {
    for (int i = 0; i < kMemoryRoundsPerStep && packing.running(); ++i) packing.step();
    if (packing.running()) return false;
  }
  learning_ = false;
  ++lessons_;
  const bool fresh = finish(ledger);
  if (std::exchange(again_, false)) begin(ledger);
  return fresh;
}

bool Learner::finish(const Ledger& ledger) {
  auto fresh = std::make_shared<PriceModel>();
  prices_.renew(packing_);
  fresh->value = prices_.value;
  memory_prices_.resize(memory_packing_.size());
  for (std::size_t c = 0; c < memory_packing_.size(); ++c) {
    memory_prices_[c].renew(memory_packing_[c]);
    fresh->memory_value.push_back(memory_prices_[c].value);
  }
  set_rates(*fresh);
  set_weights(*fresh, ledger);
  const double d = departures();
  fresh->convex = 0.2 + 0.8 * d;
  fresh->blocks = 0.75 * d;
  fresh->fullest_first = d >= kLeavingFrom;
  if (fresh->same_prices(*model_)) return false;
  fresh->version = model_->version + 1;
  fresh->prepare();
  model_ = std::move(fresh);
  return true;
}

// CPU per card, over the pods that use cards.
void Learner::set_rates(PriceModel& model) const {
  double cpu = 0;
  double gpus = 0;
  for (const auto& kind : demand_.kinds()) {
    if (kind.gpus == 0) continue;
    cpu += demand_.weight(kind) * static_cast<double>(kind.cpu_milli);
    gpus += demand_.weight(kind) * kind.gpus;
  }
  if (cpu <= 0) return;
  model.cards_per_cpu_milli = keep_if_close(gpus / cpu, model_->cards_per_cpu_milli, kSameRate);
}

// For each model, the fraction of its cards that pods with restricted models would use if the
// cluster were exactly full. Once there is such demand, a small part of it is assumed to be for
// models without requests so far, so that a rare model is expensive before its first pod arrives.
std::vector<double> Learner::model_pressure(const Ledger& ledger, double cards) const {
  const auto& models = ledger.names().models().names();
  std::vector<double> cards_of(models.size(), 0.0);
  for (std::size_t c = 0; c < ledger.classes().all().size(); ++c) {
    for (const auto model : ledger.classes().all()[c].models) {
      cards_of[model] += static_cast<double>(ledger.classes().nodes(c));
    }
  }
  double seen = 0;
  double constrained = 0;
  for (const auto& kind : demand_.kinds()) {
    seen += demand_.weight(kind) * kind.gpus;
    if (kind.constrained) constrained += demand_.weight(kind) * kind.gpus;
  }
  std::vector<double> pressure(models.size(), 0.0);
  if (constrained == 0 || seen == 0) return pressure;
  const double prior = kPriorCards * cards;
  const double scale = cards / (seen + prior);
  for (const auto& kind : demand_.kinds()) {
    if (!kind.constrained) continue;
    double accepted = 0;
    for (std::size_t m = 0; m < models.size(); ++m) {
      if (kind.accepts(static_cast<std::uint16_t>(m))) accepted += cards_of[m];
    }
    if (accepted == 0) continue;
    const double demand = demand_.weight(kind) * kind.gpus * scale / accepted;
    for (std::size_t m = 0; m < models.size(); ++m) {
      if (kind.accepts(static_cast<std::uint16_t>(m))) pressure[m] += demand;
    }
  }
  const auto in_use = static_cast<double>(
      std::count_if(cards_of.begin(), cards_of.end(), [](double n) { return n > 0; }));
  for (std::size_t m = 0; m < models.size(); ++m) {
    if (cards_of[m] > 0) {
      pressure[m] += constrained / seen * prior / (seen + prior) * cards / (in_use * cards_of[m]);
    }
  }
  return pressure;
}

// The same for node classes, from multi-card pods that fit on less than half of all cards.
std::vector<double> Learner::shape_pressure(const Ledger& ledger, double cards) const {
  const auto& classes = ledger.classes().all();
  std::vector<double> pressure(classes.size(), 0.0);
  double seen = 0;
  for (const auto& kind : demand_.kinds()) seen += demand_.weight(kind) * kind.gpus;
  for (const auto& kind : demand_.kinds()) {
    if (kind.cards < 2) continue;
    double fitting = 0;
    for (std::size_t c = 0; c < classes.size(); ++c) {
      if (fits_empty(kind, classes[c])) {
        fitting += static_cast<double>(ledger.classes().nodes(c) * classes[c].models.size());
      }
    }
    if (fitting == 0 || fitting >= cards / 2) continue;
    const double demand = demand_.weight(kind) * kind.gpus * cards / seen / fitting;
    for (std::size_t c = 0; c < classes.size(); ++c) {
      if (fits_empty(kind, classes[c])) pressure[c] += demand;
    }
  }
  return pressure;
}

void Learner::set_weights(PriceModel& model, const Ledger& ledger) const {
  const double cards = total_cards(ledger);
  const auto by_model = model_pressure(ledger, cards);
  const auto by_shape = shape_pressure(ledger, cards);
  const auto& classes = ledger.classes().all();
  for (std::size_t c = 0; c < classes.size(); ++c) {
    double pressure = 0;
    for (const auto m : classes[c].models) pressure = std::max(pressure, by_model[m]);
    double weight = (1 + kScarceModelWeight * std::min(kMostModelPressure, pressure)) *
                    (1 + std::min(1.0, by_shape[c]));
    if (c < model_->weight.size()) weight = keep_if_close(weight, model_->weight[c], kSameWeight);
    model.weight.push_back(weight);
  }
}

}  // namespace stowage::core
