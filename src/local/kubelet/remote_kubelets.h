// The simulated kubelets for any API server, over HTTP: the same life of pods as in
// local_kubelets.h, written as a kubelet writes it (PATCH of the status, DELETE without grace).
// Creates no nodes; simulates all that exist. Runs on the client's loop.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "kube/api_client.h"
#include "kube/reflector.h"
#include "local/kubelet/admission.h"
#include "local/kubelet/kubelets.h"
#include "net/event_loop.h"

namespace stowage::local {

struct RemoteKubeletCounters {
  std::uint64_t started = 0;
  std::uint64_t refused = 0;  // by admission
  std::uint64_t ended = 0;
  std::uint64_t removed = 0;
  std::uint64_t failed = 0;  // calls that will be retried
};

class RemoteKubelets {
 public:
  // `client` outlives it. `complain` gets errors, one sentence at a time.
  RemoteKubelets(kube::ApiClient& client, const KubeletOptions& options,
                 std::function<WallTime()> now, std::function<void(const std::string&)> complain);
  ~RemoteKubelets();
  RemoteKubelets(const RemoteKubelets&) = delete;
  RemoteKubelets& operator=(const RemoteKubelets&) = delete;

  void start();  // call once
  [[nodiscard]] const RemoteKubeletCounters& counters() const { return counters_; }

 private:
  // Finds the objects that a new list no longer contains.
  class Sink : public kube::ReflectorSink {
   public:
    using Seen = std::function<void(const json::object&, std::string_view text)>;
    using Gone = std::function<void(const std::string& key)>;
    Sink(RemoteKubelets& owner, std::string what, std::string_view key, Seen seen, Gone gone);
    void on_list_begin() override;
    void on_item(std::string_view text) override;
    void on_list_end(std::string_view version) override;
    void on_event(kube::WatchType type, std::string_view text) override;
    void on_status(const kube::ReflectorStatus& status) override;
    void on_bad_line(const std::string& error) override;

   private:
    void take(std::string_view text, bool deleted);

    RemoteKubelets& owner_;
    std::string what_;
    std::string key_;  // the path of the member that identifies an object
    Seen seen_;
    Gone gone_;
    std::set<std::string> known_;
    std::set<std::string> listed_;
    bool listing_ = false;
  };

  struct Node {
    std::string host_ip;
    std::string pod_prefix;
    std::uint32_t pods = 0;
  };

  void upsert_node(const json::object& node);
  void forget_node(const std::string& name);
  void upsert_pod(const json::object& pod, std::string_view text);
  void forget_pod(const std::string& uid);
  void arm();
  void work();
  void act(const KubeletTask& task);
  void start_pod(const KubeletTask& task, const json::object& pod);
  void send(const KubeletTask& task, kube::ApiCall call, std::function<void()> done);
  void settle(const KubeletTask& task, const kube::CallResult& reply,
              const std::function<void()>& done);

  kube::ApiClient& client_;
  KubeletOptions options_;
  std::function<WallTime()> now_;
  std::function<void(const std::string&)> complain_;
  Kubelets kubelets_;
  Admission admission_;
  std::map<std::string, Node> nodes_;
  std::map<std::string, std::string> texts_;  // the last state of each pod, by uid
  RemoteKubeletCounters counters_;
  net::Timer timer_;
  Sink node_sink_;
  Sink pod_sink_;
  kube::Reflector node_reflector_;
  kube::Reflector pod_reflector_;
};

}  // namespace stowage::local
