// Tells people that the API server is away: once when it goes, once for every other reason that
// shows up, and once when all who call it are served again, however many they are and however often
// they try meanwhile. A refusal that is about one caller alone (a missing right, a resource that
// the server does not know) is told for that caller, once per reason.
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

  // One of those that call the server. One that goes away is not waited for.
  class Source {
   public:
    // `what` it asks for: "pods", "the lease".
    Source(std::shared_ptr<Outages> outages, std::string what);
    ~Source();
    Source(const Source&) = delete;
    Source& operator=(const Source&) = delete;

    // `code` of the reply; 0: there was none.
    void failed(const std::string& why, int code);
    void works();

   private:
    friend class Outages;
    std::shared_ptr<Outages> outages_;
    std::string what_;
    std::string refusal_;  // told, of this one alone
  };

  [[nodiscard]] std::size_t away() const { return away_.size(); }  // sources that fail

 private:
  void failed(const Source& source, const std::string& why);
  void works(const Source& source);

  net::EventLoop& loop_;
  base::Log& log_;
  std::set<const Source*> away_;
  std::set<std::string> causes_;  // told since the server went
  net::Moment since_{};
  std::uint64_t failures_ = 0;  // since then
};

// What went wrong, without what was asked for: the same for all who ask.
[[nodiscard]] std::string outage_cause(std::string_view why);

}  // namespace stowage::kube
