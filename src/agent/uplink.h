// The agent's stream to the controller: the state of the node, sent completely once and then as
// changes.
//
//   (wait) -> opening --101--> sends everything; then changes every beat, or an empty report;
//     |          |             changed cards, health and pods at once
//     ^          |  '--307--> opening elsewhere: another replica leads
//     '--error---'------the stream ends, or no data arrives for a while
//
// Callers pass the current state; report_builder.h computes the changes. While nothing can be sent,
// only the newest state is kept, so nothing accumulates. The token and certificate files are read
// for each stream, so that they may be replaced.
//
// Reports and the token go only to a server that has presented a certificate for `server_name` or
// the controller's host, also after a 307. Without TLS they go only to a loopback address, and
// never after a redirect from a server with TLS.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "agent/report_builder.h"
#include "base/log.h"
#include "base/result.h"
#include "codec/agent_report.h"
#include "kube/pacing.h"
#include "net/event_loop.h"
#include "net/http_client.h"

namespace stowage::agent {

struct UplinkOptions {
  net::Url controller;  // "https://stowage-agents.stowage.svc:10362"
  ReportBuilderOptions report;
  std::string token_file;   // empty: none is sent
  std::string ca_file;      // empty: the system's
  std::string server_name;  // expected in the certificate; empty: the controller's host
  net::Duration beat = std::chrono::seconds{1};
  net::Duration soon = std::chrono::milliseconds{50};  // urgent changes are sent after this time
                                                       // instead of the next beat
  net::Duration silence = std::chrono::seconds{10};    // of the controller, until the stream is
                                                       // closed
  net::Duration backoff_min = std::chrono::milliseconds{500};
  net::Duration backoff_max = std::chrono::seconds{15};
  std::size_t backlog_max = std::size_t{1} << 20U;
  std::uint64_t seed = 1;  // of the jitter
};

// Whether reports and a token may go to this server, with or without TLS. `from`: the server that
// redirected us; null: none.
[[nodiscard]] Status may_report_to(const net::Url& server, const net::Url* from = nullptr);

// Large because it is one state machine: opening, redirects, retries and reports share the stream
// and the timers.
class Uplink {
 public:
  Uplink(net::EventLoop& loop, UplinkOptions options, base::Log& log);
  ~Uplink();
  Uplink(const Uplink&) = delete;
  Uplink& operator=(const Uplink&) = delete;

  void start();

  void set_cards(std::vector<codec::ReportedCard> cards);
  void set_load(const std::vector<codec::ReportedLoad>& load) { builder_.set_load(load); }
  // All pods that have devices on this node.
  void set_pods(std::vector<codec::ReportedPod> pods);
  void change_pods(std::vector<codec::ReportedPod> now, const std::vector<std::string>& gone);
  // Not called by an agent without a device plugin.
  void set_plugin(codec::ReportedPlugin plugin);
  // False: the state of the cards is unknown, so nothing is sent, not even empty reports.
  void set_alive(bool alive) { alive_ = alive; }

  struct Snapshot {
    bool open = false;
    std::string trouble;  // why it is not open
    std::uint64_t opened = 0;
    std::uint64_t failed = 0;
    std::uint64_t reports = 0;
    std::uint64_t bytes = 0;
  };
  [[nodiscard]] Snapshot snapshot() const;

 private:
  void open(const net::Url& server);
  [[nodiscard]] Result<net::HttpRequest> request() const;
  [[nodiscard]] Result<std::shared_ptr<net::TlsContext>> tls() const;
  void on_head(const net::HttpResponse& head);
  void retry(const std::string& why);
  void tell_all();
  void beat();
  void hurry();
  void send_news();
  void send(const codec::AgentReport& report);

  net::EventLoop& loop_;
  const UplinkOptions options_;
  base::Log& log_;
  net::Url server_;  // current or last server
  std::unique_ptr<net::HttpClient> client_;
  std::unique_ptr<net::HttpClient::Stream> stream_;
  bool open_ = false;
  bool alive_ = false;
  int redirects_ = 0;    // redirects in a row
  bool moving_ = false;  // the last server has just redirected us
  std::string trouble_ = "not tried yet";
  std::string refusal_;  // the controller's refusal of the current request
  net::Timer retry_timer_;
  net::Timer beat_timer_;
  net::Timer soon_timer_;
  bool hurried_ = false;
  kube::JitteredBackoff backoff_;
  ReportBuilder builder_;
  Snapshot snapshot_;
};

}  // namespace stowage::agent
