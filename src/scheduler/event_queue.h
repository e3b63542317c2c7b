// Where events wait for the engine. Any thread puts, the engine's thread takes.
//
//   replies   results of binds, ticks and requests: taken first, in order
//   objects   the current state of nodes, pods and other objects: the newest state of an object
//             replaces an older one that still waits, so that there are never more
//             entries than objects
//   pending   pods that want a place: by priority, then by arrival; closed until the first lists
//             have arrived, and taken only as long as the number of binds under way allows it
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

class EventQueue {
 public:
  // Called on the engine's thread. Commands that result are executed.
  struct EngineAccess {
    core::Engine& engine;
    base::Instant now;
    core::Commands& out;
  };
  using Question = std::function<void(EngineAccess)>;
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
  void put_plugin(core::PluginMissing event);
  // `name`: the name of the object.
  void put_aux_object(const std::string& name, core::AuxObjectChanged event);
  void put_aux_object_gone(core::AuxObjectGone event);

  // Allows pods to be placed: the lists have arrived, and this replica leads.
  void open();
  // Keeps pending pods in the queue until open() is called again.
  void pause();
  // take() returns nothing from now on, even if the queue is not empty.
  void close();
  // Questions are no longer answered.
  [[nodiscard]] bool closed() const;

  // Everything in `replies` and `objects`, and at most `pending_max` pending pods. Waits until
  // there is something; unset once the event queue is closed.
  [[nodiscard]] std::optional<std::vector<Message>> take(std::size_t pending_max);
  // The same without waiting; empty if there is nothing.
  [[nodiscard]] std::optional<std::vector<Message>> take_now(std::size_t pending_max);
  // If set, called on every arrival instead of signalling the condition variable.
  void on_arrival(std::function<void()> arrived) { on_arrival_ = std::move(arrived); }
  // Only for the tests of the fault simulation: drops an event for which it returns false.
  void keep_events_if(std::function<bool(const core::Event&)> keep) { keep_ = std::move(keep); }

  struct Sizes {
    std::size_t replies = 0;
    std::size_t objects = 0;
    std::size_t pending = 0;
  };
  [[nodiscard]] Sizes sizes() const;

 private:
  struct Turn {                // order of a pending pod; lowest first
    std::int64_t urgency = 0;  // its priority, negated
    std::uint64_t number = 0;
    auto operator<=>(const Turn&) const = default;
  };
  struct Entry {
    std::optional<Turn> turn;  // set: in `pending`, with its event
    std::optional<core::Event> event;
    std::uint64_t serial = 0;       // else in `objects`
    std::uint64_t cards_named = 0;  // value of cards_named_ when it was put there
  };
  struct Object {
    std::string key;
    core::Event event;
  };
  // An event that names cards stays after the state of the node by which they were found, and
  // before the next state with other cards. So a card that is removed and added again is still
  // held.
  enum class Merge : std::uint8_t { in_place, to_the_end, not_at_all };

  void put_object(const std::string& key, core::Event event, Merge merge = Merge::in_place);
  void put_node_event(const std::string& key, core::Event event);
  // The event with this key in `objects`; null if none exists.
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
  // "<kind>/<name>" of an auxiliary object.
  std::unordered_map<std::string, Entry> entries_;
  std::map<std::uint64_t, Object> objects_;  // by serial
  std::map<Turn, std::string> pending_;      // keys
  std::uint64_t turns_ = 0;
  std::uint64_t serials_ = 0;
  std::uint64_t cards_named_ = 0;  // number of events that name cards
  bool open_ = false;
  bool closed_ = false;
};

}  // namespace stowage::scheduler
