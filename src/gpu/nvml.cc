#include "gpu/nvml.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "gpu/nvml_links.h"
#include "gpu/nvml_sample.h"

namespace stowage::gpu {
namespace {

using nvml::Return;

constexpr int kMostEvents = 256;  // per call; a failing card may report an unlimited number

base::Instant steady_now() {
  return {std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds{1}};
}

std::string read_version(Return (*function)(char*, std::uint32_t)) {
  std::array<char, nvml::kVersionBytes> buffer{};
  if (nvml::call(function, buffer.data(), std::uint32_t{nvml::kVersionBytes}) != nvml::kSuccess) {
    return {};
  }
  return nvml::clean_text(buffer.data(), buffer.size());
}

// An error inside one instance does not affect the other instances of its card.
bool hits(const nvml::Event& event, const Mig& mig) {
  const auto is = [](std::uint32_t told, std::int32_t own) {
    return told == nvml::kNoInstance || told == static_cast<std::uint32_t>(own);
  };
  return is(event.gpu_instance, mig.gpu_instance) &&
         is(event.compute_instance, mig.compute_instance);
}

// Removes and returns the first match.
template <typename Test>
std::optional<Board> take_board(std::vector<Board>& boards, Test test) {
  const auto found = std::find_if(boards.begin(), boards.end(), test);
  if (found == boards.end()) return std::nullopt;
  Board board = std::move(*found);
  boards.erase(found);
  return board;
}

}  // namespace

void NvmlSource::Pause::take(base::Instant now) {
  taken = true;
  until = {now.ns + backoff.next().count()};
}

void NvmlSource::Pause::reset() {
  taken = false;
  backoff.reset();
}

NvmlSource::NvmlSource(NvmlOptions options)
    : options_(std::move(options)),
      reopen_{{options_.retry_first, options_.retry_most}},
      look_{{options_.look_first, options_.look_most}},
      events_again_{{options_.retry_first, options_.retry_most}} {
  if (!options_.now) options_.now = steady_now;
}

NvmlSource::~NvmlSource() { close(); }

// ---- the session

Status NvmlSource::open() {
  if (nvml_) return {};
  if (const auto now = options_.now(); now < reopen_.until) {
    const auto left = std::chrono::nanoseconds{reopen_.until.ns - now.ns};
    return fail(fmt::format("{}; tried again in {:.1f} s", trouble_,
                            std::chrono::duration<double>(left).count()));
  }
  auto library = nvml::Library::load(options_.library);
  if (!library) {
    driver_away_ = true;
    return refused(library.error().message);
  }
  if (const Return code = (*library)->init(); code != nvml::kSuccess) {
    driver_away_ = true;
    return refused(fmt::format("NVML does not start: {}", (*library)->words(code)));
  }
  nvml_ = std::move(*library);
  if (std::exchange(driver_away_, false)) ++driver_life_;
  driver_version_ = read_version(nvml_->driver_version);
  nvml_version_ = read_version(nvml_->nvml_version);
  trouble_.clear();
  return {};
}

tl::unexpected<Error> NvmlSource::refused(std::string why) {
  reopen_.take(options_.now());
  trouble_ = std::move(why);
  lose_all(trouble_);
  return fail(trouble_);
}

// The library is unloaded as well: the next session may need that of another driver.
void NvmlSource::close() {
  for (Board& board : boards_) board.device = nullptr;
  watched_.clear();
  stale_ = true;
  if (!nvml_) return;
  if (events_ != nullptr) (void)nvml::call(nvml_->event_set_free, std::exchange(events_, nullptr));
  (void)nvml_->shutdown();
  nvml_.reset();
}

tl::unexpected<Error> NvmlSource::end_session(Return code) {
  std::string why = fmt::format("the driver does not answer: {}", nvml_->words(code));
  // An uninitialized library says nothing about the driver.
  if (code != nvml::kUninitialized) driver_away_ = true;
  close();
  return refused(std::move(why));
}

// ---- lost cards

void NvmlSource::lose(Board& board, const std::string& why) {
  board.device = nullptr;
  for (Unit& unit : board.units) {
    if (!std::exchange(unit.card.answers, false)) continue;
    pending_.push_back({.kind = FaultKind::lost, .card = unit.card.id, .text = why});
  }
}

void NvmlSource::lose_all(const std::string& why) {
  for (Board& board : boards_) lose(board, why);
}

void NvmlSource::look_for_missing() {
  if (missing_ == 0) return look_.reset();
  const auto now = options_.now();
  if (!look_.taken) return look_.take(now);
  if (now < look_.until) return;
  look_.take(now);
  close();
}

// ---- the inventory

Result<Inventory> NvmlSource::inventory() {
  look_for_missing();
  STOWAGE_TRY_VOID(open());
  Boards fresh = read_boards(*nvml_, options_.sys);
  if (Answers answers; !answers.good(fresh.failed)) {
    if (answers.ending() != nvml::kSuccess) return end_session(fresh.failed);
    return fail(fmt::format("cannot count the cards: {}", nvml_->words(fresh.failed)));
  }
  merge(std::move(fresh));
  watch_events();
  return describe();
}

// Cards that answer get their current state. If the driver counts a card that does not answer, it
// is one of the known cards that are missing. Cards that neither answer nor are counted are
// removed.
void NvmlSource::merge(Boards fresh) {
  std::vector<Board> known = std::exchange(boards_, {});
  std::vector<Board> merged;
  for (Board& board : fresh.boards) {
    (void)take_board(known, [&](const Board& old) { return old.id == board.id; });
    merged.push_back(std::move(board));
  }
  stale_ = false;
  missing_ = fresh.silent.size();
  trouble_ = fresh.silent.empty() ? std::string()
                                  : fmt::format("cards that do not answer: {}; {}", missing_,
                                                nvml_->words(fresh.silent.front().code));
  for (Silent& silent : fresh.silent) keep_silent(std::move(silent), known, merged);
  std::sort(merged.begin(), merged.end(),
            [](const Board& a, const Board& b) { return a.index < b.index; });
  boards_ = std::move(merged);
}

void NvmlSource::keep_silent(Silent silent, std::vector<Board>& known, std::vector<Board>& merged) {
  const std::uint32_t index = silent.board.index;
  const std::string id = silent.board.id;
  auto old = take_board(known, [&](const Board& board) {
    return id.empty() ? board.index == index : board.id == id;
  });
  // Without an id and with another number than before: one of the missing cards.
  if (!old && id.empty()) old = take_board(known, [](const Board&) { return true; });
  if (!old && id.empty()) return;
  Board board = old ? std::move(*old) : std::move(silent.board);
  board.index = index;
  for (Unit& unit : board.units) unit.card.index = static_cast<std::int32_t>(index);
  lose(board, nvml_->words(silent.code));
  merged.push_back(std::move(board));
}

Inventory NvmlSource::describe() const {
  Inventory inventory{.links = read_links(*nvml_, boards_),
                      .driver_version = driver_version_,
                      .nvml_version = nvml_version_,
                      .driver_life = driver_life_};
  for (const Board& board : boards_) {
    for (const Unit& unit : board.units) inventory.cards.push_back(unit.card);
  }
  return inventory;
}

// ---- samples

Result<std::vector<CardSample>> NvmlSource::sample() {
  if (!nvml_) STOWAGE_TRY_VOID(inventory());
  std::vector<CardSample> samples;
  for (Board& board : boards_) {
    if (board.device == nullptr) continue;
    BoardSample read = read_sample(*nvml_, board);
    if (const Return code = read.answers.ending(); code != nvml::kSuccess) return end_session(code);
    if (read.answers.lost()) {
      lose(board, nvml_->words(read.answers.why()));
      stale_ = true;
      continue;
    }
    if (read.instance_gone) stale_ = true;
    for (CardSample& unit : read.units) samples.push_back(std::move(unit));
  }
  reopen_.reset();  // the session works again
  return samples;
}

// ---- events

void NvmlSource::watch_events() {
  if (events_ == nullptr) {
    if (options_.now() < events_again_.until) return;
    if (nvml::call(nvml_->event_set_create, &events_) != nvml::kSuccess) events_ = nullptr;
    if (events_ == nullptr) return events_again_.take(options_.now());
  }
  for (const Board& board : boards_) {
    if (board.device == nullptr || watched_.contains(board.device)) continue;
    std::uint64_t supported = 0;
    if (nvml::call(nvml_->event_types, board.device, &supported) != nvml::kSuccess) continue;
    const std::uint64_t wanted = supported & (nvml::kEventXid | nvml::kEventMigChange);
    // Cards without events (old ones, virtual ones) are observed only by their samples.
    if (wanted == 0) continue;
    if (nvml::call(nvml_->event_register, board.device, wanted, events_) == nvml::kSuccess) {
      watched_.emplace(board.device, board.id);
    }
  }
}

std::vector<Fault> NvmlSource::faults() {
  if (nvml_ && events_ != nullptr && !watched_.empty()) take_events();
  return std::exchange(pending_, {});
}

void NvmlSource::take_events() {
  for (int i = 0; i < kMostEvents; ++i) {
    nvml::Event event;
    const Return code = nvml::call(nvml_->event_wait, events_, &event, 0U);
    if (code == nvml::kTimeout) return events_again_.reset();  // no more events
    if (code == nvml::kSuccess) {
      take_event(event);
      continue;
    }
    if (Answers answers; !answers.good(code) && answers.ending() != nvml::kSuccess) {
      (void)end_session(code);
      return;
    }
    // One lost card invalidates the event set for all. The next inventory makes a set without it.
    (void)nvml::call(nvml_->event_set_free, std::exchange(events_, nullptr));
    watched_.clear();
    events_again_.take(options_.now());
    stale_ = true;
    return;
  }
}

void NvmlSource::take_event(const nvml::Event& event) {
  const auto watched = watched_.find(event.device);
  if (watched == watched_.end()) return;
  const auto board = std::find_if(boards_.begin(), boards_.end(),
                                  [&](const Board& known) { return known.id == watched->second; });
  if (board == boards_.end()) return;
  if (event.type == nvml::kEventMigChange) stale_ = true;
  if (event.type != nvml::kEventXid) return;
  for (const Unit& unit : board->units) {
    if (unit.card.mig && !hits(event, *unit.card.mig)) continue;
    pending_.push_back({.kind = FaultKind::xid,
                        .card = unit.card.id,
                        .xid = static_cast<std::uint32_t>(event.data)});
  }
}

}  // namespace stowage::gpu
