// Learns the model of dual-price from the pods that arrive, a bounded piece of work at a time.
//
// After arrival 1, 2, 4, ... 256, then at regular intervals, and at once when a new size of share
// comes, the demand seen is turned into a new model: card values by packing duals, CPU per card,
// weights of node classes. A model that prices everything as before is not a new model, so that
// rankings made with it live on.
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

  // A pod came for the first time. Returns its kind, for set_running and so on.
  std::uint32_t arrived(const Shape& shape, const Ledger& ledger);
  // The kind of a pod that came before; a new one if it was forgotten since.
  std::uint32_t kind_of(const Shape& shape, const Ledger& ledger);
  void accepted(std::uint32_t kind);
  void departed(std::uint32_t kind);

  // A bounded step of learning. True if model() is new.
  bool step(const Ledger& ledger);

  [[nodiscard]] const std::shared_ptr<const PriceModel>& model() const { return model_; }
  [[nodiscard]] const Demand& demand() const { return demand_; }
  // Times the demand was taken anew, whether or not that changed the model.
  [[nodiscard]] std::uint64_t lessons() const { return lessons_; }
  // How much pods leave: 0 while they only come, 1 when as many leave as come.
  [[nodiscard]] double departures() const;

 private:
  void begin(const Ledger& ledger);
  bool finish(const Ledger& ledger);
  void set_rates(PriceModel& model) const;
  void set_weights(PriceModel& model, const Ledger& ledger) const;
  [[nodiscard]] std::vector<double> model_pressure(const Ledger& ledger, double cards) const;
  [[nodiscard]] std::vector<double> shape_pressure(const Ledger& ledger, double cards) const;

  // Prices in use: they stay while they are nearly the best ones for the demand seen since.
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
  bool again_ = false;         // there is news for another lesson
  std::uint64_t next_at_ = 1;  // arrival at which to learn again
  std::uint64_t lessons_ = 0;
  double accepted_ = 0;  // faded counts
  double departed_ = 0;
};

}  // namespace stowage::core
