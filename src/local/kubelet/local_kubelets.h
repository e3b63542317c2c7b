// The simulated kubelets of a local cluster. They write directly to its API: bound pods start, end
// and are removed; nodes renew their leases, unless an annotation says that they have failed. One
// write per pod and step, in slices, so that thousands of pods a second do not block other work.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "local/api.h"
#include "local/controllers/work_queue.h"
#include "local/kubelet/admission.h"
#include "local/kubelet/kubelets.h"

namespace stowage::local {

class LocalKubelets {
 public:
  // Reads the existing objects and watches from then on. `api` and `queue` outlive it.
  LocalKubelets(Api& api, WorkQueue& queue, const KubeletOptions& options);

 private:
  struct Node {
    std::string host_ip;
    std::string pod_prefix;  // "10.0.3."
    std::uint32_t pods = 0;  // addresses given so far
  };

  void upsert_node(const StoredObject& object);
  void forget_node(const std::string& name);
  void greet(const StoredObject& object);
  void upsert_pod(const StoredObject& object);
  void forget_pod(const std::string& uid);
  void arm();
  void work();
  void act(const KubeletTask& task);
  [[nodiscard]] PodStart start_of(Node& node, const json::object& pod);
  [[nodiscard]] bool start(const KubeletTask& task);
  [[nodiscard]] bool finish(const KubeletTask& task);
  void renew_leases();

  Api& api_;
  WorkQueue& queue_;
  KubeletOptions options_;
  Kubelets kubelets_;
  Admission admission_;
  std::map<std::string, Node> nodes_;
  std::string next_lease_;  // the node whose lease is next
  bool armed_ = false;
  WallTime armed_for_;
  Watch node_watch_;
  Watch pod_watch_;
};

// The address of the next pod on a node; addresses repeat after 254.
[[nodiscard]] std::string pod_address(std::string_view prefix, std::uint32_t number);
// "10.0.3." for spec.podCIDR "10.0.3.0/24", or a default of that form.
[[nodiscard]] std::string pod_prefix_of(const json::object& node);
[[nodiscard]] std::string host_address_of(const json::object& node);
[[nodiscard]] bool marked_failed(const json::object& node);

}  // namespace stowage::local
