// What the load programs share: one user of an API server on one loop, a progress line, and a watch
// of pods. Any error ends the program: a benchmark that continues after an error measures something
// else.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "kube/api_client.h"
#include "net/event_loop.h"

namespace stowage::bench {

inline constexpr const char* kJson = "application/json";
inline constexpr const char* kProtobuf = "application/vnd.kubernetes.protobuf";

[[noreturn]] void give_up(const std::string& why);

class Api {
 public:
  Api(const std::string& kubeconfig, int clients);

  void call(kube::ApiCall call, std::function<void(kube::ApiReply)> then);
  void post(std::string target, std::string body, const char* type, std::function<void()> then);

  net::EventLoop& loop() { return loop_; }
  kube::ApiClient& client() { return *client_; }

 private:
  net::EventLoop loop_;
  std::unique_ptr<kube::ApiClient> client_;
};

// A line on stderr every two seconds.
class Progress {
 public:
  Progress(net::EventLoop& loop, std::string what, const int& done, int total);

 private:
  void again();

  net::Timer timer_;
  std::string what_;
  const int& done_;
  int total_;
};

// A watch of pods, split into its events. Reopened at its position when the server ends it.
class PodWatch {
 public:
  using Named = std::function<void(std::string_view name)>;
  PodWatch(Api& api, std::string query, std::string accept, Named named);

  // `ready` is called once, when the watch is open.
  void start(std::function<void()> ready);

  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  [[nodiscard]] int reopened() const { return opened_ - 1; }

 private:
  void open();
  void take();

  Api& api_;
  std::string query_;
  std::string accept_;
  Named named_;
  std::string rest_;  // the beginning of an event
  std::function<void()> ready_;
  std::unique_ptr<kube::ApiClient::Stream> stream_;
  std::unique_ptr<net::Timer> again_;
  std::string version_;
  std::uint64_t bytes_ = 0;
  int opened_ = 0;
};

}  // namespace stowage::bench
