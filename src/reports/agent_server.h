// Where agents report: one stream for each node, over a connection that the agent opens and keeps.
//
//   GET /agent/v1/reports  Upgrade: stowage-agent/1  Authorization: Bearer <token>
//     101  lines of the agent go into the report cache (codec/agent_report.h); from time to time
//          an empty line goes back as a heartbeat
//     307  another replica leads; Location is its server. 503: no leader at the moment
//     401, 403  not an agent, or not the agent of that node
//
// An agent reports only on the node that its own pod is on, as the API server shows it. If two
// agents of one node connect, the later one replaces the earlier. A stream without a line for a
// while, or with an unreadable line, is closed; its agent reconnects and reports everything again.
//
// Data and connections of a node are limited (rate_limiter.h). Beyond the limits its stream is
// closed, and its requests are answered with 429 until enough time has passed. Incomplete lines use
// memory: all streams together have a budget for it. When it is spent, streams that use more than
// an equal part of it are closed.
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
#include "kube/delegated_auth.h"
#include "kube/watch_lines.h"
#include "net/event_loop.h"
#include "net/http_server.h"
#include "reports/rate_limiter.h"
#include "reports/report_cache.h"

namespace stowage::reports {

inline constexpr const char* kReportsAudience = "stowage.dev";
inline constexpr const char* kNodeOfToken = "authentication.kubernetes.io/node-name";

struct AgentServerOptions {
  // Users that are accepted as agents, e.g. "system:serviceaccount:stowage:stowage-agent".
  std::vector<std::string> accounts;
  net::Duration patience = std::chrono::seconds{10};  // time without a line until a stream is
                                                      // closed
  net::Duration beat = std::chrono::seconds{3};       // between empty lines to an agent
  net::Duration look = std::chrono::milliseconds{100};
  std::size_t streams_max = 20'000;
  std::size_t line_bytes_max = codec::kReportLineMax;
  std::size_t unfinished_bytes_max = std::size_t{64} << 20U;  // for all streams together
  RateLimiterOptions rate_limiter;
};

// The replica that leads: this one, or another with its URL (empty: unknown).
struct LeaderLocation {
  bool here = true;
  std::string url;  // "https://10.0.0.7:10362"
};

class AgentServer {
 public:
  struct Deps {
    kube::DelegatedAuth& auth;
    ReportCache& report_cache;
    net::EventLoop& loop;
    base::Log& log;
    std::function<LeaderLocation()> place;
  };
  AgentServer(AgentServerOptions options, Deps deps);
  ~AgentServer();
  AgentServer(const AgentServer&) = delete;
  AgentServer& operator=(const AgentServer&) = delete;

  void serve(const net::ServerRequest& request, std::shared_ptr<net::Responder> responder);
  // Another replica leads, or this one ends: agents find the leader when they reconnect.
  void send_away();
  // The node was forgotten: its agent must reconnect and report everything again.
  void send_away(const std::string& node);

  struct Counters {
    std::uint64_t opened = 0;
    std::uint64_t refused = 0;    // 401, 403, 503
    std::uint64_t sent_on = 0;    // 307
    std::uint64_t unread = 0;     // streams that were closed because of an unreadable line
    std::uint64_t expired = 0;    // streams that were closed because no line arrived
    std::uint64_t overfull = 0;   // streams that were closed because their reports exceeded the
                                  // memory budget
    std::uint64_t overspent = 0;  // streams that were closed because they sent too much, and
                                  // replies of 429
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
    std::size_t held = 0;  // bytes of an incomplete line
    explicit Stream(std::size_t line_bytes_max) : lines(line_bytes_max) {}
  };
  using StreamPtr = std::shared_ptr<Stream>;

  void admit(const kube::DelegatedAuth::Identity& identity,
             const std::shared_ptr<net::Responder>& responder);
  void open(const std::string& node, std::shared_ptr<net::Responder> responder);
  void take(const StreamPtr& stream, std::string_view bytes);
  // Returns false if the stream was closed.
  [[nodiscard]] bool take_line(const StreamPtr& stream, std::string_view line);
  void hold(Stream& stream, std::size_t bytes);
  void end_because(const StreamPtr& stream, std::uint64_t& counter, const std::string& why);
  void end(const StreamPtr& stream);
  void look();

  const AgentServerOptions options_;
  Deps deps_;
  codec::AgentReportReader reader_;
  std::unordered_map<std::string, StreamPtr> streams_;  // by node
  net::Timer timer_;
  RateLimiter rate_limiter_;
  net::Moment tidied_{};
  Counters counters_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace stowage::reports
