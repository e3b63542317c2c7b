// The speed of HTTP over loopback, with client and server on a thread each: small calls on kept
// connections, one stream of events to several watchers, and one large body. Prints figures;
// nothing passes or fails.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <sys/resource.h>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "net/event_loop.h"
#include "net/http_client.h"
#include "net/http_server.h"

namespace stowage::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kConnections = 64;
constexpr std::size_t kCalls = 200'000;
constexpr std::size_t kWatchers = 10;
constexpr std::size_t kEvents = 100'000;
constexpr std::size_t kEventBytes = 2'000;
constexpr std::size_t kBodyBytes = 300'000'000;
constexpr std::size_t kBacklogMax = std::size_t{4} << 20U;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

[[noreturn]] void give_up(const std::string& why) {
  fmt::print(stderr, "stowage_net_bench: {}\n", why);
  std::exit(1);
}

// Sends the same event to all watchers, as fast as the slowest takes it.
class Source {
 public:
  explicit Source(net::EventLoop& loop) : loop_(loop) {}

  void add(std::shared_ptr<net::Responder> watcher) {
    watcher->begin({.status = 200, .headers = {{"Content-Type", "application/json"}}});
    watchers_.push_back(std::move(watcher));
    if (watchers_.size() == kWatchers) step();
  }

 private:
  void step() {
    for (int i = 0; i < 64 && sent_ < kEvents; ++i, ++sent_) {
      const auto event = std::make_shared<const std::string>(kEventBytes, 'x');
      for (const auto& watcher : watchers_) watcher->write(event);
    }
    if (sent_ == kEvents) {
      for (const auto& watcher : watchers_) watcher->end();
      watchers_.clear();
      return;
    }
    wait();
  }

  void wait() {
    for (const auto& watcher : watchers_) {
      if (watcher->backlog() > kBacklogMax) {
        loop_.post([this] { wait(); });
        return;
      }
    }
    loop_.post([this] { step(); });
  }

  net::EventLoop& loop_;
  std::vector<std::shared_ptr<net::Responder>> watchers_;
  std::size_t sent_ = 0;
};

