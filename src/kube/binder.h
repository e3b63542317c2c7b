// Binds pods to nodes and determines the result.
//
// If a reply leaves open whether the server acted (timeout, connection lost, 5xx, a 404 that is not
// about the pod), the binder reads the pod, and sends the binding again if the pod has no node.
// This is safe: the binding carries the pod's uid as a precondition, and an assigned pod cannot be
// assigned again.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "codec/encode.h"
#include "kube/api_client.h"

namespace stowage::kube {

// ns, name, uid, node, and the annotations, which are merged into the pod in the same step.
using BindRequest = codec::BindingRequest;

enum class BindResult : std::uint8_t {
  bound,    // to our node, with our annotations
  gone,     // the pod was looked up: it no longer exists, or another one has its name now
  refused,  // the server refuses: assigned elsewhere, being deleted, gated, forbidden, invalid
  failed,   // no final answer within the time limit
};

struct BindOutcome {
  BindResult result = BindResult::failed;
  int code = 0;         // of the last HTTP reply to the binding; 0: none
  std::string message;  // the server's message or ours; empty if bound
  std::string node;     // the pod's node now, if known: ours if bound, perhaps another if refused
  bool maybe_bound = false;    // with `failed`: the server may still have bound the pod
  std::uint32_t attempts = 0;  // bindings sent
};

struct BinderOptions {
  std::size_t in_flight_max = 64;
  net::Duration attempt_deadline = std::chrono::seconds{10};  // of one call
  net::Duration total_deadline = std::chrono::seconds{30};    // from the first attempt on
  net::Duration pause_min = std::chrono::milliseconds{100};   // before an attempt is repeated
  net::Duration pause_max = std::chrono::seconds{2};
  std::uint64_t seed = 1;
  // Every request must have ended by this time. Half of the remaining time is for sending; the
  // other half is the time limit that the server gets. Unset: no limit.
  std::function<net::Moment()> fence;
};

struct BinderCounters {
  std::uint64_t asked = 0;
  std::uint64_t bound = 0;
  std::uint64_t gone = 0;
  std::uint64_t refused = 0;
  std::uint64_t failed = 0;
  std::uint64_t unknown = 0;  // replies that left the result open and were resolved by reading the
                              // pod
  std::uint64_t resent = 0;   // bindings sent again
  std::uint64_t fenced = 0;   // binds that ended because the fence was reached
  net::Moment open_until{};   // until then, a binding without a waiting caller may still arrive
  std::size_t in_flight = 0;
  std::size_t waiting = 0;
};

class Binder {
 public:
  explicit Binder(ApiClient& client, BinderOptions options = {});
  ~Binder();  // calls no callbacks; the server may still execute requests that were sent
  Binder(const Binder&) = delete;
  Binder& operator=(const Binder&) = delete;

  using Done = std::function<void(BindOutcome)>;
  // Ends in exactly one callback, never before bind() has returned. The binder starts requests in
  // order and does not limit how many wait: the caller does.
  void bind(BindRequest ask, Done done);

  // For shutdown: requests that were not sent yet, and new ones, fail at once (not maybe_bound).
  // Those in flight may continue for `deadline`, then fail. Then `drained` is called.
  void drain(net::Duration deadline, std::function<void()> drained);

  // Leadership is lost: every request fails now, and none is sent again, even if leadership returns
  // before its deadline. Other pods may have the cards by then.
  void end_term();

  [[nodiscard]] BinderCounters counters() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace stowage::kube
