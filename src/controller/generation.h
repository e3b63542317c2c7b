// One configuration at work: a scheduler, and the extenders that ask the same ledger.
//
// A changed configuration makes another generation. It reads the cluster while the one before it
// still decides, and then takes over from it as a replica would take over from another.
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

// The name of this machine, or pod.
[[nodiscard]] std::string host_name();

class Generation {
 public:
  struct Ends {
    kube::ApiClient& client;
    base::Log& log;
    std::shared_ptr<kube::Outages> outages;
    std::shared_ptr<kube::KeySource> keys;
    // It decides only after lead(), and binds until `fence`; null: it decides at once, for ever.
    std::function<net::Moment()> fence;
    std::function<bool()> leads;             // this replica
    std::function<std::string()> not_ready;  // why questions cannot be answered; empty if they can
  };
  // Listens for the extenders; where `before` listens already, together with it. Then nothing is
  // accepted before accept() is called.
  [[nodiscard]] static Result<std::unique_ptr<Generation>> create(const Config& config, Ends ends,
                                                                  const Generation* before);
  Generation(const Generation&) = delete;
  Generation& operator=(const Generation&) = delete;
  ~Generation();

  // Extenders accept from now on.
  void accept();
  // Decides nothing more. What was promised to other schedulers may be bound for a moment; binds
  // under way may end within `grace`. Whoever asks for a place waits for another to answer.
  void stop(net::Duration grace, std::function<void()> done);
  // Questions that wait here, or come, are for that one. It has to live longer.
  void succeed(Generation& next);
  // For one that leads no more: questions wait, or would, as nobody else is known to lead.
  [[nodiscard]] bool questions_wait() const;
  // Closes the doors of the extenders.
  void shutdown(net::Duration grace, std::function<void()> done);

  [[nodiscard]] scheduler::Scheduler& scheduler() { return *scheduler_; }
  [[nodiscard]] const scheduler::Scheduler& scheduler() const { return *scheduler_; }
  [[nodiscard]] const std::vector<std::unique_ptr<extender::Server>>& extenders() const {
    return extenders_;
  }
  // A bind of this generation may reach the API server until then.
  [[nodiscard]] net::Moment open_until() const;

 private:
  explicit Generation(Ends ends) : ends_(std::move(ends)), timer_(ends_.client.loop()) {}
  Status listen(const Config& config, const Generation* before);
  [[nodiscard]] extender::Server* extender_named(const std::string& name) const;
  void stop_when_kept(net::Duration grace, std::function<void()> done);

  Ends ends_;
  std::unique_ptr<scheduler::Scheduler> scheduler_;
  std::vector<std::unique_ptr<extender::Server>> extenders_;
  net::Moment promises_until_{};
  net::Timer timer_;
};

}  // namespace stowage::controller
