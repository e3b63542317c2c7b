// Reads the cards of the machine repeatedly, on its own thread: a driver may be slow or never
// answer. Each result reaches the loop's thread as a snapshot.
//
// A thread that hangs in the driver cannot be ended. It is left behind when the sampler is
// destroyed; the process may exit without it.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gpu/card_list.h"
#include "gpu/health.h"
#include "gpu/source.h"
#include "net/event_loop.h"

namespace stowage::agent {

struct CardsSnapshot {
  bool known = false;  // the cards have been read at least once
  gpu::Inventory inventory;
  gpu::CardList list;                             // with health
  std::vector<gpu::CardSample> samples;           // newest
  std::map<std::string, gpu::CardHealth> health;  // by card
  std::vector<std::string> news;                  // cards that became unhealthy or healthy, as
                                                  // texts
  std::string trouble;                            // why nothing could be read; empty: no error
};

struct SamplerOptions {
  net::Duration every = std::chrono::seconds{1};
  net::Duration inventory_every = std::chrono::seconds{60};  // or earlier if it is out of date
  gpu::HealthOptions health;
};

class Sampler {
 public:
  using OnSnapshot = std::function<void(std::shared_ptr<const CardsSnapshot>)>;
  Sampler(net::EventLoop& loop, std::unique_ptr<gpu::Source> source, SamplerOptions options,
          OnSnapshot on_snapshot);
  ~Sampler();
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;

  void start();
  // When the last snapshot arrived; time zero: never.
  [[nodiscard]] net::Moment last() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace stowage::agent
