// Where events wait for the engine. Any thread puts, the engine's thread takes.
//
//   replies   outcomes of binds, ticks and questions: taken first, in their order
//   objects   nodes, pods and things as they are now: the newest state of an object replaces an
//   older one
//             that still waits, so that there are never more than there are objects
//   pending   pods that want a place: by priority, then by arrival; closed until the first lists
//             are in, and taken only as long as the binds under way allow it
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "core/engine/engine.h"
#include "core/model/event.h"

namespace stowage::scheduler {

class Mailbox {
 public:
  // Asked and answered on the engine's thread. Commands that come of it are carried out.
  struct Hearing {
    core::Engine& engine;
    base::Instant now;
    core::Commands& out;
  };
  using Question = std::function<void(Hearing)>;
  using Message = std::variant<core::Event, Question>;

  void put_reply(core::Event event);
  void ask(Question question);
  void put_node(core::NodeChanged event);
  void put_node_gone(const std::string& name);
  void put_pod(core::PodPending event);
  void put_pod(core::PodSeenBound event);
  void put_pod(core::PodHeld event);
  void put_pod(core::PodNominated event);
  void put_pod_gone(const std::string& uid);
  void put_load(core::CardsMeasured event);
  void put_cards(core::CardsNamed event);
  void put_silence(core::NodeSilent event);
  // `name` as the thing has it.
  void put_thing(const std::string& name, core::ThingChanged event);
  void put_thing_gone(core::ThingGone event);

  // Pods may be placed from now on: the lists are in, and we lead.
  void open();
  // Pods that want a place wait here until open() is called again.
  void hold_back();
  // take() returns nothing from now on, even if something is there.
  void close();

  // Everything in `replies` and `objects`, and at most `pending_max` pods that want a place. Waits
  // until there is something; unset once the mailbox is closed.
  [[nodiscard]] std::optional<std::vector<Message>> take(std::size_t pending_max);
  // The same without waiting; empty if there is nothing.
  [[nodiscard]] std::optional<std::vector<Message>> take_now(std::size_t pending_max);
  // Called whenever something has come, in the place of waking who waits in take().
  void on_arrival(std::function<void()> arrived) { on_arrival_ = std::move(arrived); }
  // For the tests of the fault simulation alone: an event for which it returns false is lost.
  void lose_some(std::function<bool(const core::Event&)> keep) { keep_ = std::move(keep); }

  struct Sizes {
    std::size_t replies = 0;
    std::size_t objects = 0;
    std::size_t pending = 0;
  };
  [[nodiscard]] Sizes sizes() const;

 private:
  struct Turn {                // of a pod that wants a place; lowest first
    std::int64_t urgency = 0;  // its priority, negated
    std::uint64_t number = 0;
    auto operator<=>(const Turn&) const = default;
  };
  struct Slot {
    std::optional<Turn> turn;  // set: in `pending`, with its event
    std::optional<core::Event> event;
    std::uint64_t serial = 0;       // else in `objects`
    std::uint64_t cards_named = 0;  // when it was put there
  };
  struct Object {
    std::string key;
    core::Event event;
  };
  // An event that names cards comes after the state of the node by which they were found, and
  // before the next one with other cards: what is held of a card that comes back is then still
  // held.
  enum class Merge : std::uint8_t { in_place, to_the_end, not_at_all };

  void put_object(const std::string& key, core::Event event, Merge merge = Merge::in_place);
  void put_node_event(const std::string& key, core::Event event);
  // The event of this key that waits in `objects`; null if there is none.
  [[nodiscard]] const core::Event* waiting(const std::string& key) const;
  [[nodiscard]] bool something(std::size_t pending_max) const;
  [[nodiscard]] std::optional<std::vector<Message>> take_locked(std::size_t pending_max);
  void notify();

  mutable std::mutex mutex_;
  std::condition_variable arrived_;
  std::function<void()> on_arrival_;
  std::function<bool(const core::Event&)> keep_;
  std::vector<Message> replies_;
  // By "n/<name>", "l/<name>" and "s/<name>" of a node, "p/<uid>" and "c/<uid>" of a pod,
  // "<kind>/<name>" of a thing.
  std::unordered_map<std::string, Slot> slots_;
  std::map<std::uint64_t, Object> objects_;  // by serial
  std::map<Turn, std::string> pending_;      // keys
  std::uint64_t turns_ = 0;
  std::uint64_t serials_ = 0;
  std::uint64_t cards_named_ = 0;  // events that name cards
  bool open_ = false;
  bool closed_ = false;
};

}  // namespace stowage::scheduler
