// Binds pods to nodes and finds out what became of it.
//
// A reply that leaves it open whether the server acted (timeout, connection lost, 5xx, a 404 that
// is not about the pod) is not passed on: the pod is read, and the binding is sent again if the pod
// has no node. The binding carries the pod's uid as a precondition and an assigned pod cannot be
// assigned again, so that is safe.
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

// ns, name, uid, node and the annotations, which are merged into the pod in the same step.
using BindAsk = codec::BindingAsk;

enum class BindResult : std::uint8_t {
  bound,    // to our node, with our annotations
  gone,     // the pod was looked up: it does not exist any more, or another one has its name now
  refused,  // the server will not do it: assigned elsewhere, being deleted, gated, forbidden,
            // invalid
  failed,   // no final answer within the time
};

struct BindOutcome {
  BindResult result = BindResult::failed;
  int code = 0;         // of the last HTTP reply to the binding; 0: none
  std::string message;  // the server's words, or ours; empty if bound
  std::string node;     // where the pod is now, if known: ours if bound, perhaps another if refused
  bool maybe_bound = false;    // with `failed`: the server may have bound the pod all the same
  std::uint32_t attempts = 0;  // bindings sent
};

struct BinderOptions {
  std::size_t in_flight_max = 64;
  net::Duration attempt_deadline = std::chrono::seconds{10};  // of one call
  net::Duration total_deadline = std::chrono::seconds{30};    // from the first sending on
  net::Duration pause_min = std::chrono::milliseconds{100};   // before an attempt is repeated
  net::Duration pause_max = std::chrono::seconds{2};
  std::uint64_t seed = 1;
  // Whatever has not arrived by then must be dead. Half of the time until then is for the sending,
  // the other half is what the server is told that it may take. Unset: for ever.
  std::function<net::Moment()> fence;
};

struct BinderCounters {
  std::uint64_t asked = 0;
  std::uint64_t bound = 0;
  std::uint64_t gone = 0;
  std::uint64_t refused = 0;
  std::uint64_t failed = 0;
  std::uint64_t unknown = 0;  // replies that left it open and were resolved by reading the pod
  std::uint64_t resent = 0;   // bindings sent again
  std::uint64_t fenced = 0;   // binds that ended because the fence had come
  net::Moment open_until{};   // until then a binding may arrive that nobody waits for any more
  std::size_t in_flight = 0;
  std::size_t waiting = 0;
};

class Binder {
 public:
  explicit Binder(ApiClient& client, BinderOptions options = {});
  ~Binder();  // without callbacks; what was sent may still be done by the server
  Binder(const Binder&) = delete;
  Binder& operator=(const Binder&) = delete;

  using Done = std::function<void(BindOutcome)>;
  // Ends in exactly one callback, never before bind() has returned. The binder starts asks in their
  // order and lets any number wait: the caller keeps that number down.
  void bind(BindAsk ask, Done done);

  // For shutdown: asks that were not sent yet, and new ones, fail at once (not maybe_bound); those
  // in flight may go on for `deadline`, then fail. Then `drained` is called.
  void drain(net::Duration deadline, std::function<void()> drained);

  [[nodiscard]] BinderCounters counters() const;

 private:
  struct Body;
  std::shared_ptr<Body> body_;
};

}  // namespace stowage::kube
