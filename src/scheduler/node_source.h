// Follows the nodes and updates the cluster cache.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/log.h"
#include "codec/kubernetes.h"
#include "kube/informer.h"
#include "scheduler/cluster_cache.h"

namespace stowage::scheduler {

class NodeSource final : private kube::InformerHandler<dialect::NodeObject> {
 public:
  struct Deps {  // all outlive the source
    kube::ApiClient& client;
    ClusterCache& cluster_cache;
    base::Log& log;
    std::shared_ptr<kube::Outages> outages;
    std::function<void()> on_listed;  // after every list
  };
  NodeSource(kube::ReflectorOptions options, Deps deps);

  [[nodiscard]] kube::InformerBase& informer() { return informer_; }
  [[nodiscard]] const kube::InformerBase& informer() const { return informer_; }

 private:
  Result<dialect::NodeObject> decode(std::string_view json) override { return decoder_.node(json); }
  std::string key(const dialect::NodeObject& node) override { return node.name; }
  Result<std::string> key_of(std::string_view json) override;
  void updated(dialect::NodeObject node) override { deps_.cluster_cache.upsert_node(node); }
  void deleted(const Deleted& node) override { deps_.cluster_cache.remove_node(node.key); }
  void unreadable(const Unreadable& node) override;
  void unreadable_event(const std::string& why) override;
  void list_ended() override { deps_.on_listed(); }

  Deps deps_;
  codec::Decoder decoder_;
  kube::Informer<dialect::NodeObject> informer_;
};

}  // namespace stowage::scheduler
