// One active configuration: a scheduler, and the extenders that use the same ledger.
//
// A changed configuration makes another generation. It reads the cluster while the previous one
// still decides, and then takes over from it as one replica takes over from another.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "controller/config.h"
#include "extender/server.h"
#include "kube/api_client.h"
#include "kube/outages.h"
#include "scheduler/scheduler.h"

namespace stowage::controller {

// The host name of this machine or pod.
[[nodiscard]] std::string host_name();

class Generation {
 public:
  struct Deps {
    kube::ApiClient& client;
    base::Log& log;
    std::shared_ptr<kube::Outages> outages;
    std::shared_ptr<kube::KeySource> keys;
    // If set, it decides only after lead(), and binds until `fence`; null: it decides at once,
    // without limit.
    std::function<net::Moment()> fence;
    std::function<bool()> leads;             // whether this replica leads
    std::function<std::string()> not_ready;  // why requests cannot be answered; empty if they can
  };
  // Listens for the extenders, and shares the sockets of `before` where the addresses are equal.
  // Nothing is accepted then before accept() is called.
  [[nodiscard]] static Result<std::unique_ptr<Generation>> create(const Config& config, Deps deps,
                                                                  const Generation* before);
  Generation(const Generation&) = delete;
  Generation& operator=(const Generation&) = delete;
  ~Generation();

  // Extenders accept connections from now on.
  void accept();
  // Stops deciding. Other schedulers may still bind pods with pre-allocations for a moment; binds
  // under way may end within `grace`. Requests for placement wait for another generation or
  // replica.
  void stop(net::Duration grace, std::function<void()> done);
  // Requests that wait here or arrive later go to `next`, which must outlive this generation.
  void succeed(Generation& next);
  // After leadership was lost: whether requests wait, or would wait, because no leader is known.
  [[nodiscard]] bool questions_wait() const;
  // Closes the servers of the extenders.
  void shutdown(net::Duration grace, std::function<void()> done);

  [[nodiscard]] scheduler::Scheduler& scheduler() { return *scheduler_; }
  [[nodiscard]] const scheduler::Scheduler& scheduler() const { return *scheduler_; }
  [[nodiscard]] const std::vector<std::unique_ptr<extender::Server>>& extenders() const {
    return extenders_;
  }
  // Until then, a bind or a pre-allocation of this generation may reach the API server.
  [[nodiscard]] net::Moment open_until() const;

 private:
  explicit Generation(Deps deps) : deps_(std::move(deps)), timer_(deps_.client.loop()) {}
  Status listen(const Config& config, const Generation* before);
  [[nodiscard]] extender::Server* extender_named(const std::string& name) const;
  void stop_when_kept(net::Duration grace, std::function<void()> done);

  Deps deps_;
  std::unique_ptr<scheduler::Scheduler> scheduler_;
  std::vector<std::unique_ptr<extender::Server>> extenders_;
  net::Moment pre_allocations_until_{};
  net::Timer timer_;
};

}  // namespace stowage::controller
