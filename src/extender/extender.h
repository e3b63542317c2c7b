// Answers kube-scheduler's questions about pods that it schedules itself, from the one ledger.
//
//   body -> decode -> (engine's thread: filter, score, claim, preempt) -> answer
//                                                    `-> bind, or patch the pod, and then answer
//
// kube-scheduler forgets a pod that was refused until something in the cluster changes that it
// looks at. Room that comes by later (a hold that ran out, a quota that grew, an end that we saw
// after it asked) is no such thing: then we touch the pod, which makes kube-scheduler try it again.
//
// One thread, the loop's, apart from the engine's part. Everything that is a decision is an answer
// with status 200; an error text is in it where something stands in the way.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/log.h"
#include "codec/extender.h"
#include "core/engine/asks.h"
#include "extender/guest_book.h"
#include "extender/options.h"
#include "net/http_server.h"
#include "scheduler/scheduler.h"

namespace stowage::extender {

class Extender {
 public:
  struct Ends {
    scheduler::Scheduler::Shared shared;
    std::uint32_t first_profile = 0;         // of our policies, in their order
    std::function<std::string()> not_ready;  // why nothing can be answered yet; empty if it can
    // False: questions are for the replica that leads. Unset: always true.
    std::function<bool()> leads;
    base::Log& log;
  };
  Extender(ExtenderOptions options, Ends ends);
  ~Extender();
  Extender(const Extender&) = delete;
  Extender& operator=(const Extender&) = delete;

  // `body` of the request is taken.
  void handle(Verb verb, net::ServerRequest request, std::shared_ptr<net::Responder> responder);

  struct VerbCount {
    std::uint64_t calls = 0;
    std::uint64_t errors = 0;   // answers with an error text, or with another status than 200
    std::uint64_t refused = 0;  // filter: no node fits
    std::uint64_t nanos = 0;    // from the decoded request to the answer
  };
  struct Counters {
    std::array<VerbCount, kVerbs> verbs;
    std::uint64_t woken = 0;  // refused pods that were touched because there is room by now
    std::size_t guests = 0;
  };
  static constexpr std::size_t kGuestsMax = 20'000;  // remembered; the longest unused is forgotten
  [[nodiscard]] Counters counters() const;
  [[nodiscard]] const ExtenderOptions& options() const { return options_; }

 private:
  struct Call;  // one request on its way
  using CallPtr = std::shared_ptr<Call>;

  // ---- filter and prioritize (filter.cc)
  void filter(const CallPtr& call);
  void prioritize(const CallPtr& call);
  // Reads the body into the call; false if it was answered already.
  bool open_args(const CallPtr& call);
  bool read_pod(const CallPtr& call, dialect::PodObject object);
  [[nodiscard]] bool not_ours(const Call& call) const;
  void pass(const CallPtr& call);
  bool keep_promise(const CallPtr& call);
  // How long the cards of a pod are kept; unset: see scheduler/promises.h.
  [[nodiscard]] std::optional<std::chrono::nanoseconds> hold_time() const;
  void filtered(const CallPtr& call);
  void answer_filter(const CallPtr& call);
  void scored(const CallPtr& call);
  void answer_scores(const CallPtr& call);
  void judge_templates(const CallPtr& call) const;
  void tell_refusal(const CallPtr& call, const std::string& text);
  void warn(const CallPtr& call, std::string reason, std::string note);
  void filter_error(const CallPtr& call, const std::string& error);
  void score_cpu_nodes(const CallPtr& call);

  // ---- what is written on pods before they are bound (promise.cc)
  bool keep_until_bound(const CallPtr& call, bool fits);
  [[nodiscard]] dialect::Annotations promise_text(const Call& call, const core::NodeSpec& node,
                                                  const core::Assignment& cards) const;
  void write_then_answer(const CallPtr& call);
  void promise_written(const CallPtr& call);
  void promise_failed(const CallPtr& call, const std::string& error);

  // ---- bind and preempt (bind.cc, preempt.cc)
  void bind(const CallPtr& call);
  void bind_known(const CallPtr& call);
  void claimed(const CallPtr& call);
  void bind_answer(const CallPtr& call, const std::string& error);
  void preempt(const CallPtr& call);
  void preempted(const CallPtr& call);
  [[nodiscard]] std::string bind_obstacle(const Call& call) const;

  // ---- refused pods (wake.cc)
  void look_again_later(Guest& guest);
  void wake_refused();
  void touch(const std::string& uid);

  // ---- status (status.cc)
  void status(const CallPtr& call);

  // Runs `work` on the engine's thread and then `after` on the loop's.
  using Work = std::function<void(Call&, const scheduler::Mailbox::Hearing&)>;
  void on_engine(const CallPtr& call, Work work, std::function<void(const CallPtr&)> after);
  void send(const CallPtr& call, net::HttpResponse response, bool good);
  void send_json(const CallPtr& call, std::string body, bool good = true);
  void send_text(const CallPtr& call, int status, std::string text);
  [[nodiscard]] std::uint32_t profile_for(std::string_view dialect) const;
  // The call's pod in the engine's terms.
  [[nodiscard]] Status read_spec(Call& call) const;
  [[nodiscard]] std::int64_t unix_nanos() const;

  ExtenderOptions options_;
  Ends ends_;
  codec::ExtenderDecoder decoder_;
  GuestBook guests_;
  std::set<std::string> writing_;  // uids of pods on which an answer is being written
  Counters counters_;
  net::Timer waker_;
  std::shared_ptr<bool> alive_;
};

}  // namespace stowage::extender
