// The demonstration: submits the workload to the API over HTTP, waits until everything that can be
// placed is placed and the pod that can not be has been told why, then shows the cards. A client
// like any other; lives on the client's loop.
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
  bool terminal = false;  // the progress is drawn in place, not in lines
  net::Duration time_limit = std::chrono::seconds{60};
  std::function<void(std::string_view)> out;  // what people read
};

class Demo {
 public:
  // `ok`: everything was as it should be; otherwise `message` says what was not.
  struct Outcome {
    bool ok = false;
    std::string message;
  };
  using Done = std::function<void(const Outcome&)>;

  // `client` outlives it.
  Demo(kube::ApiClient& client, DemoWorkload workload, DemoOptions options);
  Demo(const Demo&) = delete;
  Demo& operator=(const Demo&) = delete;

  // Once. `done` is called last, never before start() has returned.
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
  std::size_t next_ = 0;       // object to create
  std::size_t in_flight_ = 0;  // creations
  std::int64_t drawn_ = -1;
  bool finished_ = false;
};

// The bar of the progress, such as "placed  45/120  [#######.............]".
[[nodiscard]] std::string progress_line(std::int64_t placed, std::int64_t all,
                                        const MapStyle& style);

}  // namespace stowage::local
