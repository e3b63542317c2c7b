// The pods of this node as the API server has them: what of which card each container was given,
// and by which ids its runtime knows the containers.
//
// The kubelet says which devices a container has (podresources), not how much of a shared card; the
// annotations that a pod is bound with say that.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
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

// What one container was given of one card.
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

// What all containers together have of a card; containers that run one after the other share.
struct CardGiven {
  std::int64_t milli = 0;
  std::int64_t memory_mib = 0;
  friend bool operator==(const CardGiven&, const CardGiven&) = default;
};

struct Given {
  std::vector<Grant> grants;               // in the order of namespaces and names
  std::map<std::string, CardGiven> cards;  // by id
};

struct NodePod {
  dialect::PodObject object;
  codec::ContainerIds ids;
};

class NodePods final : private kube::InformerHandler<NodePod> {
 public:
  NodePods(kube::ApiClient& client, const std::string& node, std::uint64_t seed, base::Log& log);
  NodePods(const NodePods&) = delete;
  NodePods& operator=(const NodePods&) = delete;
  ~NodePods() override = default;

  void start() { informer_.start(); }
  // Of pods whose containers run, or may. Pods whose cards nobody has named are not in it.
  [[nodiscard]] Given given(const std::vector<core::Card>& cards) const;
  // Null: no container of a pod that is known here.
  [[nodiscard]] const ContainerName* container(const std::string& runtime_id) const;
  [[nodiscard]] std::size_t size() const { return pods_.size(); }
  // Why nothing is known; empty once the first list is in.
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
  kube::Informer<NodePod> informer_;
};

}  // namespace stowage::agent
