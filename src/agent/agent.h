// The agent: reads the cards of its node and reports them.
//
//   Sampler (a thread of its own) -> Reporter   the node's annotation: cards and their health
//                                 -> Uplink     the controller: the same, and the load of cards
//   PodResourcesWatcher (kubelet) -> Uplink     the devices of each container
//   NodePods (API server)                       the share that each container was given: /metrics
//   DevicePlugin (kubelet)                      gives containers the cards that were decided
//
// Everything except the sampler's thread lives on the loop's thread.
#pragma once

#include <array>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "agent/node_pods.h"
#include "agent/plugin_view.h"
#include "agent/podresources_watcher.h"
#include "agent/reporter.h"
#include "agent/sampler.h"
#include "agent/uplink.h"
#include "base/log.h"
#include "base/result.h"
#include "gpu/source.h"
#include "grpc/client.h"
#include "kube/api_client.h"
#include "kube/public_keys.h"
#include "net/event_loop.h"
#include "net/http_server.h"
#include "net/status_paths.h"
#include "plugin/device_plugin.h"

namespace stowage::agent {

struct AgentOptions {
  std::string node;
  std::string listen = "127.0.0.1:10363";  // health and metrics
  // Unset: the API server is not used.
  std::optional<kube::ClientConfig> cluster;
  bool write_annotation = true;  // the node's; needs `cluster`
  // Unset: no reports to the controller.
  std::optional<UplinkOptions> uplink;
  std::string podresources;  // the kubelet's socket; empty: not used
  // Unset: the kubelet's devices are left to others. Needs `cluster`.
  struct Plugin {
    plugin::DevicePluginOptions device_plugin;
    kube::PublicKeysOptions keys;
  };
  std::optional<Plugin> plugin;
  SamplerOptions sampler;
  net::Duration hung_after = std::chrono::seconds{10};  // until a silent driver counts as hung
  std::uint64_t seed = 1;
};

// All paths that it serves.
inline constexpr std::array kPaths{net::kHealthzPath, net::kLivezPath, net::kReadyzPath,
                                   net::kMetricsPath, net::kVersionPath};

// Large because it creates and connects all parts of the process.
class Agent {
 public:
  // Listens, and is ready to start. `log` outlives the agent.
  [[nodiscard]] static Result<std::unique_ptr<Agent>> create(net::EventLoop& loop,
                                                             AgentOptions options,
                                                             std::unique_ptr<gpu::Source> source,
                                                             base::Log& log);
  ~Agent();
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  void start();
  // Tells the controller that the device plugin ends, so that no pod is sent here that the kubelet
  // would refuse; then calls `done`. Takes a fraction of a second.
  void finish(std::function<void()> done);
  [[nodiscard]] std::string address() const;
  // What is wrong; empty if nothing is wrong that a restart could fix.
  [[nodiscard]] std::string trouble() const;

 private:
  Agent(net::EventLoop& loop, AgentOptions options, base::Log& log);
  Status listen();
  void serve(const net::ServerRequest& request, const std::shared_ptr<net::Responder>& responder);
  [[nodiscard]] std::string metrics() const;
  void take(std::shared_ptr<const CardsSnapshot> snapshot);
  void take(const PodChanges& changes);
  void tell_uplink(const CardsSnapshot& snapshot);
  void note_busy(const CardsSnapshot& snapshot);
  Status create_plugin();
  void tell_plugin();
  [[nodiscard]] plugin::NodeCards cards_for_plugin() const;
  void look();
  [[nodiscard]] bool hung() const;

  net::EventLoop& loop_;
  const AgentOptions options_;
  base::Log& log_;
  std::unique_ptr<kube::ApiClient> client_;
  std::unique_ptr<Reporter> reporter_;
  std::unique_ptr<Uplink> uplink_;
  std::unique_ptr<grpc::Client> kubelet_;
  std::unique_ptr<NodePods> node_pods_;
  std::unique_ptr<PodResources> resources_;
  std::unique_ptr<PodResourcesWatcher> pods_;
  std::unique_ptr<kube::PublicKeys> keys_;
  std::unique_ptr<PluginView> plugin_view_;
  std::unique_ptr<plugin::DevicePlugin> plugin_;
  std::unique_ptr<Sampler> sampler_;
  std::shared_ptr<const CardsSnapshot> snapshot_;
  std::map<std::string, net::Moment> last_busy_;  // by card
  bool pods_told_ = false;
  bool hung_told_ = false;
  bool trimmed_ = false;
  bool ending_ = false;
  std::string host_;
  std::unique_ptr<net::HttpServer> server_;
  net::Timer timer_;
  net::Timer end_timer_;
  net::Moment started_{};
};

}  // namespace stowage::agent
