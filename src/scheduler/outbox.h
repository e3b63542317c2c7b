// Carries out what the engine commands, and tells it what came of it: binds, conditions, events,
// evictions, nominations, questions to the outside picker. One thread, the loop's.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "core/explain/condition.h"
#include "core/model/event.h"
#include "kube/binder.h"
#include "kube/condition_writer.h"
#include "kube/event_recorder.h"
#include "kube/object_access.h"
#include "kube/pod_access.h"
#include "scheduler/claim_binder.h"
#include "scheduler/evictor.h"
#include "scheduler/mailbox.h"
#include "scheduler/nominator.h"
#include "scheduler/picker.h"
#include "scheduler/roster.h"

namespace stowage::scheduler {

class Outbox {
 public:
  struct Ends {  // all outlive the outbox
    Roster& roster;
    Mailbox& mailbox;
    kube::Binder& binder;
    kube::EventRecorder& recorder;
    kube::ConditionWriter& conditions;
    kube::PodAccess& pods;
    kube::ObjectAccess& objects;
    net::EventLoop& loop;
    base::Log& log;
    kube::WallClock wall_clock;
    // A volume claim as it is now, by "namespace/name"; null if there is none.
    std::function<const ClaimView*(const std::string&)> claim;
    // How many of the pods that are being bound wait for volumes.
    std::function<void(std::size_t)> on_claims_waiting;
  };
  struct Options {
    ClaimBinderOptions claims;
    const std::vector<Profile>& profiles;  // for their pickers
  };
  Outbox(const Options& options, Ends ends);
  ~Outbox();
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;

  void carry_out(const core::Commands& commands);
  // Binds a pod of another scheduler, whose cards are claimed. The engine is told how it ends, and
  // `done` with an error or an empty text as soon as there is an answer; if that leaves it open
  // whether the pod is bound, the bind is seen to an end all the same.
  struct GuestBind {
    kube::BindAsk ask;
    dialect::Annotations labels;
    std::string warning;     // told in an event once the pod is bound
    std::string model_note;  // the same
    std::function<void(const std::string& error)> done;
  };
  void bind_guest(GuestBind guest);
  void tell(const Notice& notice);
  // We do not lead any more: what is under way is dropped, guests are told so, and commands that
  // still come are passed over, until lead() is called.
  void stand_down();
  void lead();
  // To be called whenever a volume claim appears, changes or goes.
  void claim_changed(const std::string& claim) { claims_.claim_changed(claim); }

  struct Counters {
    std::uint64_t refused = 0;    // refusals told, the engine's and ours
    std::uint64_t conflicts = 0;  // pods with a share that another had before
    std::uint64_t unknown = 0;    // binds that were asked for again because nobody knew their end
    std::map<std::string, std::uint64_t> refused_by;  // by the word of the dominant reason
    Evictor::Counters evictions;
    Nominator::Counters nominations;
    ClaimBinder::Counters claims;
    std::map<std::string, Picker::Counters> pickers;  // by profile
  };
  [[nodiscard]] Counters counters() const;

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
  void carry_out(const core::Evict& evict) { evictor_.evict(evict); }
  void carry_out(const core::Nominate& nominate) { nominator_.nominate(nominate); }
  void carry_out(const core::AskPicker& ask);
  void carry_out(const core::CardConflict& conflict);
  // The pod is bound now, or refused, by what is known of it and of the node at this moment.
  // `decided`: when its cards were chosen.
  void bind_pod(const core::Bind& bind, std::int64_t decided);
  void claims_failed(const core::Bind& bind, const std::string& why);
  struct Errand {
    kube::BindAsk ask;
    dialect::Annotations labels;
    std::string warning;
    std::string model_note;
    std::function<void(const std::string&)> tell_guest;
    bool guest_told = false;
  };
  static void drop(Errand& errand);  // of a term that has ended
  void bind(Errand errand);
  void send(Errand errand);
  void bind_ended(Errand& errand, const kube::BindOutcome& outcome);
  void bind_again(Errand errand);
  struct Refused {
    Name pod;
    bool was_false = false;
    core::Condition condition = core::Condition::unschedulable;
    std::string message;
  };
  void refuse(const Refused& refused);
  void record(const Name& pod, kube::EventType type, std::string reason, std::string note);

  Ends ends_;
  Counters counters_;
  Evictor evictor_;
  Nominator nominator_;
  ClaimBinder claims_;
  std::map<std::uint32_t, std::unique_ptr<Picker>> pickers_;  // by profile
  std::map<std::uint64_t, net::Timer> pauses_;                // of binds that are asked for again
  std::uint64_t pause_count_ = 0;
  // What was found of pods before we led, as after a restart: nobody else may have told of it.
  std::map<std::pair<std::string, Notice::Kind>, Notice> found_before_;
  bool leads_ = true;
  std::shared_ptr<bool> alive_;
};

}  // namespace stowage::scheduler
