// The device plugin: offers attachments to the kubelet, and gives each container the cards that the
// controller decided. It never chooses a card.
//
//   Allocate            a new CDI name, recorded on disk; no card yet, because the kubelet does not
//                       say for which pod it asks
//   PreStartContainer   now the pod is known: the CDI specification of that name (pre_start.h)
//   a sweep             removes what belonged to pods that are gone
//
// Lives on the loop's thread. Allocate waits for the disk, for nothing else.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "grpc/server.h"
#include "net/event_loop.h"
#include "plugin/checkpoint_file.h"
#include "plugin/device_ids.h"
#include "plugin/endpoint.h"
#include "plugin/injection.h"
#include "plugin/kubelet_socket.h"
#include "plugin/node_view.h"
#include "plugin/pre_start.h"
#include "plugin/record_store.h"

namespace stowage::plugin {

struct DevicePluginOptions {
  std::string node;
  std::string kubelet_folder = "/var/lib/kubelet/device-plugins";
  std::string state_folder = "/var/lib/stowage";
  InjectionOptions injection;
  std::string mps_root;       // the folder of `stowage mps`; empty: shares are not limited
  std::size_t devices = 512;  // of each resource
  PreStartOptions pre_start;
  RegistrationState::Options registration;
  net::Duration sweep_every = std::chrono::seconds{30};
  // A name that no container has, in the kubelet's view, stays for a while: Allocate may have
  // answered just now.
  std::chrono::seconds unused_after = std::chrono::minutes{5};
  std::function<std::int64_t()> unix_seconds;
  std::uint64_t seed = 1;  // of the id of this start
};

class DevicePlugin {
 public:
  // Upper bounds of the histogram of PreStartContainer, in seconds.
  static constexpr std::array kPreStartBounds{0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 25.0};

  struct Snapshot {
    struct Resource {
      std::string name;
      bool registered = false;
      std::string why;  // not
      std::uint64_t attempts = 0;
    };
    std::vector<Resource> resources;
    std::uint64_t allocated = 0;  // containers
    std::uint64_t allocations_failed = 0;
    double allocate_seconds_max = 0;
    std::map<std::string, std::uint64_t> pre_starts;  // by outcome
    std::array<std::uint64_t, kPreStartBounds.size() + 1> pre_start_counts{};
    double pre_start_seconds = 0;  // their sum
    std::size_t pre_starts_waiting = 0;
    std::size_t records = 0;
    std::uint64_t swept = 0;
    std::map<Isolation, std::uint64_t> isolations;  // containers that got cards, by level
    std::string trouble;  // why new containers would not get cards; empty: nothing
  };

  // Reads the state. `view` and `log` outlive it. `changed`: registered() may have changed.
  [[nodiscard]] static Result<std::unique_ptr<DevicePlugin>> create(net::EventLoop& loop,
                                                                    DevicePluginOptions options,
                                                                    NodeView& view, base::Log& log,
                                                                    std::function<void()> changed);
  ~DevicePlugin();
  DevicePlugin(const DevicePlugin&) = delete;
  DevicePlugin& operator=(const DevicePlugin&) = delete;

  void start();
  // Pods, keys or cards have changed: calls that wait look again.
  void look_soon();

  // All resources are, and new containers can be recorded.
  [[nodiscard]] bool registered() const;
  [[nodiscard]] std::string trouble() const;  // why not; empty if it is
  [[nodiscard]] Snapshot snapshot() const;

 private:
  DevicePlugin(net::EventLoop& loop, DevicePluginOptions options, NodeView& view,
               RecordStore records, base::Log& log, std::function<void()> changed);
  void allocate(const std::string& resource, const grpc::ServerRequest& request,
                grpc::Responder& responder);
  [[nodiscard]] Result<std::string> allocate(const std::string& resource,
                                             const std::string& message);
  [[nodiscard]] Result<Allocation> allocate_one(const std::string& resource, Ids ids);
  [[nodiscard]] Status check_ids(const std::string& resource, const Ids& ids) const;
  void pre_start(const std::string& resource, const grpc::ServerRequest& request,
                 const std::shared_ptr<grpc::Responder>& responder);
  void pre_start_done(std::uint64_t number, const PreStart::End& end);
  void note_records();
  void sweep();
  void sweep(const std::vector<Holder>* holders);
  [[nodiscard]] bool in_use(const Record& record, const Checkpoint& checkpoint,
                            const std::vector<Holder>* holders) const;

  net::EventLoop& loop_;
  const DevicePluginOptions options_;
  NodeView& view_;
  base::Log& log_;
  std::function<void()> changed_;
  std::string start_id_;
  std::uint64_t last_name_ = 0;
  RecordStore records_;
  CheckpointFile checkpoint_;
  Injection injection_;
  PreStartDeps deps_;
  KubeletSocket socket_;
  std::vector<std::unique_ptr<Endpoint>> endpoints_;
  struct Call {
    std::unique_ptr<PreStart> work;
    std::shared_ptr<grpc::Responder> responder;
    net::Moment began{};
  };
  std::map<std::uint64_t, Call> calls_;  // of PreStartContainer
  std::uint64_t last_call_ = 0;
  Snapshot counts_;  // the counters of it
  std::string sweep_trouble_;
  bool records_good_ = true;  // as told by changed_()
  net::Timer sweep_timer_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace stowage::plugin
