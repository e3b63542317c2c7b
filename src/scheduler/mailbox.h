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
#include <deque>
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
  // `name` as the thing has it.
  void put_thing(const std::string& name, core::ThingChanged event);
  void put_thing_gone(core::ThingGone event);

  // The lists are in: pods may be placed from now on.
  void open();
  // take() returns nothing from now on, even if something is there.
  void close();

  // Everything in `replies` and `objects`, and at most `pending_max` pods that want a place. Waits
  // until there is something; unset once the mailbox is closed.
  [[nodiscard]] std::optional<std::vector<Message>> take(std::size_t pending_max);

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
    std::optional<core::Event> event;
    std::optional<Turn> turn;  // set: in `pending`, else in `objects`
  };

  void put_object(const std::string& key, core::Event event);
  [[nodiscard]] bool something(std::size_t pending_max) const;

  mutable std::mutex mutex_;
  std::condition_variable arrived_;
  std::vector<Message> replies_;
  std::unordered_map<std::string, Slot> slots_;  // by "n/<name>", "p/<uid>" or "<kind>/<name>"
  std::deque<std::string> objects_;              // keys, by first arrival; stale ones are skipped
  std::map<Turn, std::string> pending_;          // keys
  std::uint64_t turns_ = 0;
  std::size_t objects_live_ = 0;
  bool open_ = false;
  bool closed_ = false;
};

}  // namespace stowage::scheduler
