#include "agent/uplink.h"

#include <cstdlib>
#include <utility>

#include <fmt/format.h>

#include "base/file.h"
#include "base/text.h"
#include "net/address.h"
#include "net/tls.h"

namespace stowage::agent {
namespace {

constexpr int kRedirectsMax = 3;
constexpr std::size_t kWhyMax = 300;  // of the server's error message

std::string name_of(const codec::ReportedPod& pod) { return pod.ns + '/' + pod.name; }

std::string first_line(const std::string& text) {
  return text.substr(0, std::min(text.find('\n'), kWhyMax));
}

bool far(const std::optional<std::int32_t>& a, const std::optional<std::int32_t>& b,
         std::int32_t step) {
  if (a.has_value() != b.has_value()) return true;
  return a && std::abs(std::int64_t{*a} - *b) >= step;
}

}  // namespace

Status may_report_to(const net::Url& server, const net::Url* from) {
  if (server.tls) return {};
  const std::string where = net::host_and_port(server.host, server.port);
  if (from != nullptr && from->tls) {
    return fail(fmt::format(
        "redirected to http://{}, which is not encrypted: the redirect is not followed", where));
  }
  if (net::is_loopback(server.host)) return {};
  return fail(
      fmt::format("http://{} is not encrypted and would expose the token: write https://; plain "
                  "HTTP is only for loopback addresses",
                  where));
}

Uplink::Uplink(net::EventLoop& loop, UplinkOptions options, base::Log& log)
    : loop_(loop),
      options_(std::move(options)),
      log_(log),
      retry_timer_(loop),
      beat_timer_(loop),
      soon_timer_(loop),
      backoff_(options_.backoff_min, options_.backoff_max, options_.seed) {}

Uplink::~Uplink() = default;

void Uplink::start() {
  // All agents of a cluster may start at once.
  retry_timer_.start(backoff_.spread(options_.backoff_min), [this] { open(options_.controller); });
  beat_timer_.start(options_.beat, [this] { beat(); });
}

// ---- the stream

Result<net::HttpRequest> Uplink::request() const {
  net::HttpRequest request{.target = codec::kReportsPath,
                           .headers = {{"Upgrade", codec::kReportsProtocol}}};
  if (options_.token_file.empty()) return request;
  STOWAGE_TRY(token, base::read_file(options_.token_file));
  request.headers.emplace_back("Authorization", fmt::format("Bearer {}", base::trim(token)));
  return request;
}

Result<std::shared_ptr<net::TlsContext>> Uplink::tls() const {
  net::ClientTls tls{.server_name = options_.server_name.empty() ? options_.controller.host
                                                                 : options_.server_name};
  if (!options_.ca_file.empty()) {
    STOWAGE_TRY_ASSIGN(tls.ca_pem, base::read_file(options_.ca_file));
  }
  return net::make_client_tls(tls);
}

void Uplink::open(const net::Url& server) {
  stream_.reset();
  refusal_.clear();
  moving_ = false;
  if (const Status allowed = may_report_to(server); !allowed) return retry(allowed.error().message);
  server_ = server;
  net::HttpClientOptions client{.server = server};
  if (server.tls) {
    auto context = tls();
    if (!context) return retry(context.error().message);
    client.tls = std::move(*context);
  }
  auto asked = request();
  if (!asked) return retry(asked.error().message);
  client_ = std::make_unique<net::HttpClient>(loop_, std::move(client));
  stream_ =
      client_->open(std::move(*asked),
                    {.head_timeout = std::chrono::seconds{10}, .silence_timeout = options_.silence},
                    {.head = [this](const net::HttpResponse& head) { on_head(head); },
                     .data = {},
                     .end =
                         [this](const std::optional<net::CallError>& error) {
                           if (moving_) return;  // continues with another server
                           if (error) return retry(error->message);
                           retry(refusal_.empty() ? "the controller ended the stream" : refusal_);
                         }});
}

void Uplink::on_head(const net::HttpResponse& head) {
  if (head.status == 101) {
    open_ = true;
    redirects_ = 0;
    trouble_.clear();
    ++snapshot_.opened;
    log_.info("reporting", {{"controller", net::host_and_port(server_.host, server_.port)}});
    return tell_all();
  }
  const auto where = net::parse_url(net::find_header(head.headers, "location"));
  if (head.status == 307 && where && redirects_ < kRedirectsMax) {
    if (const Status allowed = may_report_to(*where, &server_); !allowed) {
      refusal_ = allowed.error().message;
      return;
    }
    ++redirects_;
    moving_ = true;
    net::Url server = *where;
    server.path.clear();
    // Not inside a callback of the stream that this ends.
    retry_timer_.start(net::Duration{0}, [this, server] { open(server); });
    return;
  }
  redirects_ = 0;
  refusal_ = fmt::format("the controller answers {}: {}", head.status, first_line(head.body));
}

void Uplink::retry(const std::string& why) {
  const bool was_open = std::exchange(open_, false);
  redirects_ = 0;
  ++snapshot_.failed;
  if (was_open) backoff_.reset();
  if (was_open || trouble_ != why) log_.warn("cannot report to the controller", {{"why", why}});
  trouble_ = why;
  retry_timer_.start(backoff_.next(), [this] { open(options_.controller); });
}

// ---- the reported state

void Uplink::set_cards(std::vector<codec::ReportedCard> cards) {
  if (cards_ == cards) return;
  cards_ = std::move(cards);
  cards_told_ = false;
  hurry();
}

void Uplink::set_load(const std::vector<codec::ReportedLoad>& load) {
  std::map<std::int32_t, Load> now;
  for (const codec::ReportedLoad& each : load) {
    Load& kept = now[each.card];
    const auto before = load_.find(each.card);
    if (before != load_.end()) kept = before->second;
    kept.now = each;
  }
  load_ = std::move(now);
}

void Uplink::set_pods(std::vector<codec::ReportedPod> pods) {
  pods_known_ = true;
  all_pods_told_ = false;
  pods_changed_.clear();
  pods_.clear();
  for (codec::ReportedPod& pod : pods) {
    std::string name = name_of(pod);
    pods_.insert_or_assign(std::move(name), std::move(pod));
  }
  hurry();
}

void Uplink::change_pods(std::vector<codec::ReportedPod> now,
                         const std::vector<std::string>& gone) {
  for (const std::string& name : gone) {
    if (pods_.erase(name) > 0) pods_changed_.insert(name);
  }
  for (codec::ReportedPod& pod : now) {
    const std::string name = name_of(pod);
    pods_changed_.insert(name);
    pods_.insert_or_assign(name, std::move(pod));
  }
  if (!pods_changed_.empty()) hurry();
}

void Uplink::tell_all() {
  hello_told_ = cards_told_ = all_pods_told_ = false;
  for (auto& [card, load] : load_) load.told.reset();
  if (alive_) send(news());
}

void Uplink::beat() {
  beat_timer_.start(options_.beat, [this] { beat(); });
  send_news();
}

void Uplink::send_news() {
  if (!open_ || !alive_ || stream_->backlog() > options_.backlog_max) return;
  send(news());
}

void Uplink::hurry() {
  if (!open_ || std::exchange(hurried_, true)) return;
  soon_timer_.start(options_.soon, [this] {
    hurried_ = false;
    send_news();
  });
}

bool Uplink::is_news(const Load& load) const {
  if (!load.told || load.beats >= options_.load_beats_most) return true;
  return far(load.now.busy_permille, load.told->busy_permille, options_.busy_step_permille) ||
         far(load.now.memory_mib, load.told->memory_mib, options_.memory_step_mib);
}

codec::AgentReport Uplink::news() {
  codec::AgentReport report;
  if (!std::exchange(hello_told_, true)) {
    report.version = codec::kReportVersion;
    report.node = options_.node;
    report.agent = options_.agent;
  }
  if (cards_ && !std::exchange(cards_told_, true)) report.cards = cards_;
  for (auto& [card, load] : load_) {
    ++load.beats;
    if (!is_news(load)) continue;
    load.told = load.now;
    load.beats = 0;
    report.load.push_back(load.now);
  }
  put_pods(report);
  return report;
}

void Uplink::put_pods(codec::AgentReport& report) {
  if (!pods_known_) return;
  if (!std::exchange(all_pods_told_, true)) {
    report.pods.emplace().all = true;
    for (const auto& [name, pod] : pods_) report.pods->now.push_back(pod);
  } else if (!pods_changed_.empty()) {
    report.pods.emplace();
    for (const std::string& name : pods_changed_) {
      const auto found = pods_.find(name);
      if (found != pods_.end()) {
        report.pods->now.push_back(found->second);
      } else {
        report.pods->gone.push_back(name);
      }
    }
  }
  pods_changed_.clear();
}

void Uplink::send(const codec::AgentReport& report) {
  std::string line = codec::agent_report(report);
  ++snapshot_.reports;
  snapshot_.bytes += line.size();
  stream_->write(std::move(line));
}

Uplink::Snapshot Uplink::snapshot() const {
  Snapshot snapshot = snapshot_;
  snapshot.open = open_;
  snapshot.trouble = trouble_;
  return snapshot;
}

}  // namespace stowage::agent