class Server {
 public:
  explicit Server(std::shared_ptr<net::TlsContext> tls) : source_(loop_) {
    auto server = net::HttpServer::listen(
        loop_, {.tls = std::move(tls)},
        [this](net::ServerRequest request, std::shared_ptr<net::Responder> responder) {
          if (request.http.target == "/watch") {
            source_.add(std::move(responder));
            return;
          }
          if (request.http.target == "/list") {
            std::string body;
            body.resize(kBodyBytes, 'x');
            responder->send({.status = 200, .body = std::move(body)});
            return;
          }
          responder->send({.status = 201,
                           .headers = {{"Content-Type", "application/json"}},
                           .body = std::move(request.http.body)});
        });
    if (!server) give_up(server.error().message);
    server_ = std::move(*server);
    port_ = server_->port();
    thread_ = std::thread([this] { loop_.run(); });
  }
  ~Server() {
    loop_.stop();
    thread_.join();
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  [[nodiscard]] std::uint16_t port() const { return port_; }

 private:
  net::EventLoop loop_;
  Source source_;
  std::unique_ptr<net::HttpServer> server_;
  std::uint16_t port_ = 0;
  std::thread thread_;
};

void measure_calls(net::EventLoop& loop, net::HttpClient& client, const char* name) {
  std::size_t started = 0;
  std::size_t done = 0;
  const std::string body(300, 'b');
  std::function<void()> next = [&] {
    if (started == kCalls) return;
    ++started;
    client.send({.method = "POST",
                 .target = "/api/v1/namespaces/default/pods/pod-1/binding",
                 .headers = {{"Content-Type", "application/json"}, {"Accept", "application/json"}},
                 .body = body},
                std::chrono::seconds{30}, [&](const auto& reply) {
                  if (!reply) give_up(reply.error().message);
                  if (++done == kCalls) loop.stop();
                  next();
                });
  };
  const double cpu = cpu_seconds();
  const Clock::time_point start = Clock::now();
  loop.post([&] {
    for (std::size_t i = 0; i < kConnections; ++i) next();
  });
  loop.run();
  const double seconds = seconds_since(start);
  fmt::print("{}: {} calls on {} connections: {:.0f} calls/s, {:.1f} us of processor each\n", name,
             kCalls, kConnections, static_cast<double>(kCalls) / seconds,
             (cpu_seconds() - cpu) / static_cast<double>(kCalls) * 1e6);
}

void measure_stream(net::EventLoop& loop, net::HttpClient& client, const char* name) {
  std::size_t bytes = 0;
  std::size_t ended = 0;
  std::vector<std::unique_ptr<net::HttpClient::Stream>> streams;
  const double cpu = cpu_seconds();
  const Clock::time_point start = Clock::now();
  loop.post([&] {
    for (std::size_t i = 0; i < kWatchers; ++i) {
      streams.push_back(client.open({.target = "/watch"}, {},
                                    {.head = {},
                                     .data = [&](std::string_view data) { bytes += data.size(); },
                                     .end =
                                         [&](const std::optional<net::CallError>& error) {
                                           if (error) give_up(error->message);
                                           if (++ended == kWatchers) loop.stop();
                                         }}));
    }
  });
  loop.run();
  const double seconds = seconds_since(start);
  if (bytes != kWatchers * kEvents * kEventBytes) give_up("bytes of a stream are missing");
  fmt::print(
      "{}: {} events of {} bytes to {} watchers: {:.0f} MB/s in all, {:.0f} events/s to each, "
      "{:.2f} us of processor per event and watcher\n",
      name, kEvents, kEventBytes, kWatchers, static_cast<double>(bytes) / seconds * 1e-6,
      static_cast<double>(kEvents) / seconds,
      (cpu_seconds() - cpu) / static_cast<double>(kEvents * kWatchers) * 1e6);
}

void measure_body(net::EventLoop& loop, net::HttpClient& client, const char* name) {
  const double cpu = cpu_seconds();
  const Clock::time_point start = Clock::now();
  loop.post([&] {
    client.send({.target = "/list"}, std::chrono::seconds{60}, [&](const auto& reply) {
      if (!reply) give_up(reply.error().message);
      if (reply->body.size() != kBodyBytes) give_up("bytes of a body are missing");
      loop.stop();
    });
  });
  loop.run();
  const double seconds = seconds_since(start);
  fmt::print("{}: one body of {} MB: {:.0f} MB/s, {:.2f} s of processor\n", name,
             kBodyBytes / 1'000'000, static_cast<double>(kBodyBytes) / seconds * 1e-6,
             cpu_seconds() - cpu);
}

void measure(bool with_tls) {
  std::shared_ptr<net::TlsContext> server_tls;
  std::shared_ptr<net::TlsContext> client_tls;
  if (with_tls) {
    const auto pair = net::make_self_signed({.common_name = "bench", .hosts = {"127.0.0.1"}});
    if (!pair) give_up(pair.error().message);
    auto server =
        net::make_server_tls({.certificate_pem = pair->certificate_pem, .key_pem = pair->key_pem});
    auto client = net::make_client_tls({.ca_pem = pair->certificate_pem});
    if (!server || !client) give_up("cannot make the certificates");
    server_tls = *server;
    client_tls = *client;
  }
  const Server server(server_tls);
  net::EventLoop loop;
  net::HttpClient client(loop,
                         {.server = {.tls = with_tls, .host = "127.0.0.1", .port = server.port()},
                          .tls = client_tls,
                          .connections_max = kConnections,
                          .body_bytes_max = kBodyBytes});
  measure_calls(loop, client, with_tls ? "tls" : "plain");
  measure_stream(loop, client, with_tls ? "tls" : "plain");
  measure_body(loop, client, with_tls ? "tls" : "plain");
}

}  // namespace
}  // namespace stowage::bench

int main() {
  stowage::bench::measure(false);
  stowage::bench::measure(true);
  return 0;
}
