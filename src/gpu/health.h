// Decides which cards are healthy, from the reports of a source.
//
//   healthy --fault--> unhealthy --quiet for a while--> healthy
//   healthy --lost--> lost --answers--> healthy; from the second time on: unhealthy, as above
//   any --fault that a reset repairs--> broken --reset--> healthy
//
// - The quiet time doubles each time a card becomes unhealthy again, up to a limit, and is reset
//   after a day of health. Each fault restarts it.
// - Waiting does not repair broken cards. A reset has happened when the card disappeared from the
//   inventory and came back, when the driver was unloaded and came back, or when the driver, which
//   had asked for a reset, no longer does. A restart of the agent forgets them too.
// - Instances of a divided card come and go without a reset of it. A new instance is broken if
//   another one of the same card is broken, or was when it disappeared.
// - Application errors do not make a card unhealthy (gpu/xid.h).
//
// Pure: no clock; callers pass the time, which does not run backwards. It is independent of any
// driver. Memory is bounded by the cards of the machine.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/instant.h"
#include "gpu/source.h"
#include "gpu/xid.h"

namespace stowage::gpu {

struct HealthOptions {
  std::chrono::nanoseconds quiet = std::chrono::minutes{5};
  std::chrono::nanoseconds quiet_most = std::chrono::hours{1};
  std::chrono::nanoseconds forget = std::chrono::hours{24};  // for relapses, and for cards that
                                                             // disappeared
  std::map<std::uint32_t, XidEffect> xids;                   // overrides by the cluster's owner
};

struct CardHealth {
  bool healthy = true;
  bool needs_reset = false;            // waiting does not help
  std::string reason;                  // why it is not healthy
  base::Instant since;                 // the last change between healthy and not
  std::optional<base::Instant> until;  // healthy from then on if nothing else happens
  friend bool operator==(const CardHealth&, const CardHealth&) = default;
};

class HealthTracker {
 public:
  explicit HealthTracker(HealthOptions options) : options_(std::move(options)) {}

  void observe(const Inventory& inventory, base::Instant now);
  void observe(const std::vector<CardSample>& samples, base::Instant now);
  void observe(const Fault& fault, base::Instant now);

  struct Change {
    std::string card;
    CardHealth health;
  };
  // Advances the time. Returns the cards that changed between healthy and unhealthy since the last
  // call, by id.
  std::vector<Change> pass(base::Instant now);

  // As of the last call above. An unknown card is healthy.
  [[nodiscard]] CardHealth of(const std::string& card) const;
  [[nodiscard]] bool healthy(const std::string& card) const { return of(card).healthy; }
  [[nodiscard]] std::size_t size() const { return cards_.size(); }

 private:
  // All that is known about one card: what was observed, and the state that follows.
  struct Record {
    bool present = true;           // in the last inventory
    base::Instant absent_since{};  // if it is not
    std::string parent;            // of an instance: the card
    bool lost = false;
    bool broken = false;      // by a fault
    bool asks_reset = false;  // by the last sample
    bool bad_memory = false;  // by the last sample
    std::optional<base::Instant> quiet_until;
    std::optional<std::uint64_t> ecc;

    bool unhealthy = false;
    bool reported_unhealthy = false;
    base::Instant since{};
    bool was_unhealthy = false;  // at least once
    std::uint32_t falls = 0;
    std::string reason;

    // Only a reset, or another card, can repair this.
    [[nodiscard]] bool unfit() const { return broken || asks_reset || bad_memory; }
  };

  void advance(base::Instant now);
  Record* record_of(const std::string& card);
  void fall(Record& record, std::string reason) const;
  void rest(Record& record, std::chrono::nanoseconds pause) const;
  [[nodiscard]] std::chrono::nanoseconds pause_after(std::uint32_t falls) const;
  void recover(Record& record) const;
  void renew(Record& record) const;
  void inherit(Record& record) const;
  void settle(Record& record) const;
  void read_levels(Record& record, const CardSample& sample) const;
  void read_ecc(Record& record, const CardSample& sample) const;

  HealthOptions options_;
  base::Instant now_{};
  std::optional<std::uint64_t> driver_life_;
  std::map<std::string, Record> cards_;
};

}  // namespace stowage::gpu
