// The agent's stream to the controller: what the node has and does, told once and then as changes.
//
//   (wait) -> opening --101--> told all; changes every beat, an empty report if there are none;
//     |          |             other cards, sickness and other pods at once
//     ^          |  '--307--> opening elsewhere: another replica leads
//     '--error---'------the stream ends, or nothing comes back for a while
//
// Whoever has something new hands in how things are now; what of it is news is found here. While
// nothing can be sent, nothing piles up: only the newest state is kept. Files with the token and
// the certificates are read for each stream, so that they may be exchanged.
//
// What is told, and the token, go to a server that has shown a certificate for `server_name` or the
// controller's host, wherever a 307 sends us; without TLS to a loopback address alone, and never
// there from a server that had TLS.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "codec/agent_report.h"
#include "kube/pacing.h"
#include "net/event_loop.h"
#include "net/http_client.h"

namespace stowage::agent {

struct UplinkOptions {
  net::Url controller;  // "https://stowage-agents.stowage.svc:10362"
  std::string node;
  std::string agent;        // version
  std::string token_file;   // empty: none is sent
  std::string ca_file;      // empty: those of the system
  std::string server_name;  // to expect in the certificate; empty: the controller's host
  net::Duration beat = std::chrono::seconds{1};
  net::Duration soon = std::chrono::milliseconds{50};  // what cannot wait for a beat waits so long
  net::Duration silence = std::chrono::seconds{10};    // of the controller
  net::Duration backoff_min = std::chrono::milliseconds{500};
  net::Duration backoff_max = std::chrono::seconds{15};
  // Smaller changes of a card's load are told with the next one, or after so many beats.
  std::int32_t busy_step_permille = 10;
  std::int32_t memory_step_mib = 64;
  std::int32_t load_beats_most = 10;
  std::size_t backlog_max = std::size_t{1} << 20U;
  std::uint64_t seed = 1;  // of the jitter
};

// May reports and a token go there without TLS, or with it? `from`: who has sent us on; null:
// nobody.
[[nodiscard]] Status may_report_to(const net::Url& server, const net::Url* from = nullptr);

class Uplink {
 public:
  Uplink(net::EventLoop& loop, UplinkOptions options, base::Log& log);
  ~Uplink();
  Uplink(const Uplink&) = delete;
  Uplink& operator=(const Uplink&) = delete;

  void start();

  void set_cards(std::vector<codec::ReportedCard> cards);
  void set_load(const std::vector<codec::ReportedLoad>& load);
  // Everybody who has devices on this node.
  void set_pods(std::vector<codec::ReportedPod> pods);
  void change_pods(std::vector<codec::ReportedPod> now, const std::vector<std::string>& gone);
  // False: nobody knows how the cards are, so nothing is told, not even that we are there.
  void set_alive(bool alive) { alive_ = alive; }

  struct Picture {
    bool open = false;
    std::string trouble;  // why it is not open
    std::uint64_t opened = 0;
    std::uint64_t failed = 0;
    std::uint64_t reports = 0;
    std::uint64_t bytes = 0;
  };
  [[nodiscard]] Picture picture() const;

 private:
  struct Load {
    codec::ReportedLoad now;
    std::optional<codec::ReportedLoad> told;
    std::int32_t beats = 0;  // since it was told
  };
  void open(const net::Url& server);
  [[nodiscard]] Result<net::HttpRequest> request() const;
  [[nodiscard]] Result<std::shared_ptr<net::TlsContext>> tls() const;
  void on_head(const net::HttpResponse& head);
  void retry(const std::string& why);
  void tell_all();
  void beat();
  void hurry();
  void send_news();
  [[nodiscard]] codec::AgentReport news();
  void send(const codec::AgentReport& report);
  [[nodiscard]] bool is_news(const Load& load) const;
  void put_pods(codec::AgentReport& report);

  net::EventLoop& loop_;
  const UplinkOptions options_;
  base::Log& log_;
  net::Url server_;  // that is asked, or was last
  std::unique_ptr<net::HttpClient> client_;
  std::unique_ptr<net::HttpClient::Stream> stream_;
  bool open_ = false;
  bool alive_ = false;
  int redirects_ = 0;    // one replica after the other has sent us on
  bool moving_ = false;  // the last one just has
  std::string trouble_ = "not tried yet";
  std::string refusal_;  // of the controller, to the request that is under way
  net::Timer retry_timer_;
  net::Timer beat_timer_;
  net::Timer soon_timer_;
  bool hurried_ = false;
  kube::JitteredBackoff backoff_;

  std::optional<std::vector<codec::ReportedCard>> cards_;
  bool hello_told_ = false;
  bool cards_told_ = false;
  std::map<std::int32_t, Load> load_;
  std::map<std::string, codec::ReportedPod> pods_;
  bool pods_known_ = false;
  bool all_pods_told_ = false;
  std::set<std::string> pods_changed_;  // or gone
  Picture picture_;
};

}  // namespace stowage::agent
