#include "agent/uplink.h"

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

std::string first_line(const std::string& text) {
  return text.substr(0, std::min(text.find('\n'), kWhyMax));
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
      backoff_(options_.backoff_min, options_.backoff_max, options_.seed),
      builder_(options_.report) {}

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
  if (builder_.set_cards(std::move(cards))) hurry();
}

void Uplink::set_plugin(codec::ReportedPlugin plugin) {
  if (builder_.set_plugin(std::move(plugin))) hurry();
}

void Uplink::set_pods(std::vector<codec::ReportedPod> pods) {
  builder_.set_pods(std::move(pods));
  hurry();
}

void Uplink::change_pods(std::vector<codec::ReportedPod> now,
                         const std::vector<std::string>& gone) {
  if (builder_.change_pods(std::move(now), gone)) hurry();
}

void Uplink::tell_all() {
  builder_.start_over();
  if (alive_) send(builder_.next());
}

void Uplink::beat() {
  beat_timer_.start(options_.beat, [this] { beat(); });
  send_news();
}

void Uplink::send_news() {
  if (!open_ || !alive_ || stream_->backlog() > options_.backlog_max) return;
  send(builder_.next());
}

void Uplink::hurry() {
  if (!open_ || std::exchange(hurried_, true)) return;
  soon_timer_.start(options_.soon, [this] {
    hurried_ = false;
    send_news();
  });
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
