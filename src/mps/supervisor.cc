#include "mps/supervisor.h"

#include <filesystem>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/file.h"

namespace stowage::mps {
namespace {

std::int64_t unix_now() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// In one step: the agent never reads half a state.
Status replace_file(const std::string& path, const std::string& text) {
  STOWAGE_TRY_VOID(base::write_file(path + ".new", text));
  std::error_code error;
  std::filesystem::rename(path + ".new", path, error);
  if (error) return fail(fmt::format("cannot replace {}: {}", path, error.message()));
  return {};
}

}  // namespace

Supervisor::Supervisor(net::EventLoop& loop, SupervisorOptions options,
                       std::unique_ptr<gpu::Source> source, base::Log& log)
    : loop_(loop),
      options_(std::move(options)),
      source_(std::move(source)),
      log_(log),
      timer_(loop) {}

Supervisor::~Supervisor() {
  // All states first: daemons take seconds to end.
  for (auto& [id, card] : cards_) {
    tell(id, card, {.error = "the MPS daemons of this node were stopped"});
  }
  for (auto& [id, card] : cards_) card.daemon.stop();
}

void Supervisor::start() { look(); }

void Supervisor::look() {
  timer_.start(options_.look_every, [this] { look(); });
  read_cards();
  for (auto& [id, card] : cards_) look_after(id, card);
}

void Supervisor::read_cards() {
  auto inventory = source_->inventory();
  const std::string error = inventory ? "" : inventory.error().message;
  if (error != std::exchange(cards_error_, error) && !error.empty()) {
    log_.warn("the cards cannot be read; daemons that run are kept", {{"why", error}});
  }
  if (!inventory) return;
  std::set<std::string> present;
  for (const gpu::CardInfo& info : inventory->cards) {
    if (!usable_as_name(info.id)) continue;
    present.insert(info.id);
    const auto [at, fresh] =
        cards_.try_emplace(info.id,
                           DaemonProcess::Options{.program = options_.program,
                                                  .card = info.id,
                                                  .folder = folder_of(options_.root, info.id)},
                           base::Backoff(options_.pause_min, options_.pause_max));
    at->second.exclusive = info.exclusive;
    if (fresh) at->second.due = loop_.now();
  }
  for (auto at = cards_.begin(); at != cards_.end();) {
    if (present.contains(at->first)) {
      ++at;
      continue;
    }
    log_.warn("a card has gone; its MPS daemon is stopped", {{"card", at->first}});
    at->second.daemon.stop();
    tell(at->first, at->second, {.error = "the card has gone"});
    at = cards_.erase(at);
  }
}

void Supervisor::look_after(const std::string& id, Card& card) {
  const net::Moment now = loop_.now();
  if (card.daemon.alive()) {
    if (now - card.started_at > options_.steady_after) card.pauses.reset();
    if (card.daemon.listens()) {
      return tell(id, card, {.running = true, .exclusive = card.exclusive});
    }
    return tell(id, card, {.exclusive = card.exclusive, .error = "the MPS daemon is starting"});
  }
  if (std::exchange(card.started, false)) {
    card.due = now + card.pauses.next();
    return lost(id, card, fmt::format("the MPS daemon ended: {}", card.daemon.end()));
  }
  if (now < card.due) return tell(id, card, card.told);
  if (card.daemon.server_left()) {
    card.due = now + options_.pause_min;
    return lost(id, card,
                "the MPS daemon ended; its server still runs, and the daemon is "
                "started again when that has ended");
  }
  const Status started = card.daemon.start();
  if (!started) {
    card.due = now + card.pauses.next();
    return lost(id, card, started.error().message);
  }
  card.started = true;
  card.started_at = now;
  log_.info("an MPS daemon was started", {{"card", id}});
}

void Supervisor::lost(const std::string& id, Card& card, const std::string& why) {
  if (card.told.error != why) {
    log_.warn("a card has no MPS daemon", {{"card", id}, {"why", why}});
  }
  tell(id, card, {.exclusive = card.exclusive, .error = why});
}

// Writes the state if it has changed, and every few seconds: an old one does not count.
void Supervisor::tell(const std::string& id, Card& card, CardState state) {
  const net::Moment now = loop_.now();
  state.written_unix = card.told.written_unix;
  const bool due = card.told.written_unix == 0 || now - card.told_at >= options_.state_every;
  if (state == card.told && !due) return;
  state.written_unix = unix_now();
  const CardFolder folder = folder_of(options_.root, id);
  std::error_code ignored;
  std::filesystem::create_directories(folder.path, ignored);
  const Status written = replace_file(folder.state(), to_json(state));
  if (!written) {
    log_.warn("the state of a card cannot be written",
              {{"card", id}, {"why", written.error().message}});
  }
  if (state.running && !card.told.running) {
    log_.info("a card has an MPS daemon",
              {{"card", id}, {"isolation", state.exclusive ? "mps" : "mps-open"}});
  }
  card.told = std::move(state);
  card.told_at = now;
}

}  // namespace stowage::mps
