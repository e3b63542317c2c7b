#include "kube/testing/fake_api_server.h"

#include <utility>

#include <fmt/format.h>

#include "base/check.h"

namespace stowage::kube::testing {

bool run_until(net::EventLoop& loop, const std::function<bool()>& met, std::chrono::seconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  bool held = false;
  net::Timer timer(loop);
  const std::function<void()> look = [&] {
    held = met();
    if (held || std::chrono::steady_clock::now() >= end) {
      loop.stop();
    } else {
      timer.start(std::chrono::milliseconds{1}, look);
    }
  };
  timer.start(net::Duration::zero(), look);
  loop.run();
  return held;
}

void run_for(net::EventLoop& loop, net::Duration length) {
  net::Timer timer(loop);
  timer.start(length, [&] { loop.stop(); });
  loop.run();
}

std::string SeenRequest::query(std::string_view name) const {
  const auto parsed = net::parse_target(target);
  return parsed ? std::string(parsed->query_value(name)) : std::string();
}

std::string SeenRequest::header(std::string_view name) const {
  return std::string(net::find_header(headers, name));
}

FakeApiServer::FakeApiServer(net::EventLoop& loop, std::shared_ptr<net::TlsContext> tls)
    : loop_(loop), tls_(tls != nullptr), abort_timer_(loop) {
  net::HttpServerOptions options;
  options.tls = std::move(tls);
  auto server = net::HttpServer::listen(
      loop, options, [this](net::ServerRequest request, std::shared_ptr<net::Responder> responder) {
        take(std::move(request), std::move(responder));
      });
  STOWAGE_CHECK(server.has_value());
  server_ = std::move(*server);
}

void FakeApiServer::script(const std::string& method, const std::string& path,
                           std::vector<Answer> answers) {
  scripts_[method + " " + path] = {answers.begin(), answers.end()};
}

void FakeApiServer::take(net::ServerRequest request, std::shared_ptr<net::Responder> responder) {
  SeenRequest seen{.method = request.http.method,
                   .path = request.http.target.substr(0, request.http.target.find('?')),
                   .target = request.http.target,
                   .headers = std::move(request.http.headers),
                   .body = std::move(request.http.body)};
  seen_.push_back(seen);
  const auto found = scripts_.find(seen.method + " " + seen.path);
  if (found == scripts_.end() || found->second.empty()) {
    refuse(404, "NotFound", "no script for " + seen.path)(seen, std::move(responder));
    return;
  }
  const Answer answer = found->second.front();
  if (found->second.size() > 1) found->second.pop_front();
  answer(seen, std::move(responder));
}

ClientConfig FakeApiServer::config() const {
  ClientConfig config;
  config.origin = "the test";
  config.server.tls = tls_;
  config.server.host = "127.0.0.1";
  config.server.port = server_->port();
  config.server_url = fmt::format("{}://127.0.0.1:{}", tls_ ? "https" : "http", server_->port());
  return config;
}

std::unique_ptr<ApiClient> FakeApiServer::client(ApiClientOptions options) const {
  auto client = ApiClient::create(loop_, config(), std::move(options));
  STOWAGE_CHECK(client.has_value());
  return std::move(*client);
}

std::vector<SeenRequest> FakeApiServer::seen(const std::string& method,
                                             const std::string& path) const {
  std::vector<SeenRequest> found;
  for (const SeenRequest& each : seen_) {
    if (each.method == method && each.path == path) found.push_back(each);
  }
  return found;
}

FakeApiServer::Answer reply(int status, std::string body, net::Headers headers) {
  headers.emplace_back("Content-Type", "application/json");
  const net::HttpResponse response{status, std::move(headers), std::move(body)};
  return [response](const SeenRequest&, const std::shared_ptr<net::Responder>& responder) {
    responder->send(response);
  };
}

std::string status_json(int code, const std::string& reason, const std::string& message) {
  return fmt::format(R"({{"kind":"Status","apiVersion":"v1","metadata":{{}},"status":"Failure",)"
                     R"("message":"{}","reason":"{}","code":{}}})",
                     message, reason, code);
}

FakeApiServer::Answer refuse(int status, const std::string& reason, const std::string& message) {
  return reply(status, status_json(status, reason, message));
}

std::string not_found_json(const std::string& resource, const std::string& name) {
  return fmt::format(R"({{"kind":"Status","apiVersion":"v1","metadata":{{}},"status":"Failure",)"
                     R"("message":"{0} \"{1}\" not found","reason":"NotFound",)"
                     R"("details":{{"name":"{1}","kind":"{0}"}},"code":404}})",
                     resource, name);
}

FakeApiServer::Answer not_found(const std::string& resource, const std::string& name) {
  return reply(404, not_found_json(resource, name));
}

FakeApiServer::Answer drop() {
  return [](const SeenRequest&, const std::shared_ptr<net::Responder>& responder) {
    responder->abort();
  };
}

FakeApiServer::Answer FakeApiServer::hold() {
  return [this](const SeenRequest&, std::shared_ptr<net::Responder> responder) {
    held_.push_back(std::move(responder));
  };
}

FakeApiServer::Answer FakeApiServer::stream(std::vector<std::string> pieces, StreamEnd end) {
  return [this, pieces = std::move(pieces), end](const SeenRequest&,
                                                 std::shared_ptr<net::Responder> responder) {
    responder->begin({200, {{"Content-Type", "application/json"}}, ""});
    for (const std::string& piece : pieces) {
      responder->write(std::make_shared<const std::string>(piece));
    }
    if (end == StreamEnd::clean) {
      responder->end();
    } else if (end == StreamEnd::open) {
      held_.push_back(std::move(responder));
    } else {
      to_abort_.push_back(std::move(responder));
      abort_when_sent();
    }
  };
}

void FakeApiServer::abort_when_sent() {
  std::erase_if(to_abort_, [](const std::shared_ptr<net::Responder>& responder) {
    if (responder->backlog() > 0) return false;
    responder->abort();
    return true;
  });
  if (!to_abort_.empty()) {
    abort_timer_.start(std::chrono::milliseconds{1}, [this] { abort_when_sent(); });
  }
}

}  // namespace stowage::kube::testing
