// The demonstration: submits the workload to the API over HTTP and waits until all pods that fit
// are placed and the pod that does not fit has its reason. Then it shows the cards. A client like
// any other; runs on the client's loop.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/api_client.h"
#include "local/demo/card_map.h"
#include "local/demo/workload.h"
#include "net/event_loop.h"

namespace stowage::local {

struct DemoOptions {
  MapStyle style;
  bool terminal = false;  // redraw the progress in place
  net::Duration time_limit = std::chrono::seconds{60};
  std::function<void(std::string_view)> out;  // output for the user
};

class Demo {
 public:
  // `ok`: everything was as expected; otherwise `message` says what was not.
  struct Outcome {
    bool ok = false;
    std::string message;
  };
  using Done = std::function<void(const Outcome&)>;

  // `client` outlives it.
  Demo(kube::ApiClient& client, DemoWorkload workload, DemoOptions options);
  Demo(const Demo&) = delete;
  Demo& operator=(const Demo&) = delete;

  // Call once. `done` is called last, never before start() has returned.
  void start(Done done);

 private:
  using Then = std::function<void(const json::object& body)>;

  void create_next();
  void submit(std::size_t index);
  void look();
  void count(const json::object& list);
  void draw(std::int64_t placed);
  void show(std::vector<json::object> pods);
  void call(kube::ApiCall call, const std::string& what, Then then);
  void finish(const Outcome& outcome);

  kube::ApiClient& client_;
  DemoWorkload workload_;
  DemoOptions options_;
  Done done_;
  net::Timer timer_;
  std::chrono::steady_clock::time_point begin_;
  std::size_t next_ = 0;       // next object to create
  std::size_t in_flight_ = 0;  // creations in flight
  std::int64_t drawn_ = -1;
  bool finished_ = false;
};

// The bar of the progress, such as "placed  45/120  [#######.............]".
[[nodiscard]] std::string progress_line(std::int64_t placed, std::int64_t all,
                                        const MapStyle& style);

}  // namespace stowage::local
