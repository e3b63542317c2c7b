// A scripted API server for tests, on loopback and any free port. Client and server share the loop
// of the test.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kube/api_client.h"
#include "net/event_loop.h"
#include "net/http_server.h"

namespace stowage::kube::testing {

// Runs the loop until `met` returns true; returns false if that takes too long.
[[nodiscard]] bool run_until(net::EventLoop& loop, const std::function<bool()>& met,
                             std::chrono::seconds limit = std::chrono::seconds{30});
// Runs the loop for this long.
void run_for(net::EventLoop& loop, net::Duration length);

struct SeenRequest {
  std::string method;
  std::string path;
  std::string target;
  net::Headers headers;
  std::string body;

  [[nodiscard]] std::string query(std::string_view name) const;
  [[nodiscard]] std::string header(std::string_view name) const;
};

enum class StreamEnd : unsigned char { clean, drop, open };

class FakeApiServer {
 public:
  using Answer = std::function<void(const SeenRequest&, std::shared_ptr<net::Responder>)>;

  explicit FakeApiServer(net::EventLoop& loop, std::shared_ptr<net::TlsContext> tls = nullptr);

  // Answers to the requests of this method and path, in order; the last one repeats.
  void script(const std::string& method, const std::string& path, std::vector<Answer> answers);

  [[nodiscard]] ClientConfig config() const;
  [[nodiscard]] std::unique_ptr<ApiClient> client(ApiClientOptions options = {}) const;
  // Requests of this method and path so far.
  [[nodiscard]] std::vector<SeenRequest> seen(const std::string& method,
                                              const std::string& path) const;
  [[nodiscard]] const std::vector<SeenRequest>& seen() const { return seen_; }
  void stop() { server_.reset(); }

  // An answer that keeps the request open, in held().
  [[nodiscard]] Answer hold();
  // A chunked response of these pieces. If left open, it is in held().
  [[nodiscard]] Answer stream(std::vector<std::string> pieces, StreamEnd end);
  [[nodiscard]] std::vector<std::shared_ptr<net::Responder>>& held() { return held_; }

 private:
  void take(net::ServerRequest request, std::shared_ptr<net::Responder> responder);
  void abort_when_sent();

  net::EventLoop& loop_;
  bool tls_;
  std::map<std::string, std::deque<Answer>> scripts_;  // by "METHOD path"
  std::vector<SeenRequest> seen_;
  std::vector<std::shared_ptr<net::Responder>> held_;
  std::vector<std::shared_ptr<net::Responder>> to_abort_;
  net::Timer abort_timer_;
  std::unique_ptr<net::HttpServer> server_;
};

// Answers.
[[nodiscard]] FakeApiServer::Answer reply(int status, std::string body = "{}",
                                          net::Headers headers = {});
// A Status object with that code.
[[nodiscard]] FakeApiServer::Answer refuse(int status, const std::string& reason,
                                           const std::string& message);
// The API server's answer about a missing object; `resource` as in paths, "pods".
[[nodiscard]] FakeApiServer::Answer not_found(const std::string& resource, const std::string& name);
[[nodiscard]] std::string not_found_json(const std::string& resource, const std::string& name);
[[nodiscard]] std::string status_json(int code, const std::string& reason,
                                      const std::string& message);
[[nodiscard]] FakeApiServer::Answer drop();  // closes the connection without an answer

}  // namespace stowage::kube::testing
