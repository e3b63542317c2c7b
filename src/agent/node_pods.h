// The pods of this node on the API server: the share of each card that each container was given,
// and the runtime ids of the containers.
//
// The kubelet reports the devices of a container (podresources), but not the share of a shared
// card; the annotations of a bound pod have it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "codec/container_ids.h"
#include "codec/kubernetes.h"
#include "core/model/node.h"
#include "core/place/footprint.h"
#include "dialect/objects.h"
#include "kube/api_client.h"
#include "kube/informer.h"

namespace stowage::agent {

// The share of one card that one container was given.
struct Grant {
  std::string ns;
  std::string pod;
  std::string container;
  std::string card;  // id
  std::int32_t milli = 0;
  std::int32_t memory_mib = 0;
  friend bool operator==(const Grant&, const Grant&) = default;
};

struct ContainerName {
  std::string ns;
  std::string pod;
  std::string container;
  friend auto operator<=>(const ContainerName&, const ContainerName&) = default;
};

// The shares of all containers on a card; containers that run one after the other share.
struct CardGiven {
  std::int64_t milli = 0;
  std::int64_t memory_mib = 0;
  friend bool operator==(const CardGiven&, const CardGiven&) = default;
};

struct Given {
  std::vector<Grant> grants;               // sorted by namespace and name
  std::map<std::string, CardGiven> cards;  // by id
};

struct NodePod {
  dialect::PodObject object;
  codec::ContainerIds ids;
};

class NodePods final : private kube::InformerHandler<NodePod> {
 public:
  NodePods(kube::ApiClient& client, const std::string& node, std::uint64_t seed, base::Log& log);
  // Called when a pod was added or has changed.
  void on_updated(std::function<void()> updated) { on_updated_ = std::move(updated); }
  NodePods(const NodePods&) = delete;
  NodePods& operator=(const NodePods&) = delete;
  ~NodePods() override = default;

  void start() { informer_.start(); }
  // For pods whose containers run or may run. Pods whose cards are unknown are not included.
  [[nodiscard]] Given given(const std::vector<core::Card>& cards) const;
  // Null: not a pod of this node, or it has ended.
  [[nodiscard]] const dialect::PodObject* pod(const std::string& uid) const;
  // Null: not a container of a known pod.
  [[nodiscard]] const ContainerName* container(const std::string& runtime_id) const;
  [[nodiscard]] std::size_t size() const { return pods_.size(); }
  // Why nothing is known; empty once the first list has arrived.
  [[nodiscard]] const std::string& trouble() const { return trouble_; }

 private:
  Result<NodePod> decode(std::string_view json) override;
  std::string key(const NodePod& pod) override { return pod.object.uid; }
  Result<std::string> key_of(std::string_view json) override;
  void updated(NodePod pod) override;
  void deleted(const Deleted& pod) override { drop(pod.key); }
  void unreadable(const Unreadable& pod) override;
  void unreadable_event(const std::string& why) override;
  void list_ended() override { trouble_.clear(); }
  void status_changed(const kube::ReflectorStatus& status) override;
  void drop(const std::string& uid);

  std::string node_;
  base::Log& log_;
  codec::Decoder decoder_;
  std::map<std::string, NodePod> pods_;  // by uid
  std::map<std::string, ContainerName> by_runtime_id_;
  std::string trouble_ = "not read yet";
  std::function<void()> on_updated_;
  kube::Informer<NodePod> informer_;
};

}  // namespace stowage::agent
