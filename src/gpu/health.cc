#include "gpu/health.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/backoff.h"

namespace stowage::gpu {
namespace {

// More than a machine has or gets in a day, in case a source invents cards.
constexpr std::size_t kMostCards = 1024;
constexpr std::size_t kMostText = 200;
constexpr const char* kGone = "the card is missing";

std::string with_text(std::string words, const std::string& text) {
  if (text.empty()) return words;
  return fmt::format("{}: {}", words, std::string_view(text).substr(0, kMostText));
}

std::string words_of(const Fault& fault) {
  switch (fault.kind) {
    case FaultKind::xid: {
      const XidMeaning meaning = meaning_of(fault.xid);
      const std::string number = fmt::format("XID {}", fault.xid);
      return with_text(with_text(number, meaning.words), fault.text);
    }
    case FaultKind::lost: return with_text("the card does not answer", fault.text);
    case FaultKind::ecc_uncorrected: return with_text("uncorrected memory errors", fault.text);
    case FaultKind::row_remap_failure:
      return with_text("memory rows could not be remapped", fault.text);
    case FaultKind::reset_required: return with_text("the driver asks for a reset", fault.text);
  }
  return fault.text;
}

}  // namespace

void HealthTracker::advance(base::Instant now) {
  now_ = std::max(now_, now);
  std::erase_if(cards_, [&](const auto& entry) {
    const Record& record = entry.second;
    return !record.present && now_.ns - record.absent_since.ns >= options_.forget.count();
  });
}

// Null if there are too many already.
HealthTracker::Record* HealthTracker::record_of(const std::string& card) {
  if (const auto found = cards_.find(card); found != cards_.end()) return &found->second;
  if (cards_.size() >= kMostCards) {
    const auto absent = std::find_if(cards_.begin(), cards_.end(),
                                     [](const auto& entry) { return !entry.second.present; });
    if (absent == cards_.end()) return nullptr;
    cards_.erase(absent);
  }
  return &cards_.try_emplace(card, Record{.since = now_}).first->second;
}

// ---- state changes of one card

// Marks the card unhealthy; idempotent. The caller decides for how long.
void HealthTracker::fall(Record& record, std::string reason) const {
  // Later faults of a broken card are consequences: the first reason stays.
  if (!record.unhealthy || !record.broken) record.reason = std::move(reason);
  if (record.unhealthy) return;
  const bool long_ago =
      record.was_unhealthy && now_.ns - record.since.ns >= options_.forget.count();
  if (long_ago) record.falls = 0;
  ++record.falls;
  record.unhealthy = true;
  record.was_unhealthy = true;
  record.since = now_;
}

void HealthTracker::rest(Record& record, std::chrono::nanoseconds pause) const {
  const base::Instant until{now_.ns + pause.count()};
  record.quiet_until = std::max(record.quiet_until.value_or(until), until);
}

// The quiet time after the first failure, twice as long after each further one; zero after none.
std::chrono::nanoseconds HealthTracker::pause_after(std::uint32_t falls) const {
  if (falls == 0) return {};
  return base::Backoff::nth(options_.quiet, options_.quiet_most, falls);
}

// The card was reset, or answers again. The first time it is trusted at once.
void HealthTracker::recover(Record& record) const {
  const bool waited = record.lost || record.broken || record.asks_reset || record.bad_memory;
  record.lost = false;
  record.broken = false;
  record.asks_reset = false;
  record.bad_memory = false;
  if (waited && record.falls > 0) rest(record, pause_after(record.falls - 1));
}

// The card was set up from scratch: its counters start at 0, and its history is forgotten.
void HealthTracker::renew(Record& record) const {
  recover(record);
  record.ecc.reset();
}

void HealthTracker::inherit(Record& record) const {
  for (const auto& [id, other] : cards_) {
    if (!other.broken || other.parent != record.parent || record.broken) continue;
    fall(record, other.reason);
    record.broken = true;
  }
}

// A card becomes healthy at the end of its quiet time, however late that is noticed.
void HealthTracker::settle(Record& record) const {
  base::Instant when = now_;
  if (record.quiet_until && *record.quiet_until <= now_) {
    when = *record.quiet_until;
    record.quiet_until.reset();
  }
  if (!record.unhealthy || record.lost || record.unfit() || record.quiet_until) return;
  record.unhealthy = false;
  record.since = when;
  record.reason.clear();
}

void HealthTracker::observe(const Fault& fault, base::Instant now) {
  advance(now);
  Record* const record = record_of(fault.card);
  if (record == nullptr) return;
  settle(*record);
  XidEffect effect = XidEffect::needs_reset;
  if (fault.kind == FaultKind::xid) {
    const auto known = options_.xids.find(fault.xid);
    effect = known != options_.xids.end() ? known->second : meaning_of(fault.xid).effect;
    if (effect == XidEffect::none) return;
  } else if (fault.kind == FaultKind::ecc_uncorrected) {
    effect = XidEffect::rest;
  }
  fall(*record, words_of(fault));
  if (fault.kind == FaultKind::lost) {
    record->lost = true;
  } else if (effect == XidEffect::needs_reset) {
    record->broken = true;
  } else {
    rest(*record, pause_after(record->falls));
  }
}

// ---- observations of a source

void HealthTracker::observe(const Inventory& inventory, base::Instant now) {
  advance(now);
  const bool other_life = driver_life_ && *driver_life_ != inventory.driver_life;
  driver_life_ = inventory.driver_life;
  if (other_life) {
    for (auto& [id, record] : cards_) {
      settle(record);
      renew(record);
    }
  }
  std::set<std::string> there;
  for (const CardInfo& card : inventory.cards) {
    there.insert(card.id);
    const bool known = cards_.contains(card.id);
    Record* const record = record_of(card.id);
    if (record == nullptr) continue;
    settle(*record);
    const bool was_there = known && std::exchange(record->present, true);
    record->parent = card.mig ? card.mig->parent : "";
    if (!was_there && card.mig) inherit(*record);
    if (!was_there && !card.mig) renew(*record);
    if (!card.answers && !std::exchange(record->lost, true)) {
      fall(*record, words_of({.kind = FaultKind::lost}));
    }
    settle(*record);
  }
  for (auto& [id, record] : cards_) {
    if (!there.contains(id) && std::exchange(record.present, false)) record.absent_since = now_;
  }
}

void HealthTracker::observe(const std::vector<CardSample>& samples, base::Instant now) {
  advance(now);
  for (const CardSample& sample : samples) {
    Record* const record = record_of(sample.id);
    if (record == nullptr) continue;
    settle(*record);
    if (std::exchange(record->lost, false)) {
      if (record->falls > 0) rest(*record, pause_after(record->falls - 1));
    }
    read_levels(*record, sample);
    read_ecc(*record, sample);
    settle(*record);
  }
}

void HealthTracker::read_levels(Record& record, const CardSample& sample) const {
  // Values that are not reported stay as they were.
  const bool asks = sample.needs_reset.value_or(record.asks_reset);
  const bool bad = sample.row_remap_failed.value_or(record.bad_memory);
  const bool worse = (asks && !record.asks_reset) || (bad && !record.bad_memory);
  // The driver had asked for a reset and no longer does: the reset has happened.
  const bool was_reset = record.asks_reset && !asks;
  const bool was_replaced = record.bad_memory && !bad && !record.broken;
  if (was_reset || was_replaced) recover(record);
  record.asks_reset = asks;
  record.bad_memory = bad;
  if ((!asks && !bad) || (record.unhealthy && !worse)) return;
  fall(record, words_of({.kind = asks ? FaultKind::reset_required : FaultKind::row_remap_failure}));
}

void HealthTracker::read_ecc(Record& record, const CardSample& sample) const {
  if (!sample.ecc_uncorrected) return;
  const std::uint64_t count = *sample.ecc_uncorrected;
  const auto before = std::exchange(record.ecc, count);
  if (!before) return;  // the time of these errors is unknown
  // A lower number than before means that the driver was reloaded and counts from 0.
  const std::uint64_t more = count >= *before ? count - *before : count;
  if (more == 0) return;
  fall(record,
       words_of({.kind = FaultKind::ecc_uncorrected, .text = fmt::format("{} more", more)}));
  rest(record, pause_after(record.falls));
}

// ---- calls of readers

std::vector<HealthTracker::Change> HealthTracker::pass(base::Instant now) {
  advance(now);
  std::vector<Change> changes;
  for (auto& [id, record] : cards_) {
    settle(record);
    const bool told = std::exchange(record.reported_unhealthy, record.unhealthy);
    if (told != record.unhealthy) changes.push_back({id, of(id)});
  }
  return changes;
}

CardHealth HealthTracker::of(const std::string& card) const {
  const auto found = cards_.find(card);
  if (found == cards_.end()) return {};
  const Record& record = found->second;
  CardHealth health{.healthy = !record.unhealthy, .reason = record.reason, .since = record.since};
  if (!record.present) {
    health.healthy = false;
    health.reason = kGone;
    health.since = record.absent_since;
    return health;
  }
  health.needs_reset = record.unhealthy && record.unfit();
  if (record.unhealthy && !record.lost && !health.needs_reset) health.until = record.quiet_until;
  return health;
}

}  // namespace stowage::gpu
