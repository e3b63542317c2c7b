// Carries out what the engine commands, and tells it what came of it: binds, conditions, events.
// One thread, the loop's.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/log.h"
#include "core/model/event.h"
#include "kube/binder.h"
#include "kube/condition_writer.h"
#include "kube/event_recorder.h"
#include "kube/pod_access.h"
#include "scheduler/mailbox.h"
#include "scheduler/roster.h"

namespace stowage::scheduler {

// The engine decides by the cards that it knows of; the node may have lost some since.
[[nodiscard]] bool has_cards(const core::NodeSpec& node, const core::Assignment& cards);

class Outbox {
 public:
  struct Ends {  // all outlive the outbox
    Roster& roster;
    Mailbox& mailbox;
    kube::Binder& binder;
    kube::EventRecorder& recorder;
    kube::ConditionWriter& conditions;
    kube::PodAccess& pods;
    net::EventLoop& loop;
    base::Log& log;
    kube::WallClock wall_clock;
  };
  explicit Outbox(Ends ends);
  ~Outbox();
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;

  void carry_out(core::Commands commands);
  // Binds a pod of another scheduler, whose cards are claimed. The engine is told how it ends, and
  // `done` with an error or an empty text as soon as there is an answer; if that leaves it open
  // whether the pod is bound, the bind is seen to an end all the same.
  struct GuestBind {
    kube::BindAsk ask;
    dialect::Annotations labels;
    std::string warning;  // told in an event once the pod is bound
    std::function<void(const std::string& error)> done;
  };
  void bind_guest(GuestBind guest);
  void tell(const Notice& notice);

  struct Counters {
    std::uint64_t refused = 0;  // refusals told, the engine's and ours
    std::uint64_t unknown = 0;  // binds that were asked for again because nobody knew their end
    std::map<std::string, std::uint64_t> refused_by;  // by the word of the dominant reason
  };
  [[nodiscard]] const Counters& counters() const { return counters_; }

 private:
  struct Name {
    std::string ns;
    std::string name;
    std::string uid;
    [[nodiscard]] std::string text() const { return ns + "/" + name; }
  };

  void carry_out(const core::Bind& bind);
  void carry_out(const core::Refuse& refuse);
  void carry_out(const core::Reject& reject);
  struct Errand {
    kube::BindAsk ask;
    dialect::Annotations labels;
    std::string warning;
    std::function<void(const std::string&)> tell_guest;
    bool guest_told = false;
  };
  void bind(Errand errand);
  void send(Errand errand);
  void bind_ended(Errand& errand, const kube::BindOutcome& outcome);
  void bind_again(Errand errand);
  void refuse(const Name& pod, bool was_false, const std::string& message);
  void record(const Name& pod, kube::EventType type, std::string reason, std::string note);

  Ends ends_;
  Counters counters_;
  std::map<std::uint64_t, net::Timer> pauses_;  // of binds that are asked for again
  std::uint64_t pause_count_ = 0;
  std::shared_ptr<bool> alive_;
};

}  // namespace stowage::scheduler
