// Learns the model of dual-price from arriving pods, in bounded steps.
//
// A new model is computed from the demand after arrival 1, 2, 4, ... 256, then at regular
// intervals, and at once when a new share size arrives. It consists of card values by packing
// duals, CPU per card, and weights of node classes. If all prices stay the same, the old model is
// kept, so that its rankings stay valid.
#pragma once

#include <memory>
#include <vector>

#include "core/price/demand.h"
#include "core/price/model.h"
#include "core/price/packing.h"

namespace stowage::core {

class Learner {
 public:
  explicit Learner(const PolicyOptions& options);

  // A pod arrived for the first time. Returns its kind, for accepted() and the other calls.
  std::uint32_t arrived(const Shape& shape, const Ledger& ledger);
  // The kind of a pod that arrived before; a new kind if it was dropped since.
  std::uint32_t kind_of(const Shape& shape, const Ledger& ledger);
  void accepted(std::uint32_t kind);
  void departed(std::uint32_t kind);

  // One bounded step of learning. True if model() is new.
  bool step(const Ledger& ledger);

  [[nodiscard]] const std::shared_ptr<const PriceModel>& model() const { return model_; }
  [[nodiscard]] const Demand& demand() const { return demand_; }
  // How often the demand was evaluated, whether or not the model changed.
  [[nodiscard]] std::uint64_t lessons() const { return lessons_; }
  // The rate of departures: 0 if no pods leave, 1 if as many leave as arrive.
  [[nodiscard]] double departures() const;

 private:
  void begin(const Ledger& ledger);
  bool finish(const Ledger& ledger);
  void set_rates(PriceModel& model) const;
  void set_weights(PriceModel& model, const Ledger& ledger) const;
  [[nodiscard]] std::vector<double> model_pressure(const Ledger& ledger, double cards) const;
  [[nodiscard]] std::vector<double> shape_pressure(const Ledger& ledger, double cards) const;

  // Current prices. They are kept while they are nearly optimal for the demand seen since.
  struct Prices {
    std::vector<PackingItem> items;
    std::vector<double> prices;
    CardValue value;
    [[nodiscard]] bool serve(const Packing& fresh) const;
    void renew(const Packing& fresh);
  };

  bool memory_duals_ = true;
  Prices prices_;
  std::vector<Prices> memory_prices_;  // by memory class
  Demand demand_;
  std::shared_ptr<const PriceModel> model_;
  Packing packing_;
  std::vector<Packing> memory_packing_;  // by memory class
  bool learning_ = false;
  bool again_ = false;         // another lesson is due
  std::uint64_t next_at_ = 1;  // arrival count at which to learn again
  std::uint64_t lessons_ = 0;
  double accepted_ = 0;  // decayed counts
  double departed_ = 0;
};

}  // namespace stowage::core
