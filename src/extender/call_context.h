// What all handlers of an extender share: options and dependencies, the way to the engine's thread
// and back, and the way to answer a call, which also counts it.
//
// Lives on the loop's thread. The extender owns it, and destroys it after the handlers.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/log.h"
#include "base/result.h"
#include "codec/extender.h"
#include "extender/call.h"
#include "extender/options.h"
#include "scheduler/scheduler.h"

namespace stowage::extender {

class CallContext {
 public:
  struct Deps {
    scheduler::Scheduler::Shared shared;
    std::uint32_t first_profile = 0;         // the profile of the first policy; others follow
    std::function<std::string()> not_ready;  // why no request can be answered yet; empty if it can
    std::function<bool()> leads;             // whether this replica leads; unset: always
    base::Log& log;
  };
  struct VerbCount {
    std::uint64_t calls = 0;
    std::uint64_t errors = 0;   // answers with an error text, or with a status other than 200
    std::uint64_t refused = 0;  // filter: no node fits
    std::uint64_t nanos = 0;    // from the arrival of the request to its answer
  };
  using VerbCounts = std::array<VerbCount, kVerbs>;

  CallContext(ExtenderOptions options, Deps deps);
  ~CallContext();
  CallContext(const CallContext&) = delete;
  CallContext& operator=(const CallContext&) = delete;

  [[nodiscard]] const ExtenderOptions& options() const { return options_; }
  [[nodiscard]] const scheduler::Scheduler::Shared& shared() const { return deps_.shared; }
  [[nodiscard]] codec::ExtenderDecoder& decoder() { return decoder_; }
  [[nodiscard]] bool leads() const { return !deps_.leads || deps_.leads(); }
  // The error text to answer with while no request can be answered; empty if one can.
  [[nodiscard]] std::string not_ready() const;
  [[nodiscard]] std::int64_t unix_nanos() const;
  [[nodiscard]] VerbCount& count(Verb verb) { return counts_[static_cast<std::size_t>(verb)]; }
  [[nodiscard]] const VerbCounts& counts() const { return counts_; }

  // Sets `spec` and `dialect` of the call from its `object`. An error says what is wrong with the
  // pod.
  [[nodiscard]] Status read_spec(Call& call) const;

  // Wraps a callback that runs on the loop's thread: it does nothing once the extender is gone.
  template <typename Callback>
  [[nodiscard]] auto while_alive(Callback callback) const {
    return [alive = alive_, callback = std::move(callback)](auto&&... arguments) mutable {
      if (*alive) callback(std::forward<decltype(arguments)>(arguments)...);
    };
  }

  // Runs work(call, EngineAccess) on the engine's thread, and then after(pointer to the call) on
  // the loop's, unless the extender is gone by then.
  //
  // A call holds its responder, which must be destroyed on the loop's thread. So the engine's
  // thread moves its reference away, and never drops the last one.
  template <typename AnyCall, typename Work, typename After>
  void on_engine(std::shared_ptr<AnyCall> call, Work work, After after) {
    deps_.shared.event_queue.ask([&loop = deps_.shared.loop, call = std::move(call),
                                  work = std::move(work), after = while_alive(std::move(after))](
                                     const scheduler::EventQueue::EngineAccess& access) mutable {
      work(*call, access);
      loop.post([call = std::move(call), after = std::move(after)]() mutable { after(call); });
    });
  }

  // Each call is answered by exactly one of these. `good`: counted as no error.
  void send_json(const Call& call, std::string body, bool good = true);
  void send_text(const Call& call, int status, std::string text);
  // Records a warning event about the call's pod.
  void warn(const Call& call, kube::EventReason reason, std::string note);

 private:
  void send(const Call& call, net::HttpResponse response, bool good);
  [[nodiscard]] std::uint32_t profile_for(std::string_view dialect) const;

  ExtenderOptions options_;
  Deps deps_;
  codec::ExtenderDecoder decoder_;
  VerbCounts counts_;
  std::shared_ptr<bool> alive_;
};

}  // namespace stowage::extender
