// The whole local cluster on one event loop: API server on loopback, nodes, kubelets, controllers.
// It has no scheduler: a scheduler is a client like any other.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "local/api.h"
#include "local/api_server.h"
#include "local/controllers/controllers.h"
#include "local/controllers/work_queue.h"
#include "local/fleet/fleet.h"
#include "local/kubelet/local_kubelets.h"
#include "net/event_loop.h"

namespace stowage::local {

// Starts at the system's time and then follows a steady clock: it is never set back or forward.
[[nodiscard]] std::function<WallTime()> steady_wall_clock();

struct ClusterOptions {
  std::vector<NodeGroup> nodes;
  std::uint16_t port = 0;  // 0: any free one
  std::string kubeconfig;  // a file to write, and to remove at the end; "": none
  std::uint64_t seed = 0;  // of uids and generated names; 0: a random one
  KubeletOptions kubelets;
  NodeLifecycleOptions lifecycle;
};

class Cluster {
 public:
  // Listens, creates the nodes and writes the kubeconfig, in this order; an error undoes all of it.
  // `loop` outlives the cluster.
  [[nodiscard]] static Result<std::unique_ptr<Cluster>> start(net::EventLoop& loop,
                                                              ClusterOptions options);
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  [[nodiscard]] std::string url() const { return server_.url(); }
  [[nodiscard]] std::uint16_t port() const { return server_.port(); }
  [[nodiscard]] Api& api() { return api_; }

 private:
  Cluster(net::EventLoop& loop, ClusterOptions options);
  Status make_all();
  void arm();
  void run();

  ClusterOptions options_;
  Api api_;
  WorkQueue queue_;
  net::Timer timer_;
  ApiServer server_;
  std::unique_ptr<LocalKubelets> kubelets_;
  std::unique_ptr<Controllers> controllers_;
  bool wrote_kubeconfig_ = false;
};

}  // namespace stowage::local
