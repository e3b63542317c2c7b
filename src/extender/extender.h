// Answers kube-scheduler's requests about the pods that it schedules itself, from the one ledger.
//
//   body -> decode -> (engine's thread: filter, score, reserve, preempt) -> answer
//                                                    `-> bind, or patch the pod, then answer
//
// Owns the parts that do so, and gives each request to the handler of its verb. Every decision is
// an answer with status 200; it carries an error text if something stands in the way.
//
// Lives on the loop's thread, except for what the engine does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "extender/bind_handler.h"
#include "extender/call_context.h"
#include "extender/external_pod_cache.h"
#include "extender/filter_handler.h"
#include "extender/options.h"
#include "extender/pre_allocation_writer.h"
#include "extender/preempt_handler.h"
#include "extender/prioritize_handler.h"
#include "extender/refused_pod_waker.h"
#include "extender/status_handler.h"
#include "net/http_server.h"

namespace stowage::extender {

class Extender {
 public:
  using Deps = CallContext::Deps;
  Extender(ExtenderOptions options, Deps deps);
  Extender(const Extender&) = delete;
  Extender& operator=(const Extender&) = delete;

  // Takes the request's body.
  void handle(Verb verb, net::ServerRequest request, std::shared_ptr<net::Responder> responder);

  using VerbCount = CallContext::VerbCount;
  struct Counters {
    CallContext::VerbCounts verbs;
    std::uint64_t woken = 0;  // see RefusedPodWaker
    std::size_t external_pods = 0;
  };
  [[nodiscard]] Counters counters() const;
  [[nodiscard]] const ExtenderOptions& options() const { return context_.options(); }

  // How many external pods are remembered; beyond, the longest unused is forgotten.
  static constexpr std::size_t kExternalPodsMax = 20'000;

 private:
  CallContext context_;
  ExternalPodCache external_pods_;
  RefusedPodWaker waker_;
  PreAllocationWriter writer_;
  FilterHandler filter_;
  PrioritizeHandler prioritize_;
  BindHandler bind_;
  PreemptHandler preempt_;
  StatusHandler status_;
};

}  // namespace stowage::extender
