// The controller: one ledger, its servers, and a status server for health, metrics and debugging.
//
//   Generation (scheduler, extenders)  made from the configuration; replaced when that changes
//   Leadership                         tells the generation when to decide
//   StatusServer, ConfigWatch          observe them
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "controller/config.h"
#include "controller/config_watch.h"
#include "controller/generation.h"
#include "controller/heap.h"
#include "controller/hub.h"
#include "controller/leadership.h"
#include "controller/metrics.h"
#include "controller/node_publisher.h"
#include "controller/progress_log.h"
#include "controller/status_server.h"
#include "kube/api_client.h"
#include "kube/key_manager.h"
#include "kube/kubeconfig.h"
#include "net/event_loop.h"

namespace stowage::controller {

// Where the configuration came from, and how its file is read again. Without a path it is never
// read again.
struct ConfigSource {
  std::string path;
  std::string text;  // the text from which `config` was read
  std::function<Result<Config>(const std::string& text)> parse;
};

struct ControllerOptions {
  Config config;
  ConfigSource source;
  kube::ClientConfig cluster;
  kube::Environment environment = kube::process_environment();  // POD_IP and POD_NAMESPACE
};

// Large because it creates and connects all parts of the process, and exchanges generations while
// they run.
class Controller {
 public:
  // Listens, and is ready to start. `log` outlives the controller.
  [[nodiscard]] static Result<std::unique_ptr<Controller>> create(net::EventLoop& loop,
                                                                  ControllerOptions options,
                                                                  base::Log& log);
  ~Controller();
  Controller(const Controller&) = delete;
  Controller& operator=(const Controller&) = delete;

  void start();
  // Checks at once whether the configuration has changed, and logs if it has not.
  void reload();
  // Decides, or could take over: another replica leads, and this one is synced.
  [[nodiscard]] bool ready() const;
  // Why it is not ready; empty if it is.
  [[nodiscard]] std::string trouble() const;
  // Where agents report; empty: disabled.
  [[nodiscard]] std::string agents_address() const;
  // The addresses of the extenders, by name.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> extender_addresses() const;
  [[nodiscard]] std::string address() const;  // of the status server: "127.0.0.1:10360"
  // Stops deciding, lets binds in flight end (5 seconds at most), releases the lease, then calls
  // `done`.
  void stop(std::function<void()> done);

  [[nodiscard]] const scheduler::Scheduler& scheduler() const { return now_->scheduler(); }

 private:
  Controller(net::EventLoop& loop, ControllerOptions options, base::Log& log);
  Status make_keys();
  [[nodiscard]] Generation::Deps generation_deps(bool elected);
  Status listen();
  void make_leadership();
  Status make_hub();
  void make_publisher();
  void watch_nodes(Generation& generation);
  void tell_hub();
  void tell_leader(const LeaderAddress& place);
  [[nodiscard]] bool leads() const { return !leadership_ || leadership_->leads(); }
  [[nodiscard]] std::string metrics() const;

  // ---- a changed configuration
  void take(const std::string& text);
  void keep_old(const std::string& why);
  void exchange_when_ready();
  void exchange();
  void take_over();
  void forget_past();
  void finish_stop();
  void last_words();

  // The generation of a changed configuration: it reads the cluster, or waits for `now_` to end.
  struct Next {
    std::unique_ptr<Generation> generation;
    Config config;
    net::Moment since{};  // when it began to read the cluster
    bool slow_told = false;
  };
  // The previous generation, which exists until its calls have ended. The time and the timer also
  // serve the end of `now_`.
  struct Past {
    explicit Past(net::EventLoop& loop) : timer(loop) {}
    std::unique_ptr<Generation> generation;
    net::Moment until{};
    bool closed = false;
    net::Timer timer;
  };

  net::EventLoop& loop_;
  ControllerOptions options_;
  base::Log& log_;
  std::unique_ptr<kube::ApiClient> client_;
  std::shared_ptr<kube::Outages> outages_;
  std::shared_ptr<kube::KeySource> keys_;
  kube::KeyManager* keeper_ = nullptr;  // `keys_`, unless the keys are in a file
  std::unique_ptr<Generation> now_;
  Next next_;
  Past past_;
  std::unique_ptr<Leadership> leadership_;  // null: no election
  std::unique_ptr<StatusServer> status_;
  std::unique_ptr<NodePublisher> publisher_;
  std::unique_ptr<Hub> hub_;  // null: agents cannot report
  std::unique_ptr<ConfigWatch> watch_;
  LeaderAddress leader_;
  std::string pending_;            // configuration text that arrived while `now_` was ending
  bool exchanging_ = false;        // `now_` is ending
  std::function<void()> stopped_;  // set: the whole controller is stopping
  ReloadSnapshot reloads_;
  net::Timer exchange_timer_;
  ProgressLog progress_;
  HeapTrimmer heap_;
};

}  // namespace stowage::controller
