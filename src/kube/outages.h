// Logs outages of the API server: once when one begins, once for every further cause, and once when
// all callers are served again, however many there are and however often they try meanwhile. A
// refusal that concerns one caller (a missing permission, an unknown resource) is logged for that
// caller, once per reason.
//
// Lives on one loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "base/log.h"
#include "net/event_loop.h"

namespace stowage::kube {

class Outages : public std::enable_shared_from_this<Outages> {
 public:
  // Both outlive it.
  Outages(net::EventLoop& loop, base::Log& log) : loop_(loop), log_(log) {}

  // One of the callers. A caller that is destroyed does not prolong the outage.
  class Source {
   public:
    // `what` it requests: "pods", "the lease".
    Source(std::shared_ptr<Outages> outages, std::string what);
    ~Source();
    Source(const Source&) = delete;
    Source& operator=(const Source&) = delete;

    // `code` of the reply; 0: no reply.
    void failed(const std::string& why, int code);
    void works();

   private:
    friend class Outages;
    std::shared_ptr<Outages> outages_;
    std::string what_;
    std::string refusal_;  // last reported refusal of this caller
  };

  [[nodiscard]] std::size_t away() const { return away_.size(); }  // callers that fail

 private:
  void failed(const Source& source, const std::string& why);
  void works(const Source& source);

  net::EventLoop& loop_;
  base::Log& log_;
  std::set<const Source*> away_;
  std::set<std::string> causes_;  // reported during this outage
  net::Moment since_{};
  std::uint64_t failures_ = 0;  // during this outage
};

// The cause without the request: equal for all callers.
[[nodiscard]] std::string outage_cause(std::string_view why);

}  // namespace stowage::kube
