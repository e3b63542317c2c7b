// Decides which cards are fit for work, from what a source says about them.
//
//   well --fault--> sick --quiet for a while--> well
//   well --lost--> lost --answers--> well; from the second time on: sick, as above
//   any --fault that a reset mends--> broken --reset--> well
//
// - The quiet time doubles each time a card falls sick again, up to a limit, and is as at first
//   again after a day of health. It begins anew with each fault.
// - Broken cards do not mend by waiting. A reset has happened when the card was gone from the
//   inventory and came back, when the driver was away and came back, or when the driver, which had
//   asked for a reset, does so no more. Otherwise a person has to say so: pardon().
// - Instances of a divided card come and go without a reset of it. One that comes while another of
//   the same card is broken, or was when it went, is broken too.
// - Applications that err do not make a card sick (gpu/xid.h).
//
// Pure: no clock; time is what the callers say, and does not run backwards. Nothing here knows a
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
  std::chrono::nanoseconds forget = std::chrono::hours{24};  // relapses, and cards that are gone
  std::map<std::uint32_t, XidEffect> xids;  // where the cluster's owner knows better
};

struct CardHealth {
  bool healthy = true;
  bool needs_reset = false;            // waiting does not help
  std::string reason;                  // why it is not healthy
  base::Instant since;                 // the last change between healthy and not
  std::optional<base::Instant> until;  // healthy from then on if nothing else happens
  friend bool operator==(const CardHealth&, const CardHealth&) = default;
};

class HealthKeeper {
 public:
  explicit HealthKeeper(HealthOptions options) : options_(std::move(options)) {}

  void see(const Inventory& inventory, base::Instant now);
  void see(const std::vector<CardSample>& samples, base::Instant now);
  void see(const Fault& fault, base::Instant now);
  // An operator says that the card is well, whatever has happened until now: also one whose driver
  // says that it has bad memory, until that changes. Not one that does not answer. False: there is
  // no such card.
  bool pardon(const std::string& card, base::Instant now);

  struct Change {
    std::string card;
    CardHealth health;
  };
  // Lets time pass. The cards that are healthy now and were not when this was last called, or the
  // other way round, by id.
  std::vector<Change> pass(base::Instant now);

  // As of the last call above. A card that nobody has spoken of is healthy.
  [[nodiscard]] CardHealth of(const std::string& card) const;
  [[nodiscard]] bool healthy(const std::string& card) const { return of(card).healthy; }
  [[nodiscard]] std::size_t size() const { return cards_.size(); }

 private:
  struct Record {
    bool present = true;           // in the last inventory
    base::Instant absent_since{};  // if it is not
    std::string parent;            // of an instance: the card
    bool lost = false;
    bool broken = false;      // by a fault
    bool asks_reset = false;  // by the last sample
    bool bad_memory = false;  // by the last sample
    bool excused = false;     // the two above do not count: an operator knows of them
    std::optional<base::Instant> quiet_until;
    std::optional<std::uint64_t> ecc;

    bool sick = false;
    bool told_sick = false;
    base::Instant since{};
    bool was_sick = false;  // at least once
    std::uint32_t falls = 0;
    std::string reason;

    // What only a reset, or another card, can mend.
    [[nodiscard]] bool unfit() const { return broken || (!excused && (asks_reset || bad_memory)); }
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
