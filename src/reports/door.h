// Where agents report: one stream for each node, over a connection that the agent opens and keeps.
//
//   GET /agent/v1/reports  Upgrade: stowage-agent/1  Authorization: Bearer <token>
//     101  lines of the agent go into the book (codec/agent_report.h); now and then an empty line
//          goes back, so that the agent knows that somebody listens
//     307  another replica leads; Location is its door. 503: nobody does at the moment
//     401, 403  not an agent, or not of the node that it speaks for
//
// An agent speaks for the node that its own pod is on, as the API server says, and for no other. Of
// two agents of one node the one that came last is heard. A stream that brings no line for a while,
// or one that cannot be read, is ended; its agent comes again and tells everything anew.
//
// A node may send so much and come so often (allowance.h); beyond that its stream is ended, and it
// is answered 429 until it has waited. Lines that have begun and not ended take memory: all streams
// together have a budget for it, and where that is spent, those that need more than an equal part
// of it are ended.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/log.h"
#include "kube/gatekeeper.h"
#include "kube/watch_lines.h"
#include "net/event_loop.h"
#include "net/http_server.h"
#include "reports/allowance.h"
#include "reports/book.h"

namespace stowage::reports {

inline constexpr const char* kReportsAudience = "stowage.dev";
inline constexpr const char* kNodeClaim = "authentication.kubernetes.io/node-name";

struct DoorOptions {
  // Users whose word counts, e.g. "system:serviceaccount:stowage:stowage-agent".
  std::vector<std::string> accounts;
  net::Duration patience = std::chrono::seconds{10};  // for a line
  net::Duration beat = std::chrono::seconds{3};       // between empty lines to an agent
  net::Duration look = std::chrono::milliseconds{100};
  std::size_t streams_max = 20'000;
  std::size_t line_bytes_max = codec::kReportLineMax;
  std::size_t unfinished_bytes_max = std::size_t{64} << 20U;  // of all streams together
  AllowanceOptions allowance;
};

// The replica that leads: this one, or another with its URL (empty: nobody knows where).
struct Place {
  bool here = true;
  std::string url;  // "https://10.0.0.7:10362"
};

class Door {
 public:
  struct Ends {
    kube::Gatekeeper& gate;
    Book& book;
    net::EventLoop& loop;
    base::Log& log;
    std::function<Place()> place;
  };
  Door(DoorOptions options, Ends ends);
  ~Door();
  Door(const Door&) = delete;
  Door& operator=(const Door&) = delete;

  void serve(const net::ServerRequest& request, std::shared_ptr<net::Responder> responder);
  // Another replica leads, or this one ends: agents find out where to go when they come again.
  void send_away();
  // The node has been forgotten: its agent is to tell everything anew when it comes again.
  void send_away(const std::string& node);

  struct Counters {
    std::uint64_t opened = 0;
    std::uint64_t refused = 0;    // 401, 403, 503
    std::uint64_t sent_on = 0;    // 307
    std::uint64_t unread = 0;     // streams that ended with a line that could not be read
    std::uint64_t expired = 0;    // streams that ended without one
    std::uint64_t overfull = 0;   // streams that ended since there was no room for what they told
    std::uint64_t overspent = 0;  // streams that ended since they brought too much, and 429
    std::size_t unfinished_bytes = 0;
    std::uint64_t bytes = 0;
    std::size_t streams = 0;
  };
  [[nodiscard]] Counters counters() const;

 private:
  struct Stream {
    std::string node;
    std::shared_ptr<net::Responder> responder;
    kube::WatchLines lines;
    net::Moment last_line{};
    net::Moment last_beat{};
    std::size_t held = 0;  // bytes of a line that has not ended
    explicit Stream(std::size_t line_bytes_max) : lines(line_bytes_max) {}
  };
  using StreamPtr = std::shared_ptr<Stream>;

  void admit(const kube::Gatekeeper::Identity& identity,
             const std::shared_ptr<net::Responder>& responder);
  void open(const std::string& node, std::shared_ptr<net::Responder> responder);
  void take(const StreamPtr& stream, std::string_view bytes);
  // False: the stream was ended.
  [[nodiscard]] bool take_line(const StreamPtr& stream, std::string_view line);
  void hold(Stream& stream, std::size_t bytes);
  void end_because(const StreamPtr& stream, std::uint64_t& counter, const std::string& why);
  void end(const StreamPtr& stream);
  void look();

  const DoorOptions options_;
  Ends ends_;
  codec::AgentReportReader reader_;
  std::unordered_map<std::string, StreamPtr> streams_;  // by node
  net::Timer timer_;
  Allowance allowance_;
  net::Moment tidied_{};
  Counters counters_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace stowage::reports
