// The real controller beside a local cluster, on its own thread and event loop. It talks to the
// cluster over loopback like any other client.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "base/log.h"
#include "base/result.h"
#include "controller/controller.h"
#include "net/event_loop.h"

namespace stowage::cmd {

class LocalController {
 public:
  // `log` outlives it. `ready` is called once, on the controller's thread.
  [[nodiscard]] static Result<std::unique_ptr<LocalController>> start(controller::Config config,
                                                                      const std::string& server_url,
                                                                      base::Log& log,
                                                                      std::function<void()> ready);
  ~LocalController();  // ends it at once if stop() was not called
  LocalController(const LocalController&) = delete;
  LocalController& operator=(const LocalController&) = delete;

  // Lets binds in flight end, then calls `done` on the controller's thread. The cluster must answer
  // until then.
  void stop(std::function<void()> done);
  [[nodiscard]] std::string address() const { return address_; }  // of its status server

 private:
  LocalController();
  void wait_until_ready(std::function<void()> ready);

  net::EventLoop loop_;
  net::Timer timer_;
  std::unique_ptr<controller::Controller> controller_;
  std::string address_;
  std::thread thread_;
};

// The configuration for a local cluster: from the file, if given, and always with a profile for
// pods of the default-scheduler.
[[nodiscard]] Result<controller::Config> local_controller_config(const std::string& file,
                                                                 const std::string& log_level);

}  // namespace stowage::cmd
