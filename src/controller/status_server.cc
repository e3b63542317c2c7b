#include "controller/status_server.h"

#include <utility>

#include <fmt/format.h>

#include "base/number.h"
#include "base/version.h"
#include "net/address.h"

namespace stowage::controller {
namespace {

constexpr double kEngineStuckSeconds = 60;
constexpr std::int64_t kProfileSeconds = 10;

net::HttpResponse plain(int status, std::string text) {
  return {.status = status,
          .headers = {{"Content-Type", "text/plain; charset=utf-8"}},
          .body = std::move(text)};
}

net::HttpResponse not_found() {
  std::string text = "not found; there are";
  for (const StatusPath& each : kStatusPaths) {
    text += each.query.empty() ? fmt::format(" {}", each.path)
                               : fmt::format(" {}[{}]", each.path, each.query);
  }
  return plain(404, text + "\n");
}

net::HttpResponse bytes(std::string body) {
  return {.status = 200,
          .headers = {{"Content-Type", "application/octet-stream"}},
          .body = std::move(body)};
}

bool from_loopback(const std::string& peer) {
  return peer.starts_with("127.") || peer.starts_with("[::1]") || peer.starts_with("::1") ||
         peer.starts_with("[::ffff:127.") || peer.starts_with("::ffff:127.");
}

}  // namespace

StatusServer::StatusServer(const Options& options, Deps deps)
    : options_(options),
      deps_(std::move(deps)),
      auth_(deps_.client),
      profiler_(deps_.client.loop()) {}

StatusServer::~StatusServer() = default;

Result<std::unique_ptr<StatusServer>> StatusServer::listen(const Options& options, Deps deps) {
  STOWAGE_TRY(address, net::parse_listen(options.listen));
  std::unique_ptr<StatusServer> made(new StatusServer(options, std::move(deps)));
  net::HttpServerOptions http;
  http.address = address.host;
  http.port = address.port;
  http.body_bytes_max = std::size_t{64} << 10U;
  http.connections_max = 256;
  auto server = net::HttpServer::listen(
      made->deps_.client.loop(), http,
      [self = made.get()](const net::ServerRequest& request, const Answer& answer) {
        self->serve(request, answer);
      });
  if (!server) return fail(server.error().message);
  made->server_ = std::move(*server);
  made->host_ = address.host;
  return made;
}

std::string StatusServer::address() const { return net::host_and_port(host_, server_->port()); }

void StatusServer::shutdown(net::Duration grace, std::function<void()> done) {
  server_->shutdown(grace, std::move(done));
}

void StatusServer::serve(const net::ServerRequest& request, const Answer& answer) {
  const auto target = net::parse_target(request.http.target);
  const std::string path = target ? target->path : "";
  const bool get = request.http.method == "GET" || request.http.method == "HEAD";
  if (path.starts_with(kDebugPrefix)) return admit(request, path, answer);
  if (!get) return answer->send(plain(405, "only GET is allowed here\n"));
  if (path == net::kHealthzPath || path == net::kLivezPath) return send_health(answer);
  if (path == net::kReadyzPath) {
    const std::string why = deps_.trouble();
    return answer->send(why.empty() ? plain(200, "ok\n") : plain(503, "not ready: " + why + "\n"));
  }
  if (path == net::kMetricsPath) {
    auto response = plain(200, deps_.metrics());
    response.headers = {{"Content-Type", "text/plain; version=0.0.4; charset=utf-8"}};
    return answer->send(std::move(response));
  }
  if (path == net::kVersionPath) {
    return answer->send(plain(200, fmt::format("{}\n", base::kVersion)));
  }
  answer->send(not_found());
}

void StatusServer::send_health(const Answer& answer) const {
  const double silent = deps_.scheduler().snapshot().engine_silent_seconds;
  if (silent < kEngineStuckSeconds) return answer->send(plain(200, "ok\n"));
  answer->send(plain(500, fmt::format("the engine has not answered for {:.0f} seconds\n", silent)));
}

// Before the API server has authorized a client, the answer reveals only that access is denied.
void StatusServer::admit(const net::ServerRequest& request, const std::string& path,
                         const Answer& answer) {
  const bool get = request.http.method == "GET";
  if (!get && request.http.method != "PUT") {
    return answer->send(plain(405, "only GET and PUT are allowed here\n"));
  }
  const std::string authorization(net::find_header(request.http.headers, "Authorization"));
  if (authorization.empty() && options_.loopback_trusted && from_loopback(request.peer)) {
    return serve_debug(request, path, answer);
  }
  auth_.ask({.authorization = authorization, .verb = get ? "get" : "update", .path = path},
            [this, request, path, answer](const kube::DelegatedAuth::Verdict& verdict) {
              if (verdict.status == 200) return serve_debug(request, path, answer);
              auto refusal = plain(verdict.status, verdict.why + "\n");
              if (verdict.status == 401) {
                refusal.headers.emplace_back("WWW-Authenticate", "Bearer");
              }
              answer->send(std::move(refusal));
            });
}

void StatusServer::serve_debug(const net::ServerRequest& request, const std::string& path,
                               const Answer& answer) {
  const auto target = net::parse_target(request.http.target);
  if (!target) return answer->send(plain(400, target.error().message + "\n"));
  if (path == kLogLevelPath && request.http.method == "PUT") {
    return set_log_level(request.http.body, answer);
  }
  if (request.http.method != "GET") return answer->send(plain(405, "only GET is allowed here\n"));
  if (path == kStatePath) return send_record(*target, answer);
  if (path == kLogLevelPath) {
    return answer->send(plain(200, fmt::format("{}\n", base::to_string(deps_.log.level()))));
  }
  if (path == kCpuProfilePath) return send_cpu_profile(*target, answer);
  if (path == kHeapProfilePath) {
    auto sample = Profiler::heap();
    return answer->send(sample ? bytes(std::move(*sample))
                               : plain(503, sample.error().message + "\n"));
  }
  answer->send(not_found());
}

void StatusServer::send_record(const net::Target& target, const Answer& answer) {
  const std::string pod(target.query_value("pod"));
  deps_.scheduler().record_decision(pod, [answer](Result<std::string> record) {
    answer->send(record ? plain(200, std::move(*record))
                        : plain(404, record.error().message + "\n"));
  });
}

void StatusServer::send_cpu_profile(const net::Target& target, const Answer& answer) {
  const std::string_view text = target.query_value("seconds");
  const auto seconds =
      text.empty() ? std::optional(kProfileSeconds) : base::parse_number<std::int64_t>(text);
  if (!seconds) return answer->send(plain(400, "seconds is not a number\n"));
  profiler_.record_cpu(std::chrono::seconds{*seconds}, [answer](Result<std::string> profile) {
    answer->send(profile ? bytes(std::move(*profile)) : plain(503, profile.error().message + "\n"));
  });
}

void StatusServer::set_log_level(std::string word, const Answer& answer) {
  while (!word.empty() && (word.back() == '\n' || word.back() == '\r')) word.pop_back();
  const auto level = base::parse_log_level(word);
  if (!level) return answer->send(plain(400, level.error().message + "\n"));
  deps_.log.set_level(*level);
  deps_.log.info("log level changed", {{"level", base::to_string(*level)}});
  answer->send(plain(200, fmt::format("{}\n", base::to_string(*level))));
}

}  // namespace stowage::controller
