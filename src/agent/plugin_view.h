// What the device plugin asks about the node, from the parts of the agent.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "agent/node_pods.h"
#include "agent/podresources.h"
#include "agent/sampler.h"
#include "codec/kubernetes.h"
#include "kube/object_access.h"
#include "kube/public_keys.h"
#include "plugin/node_view.h"

namespace stowage::agent {

// The devices of our own resources in a list of the kubelet.
[[nodiscard]] std::vector<plugin::Holder> holders_in(const std::vector<PodDevices>& pods);
// The cards of a snapshot, and the names that a CDI specification may have for them.
[[nodiscard]] plugin::NodeCards node_cards(const CardsSnapshot& snapshot);

class PluginView final : public plugin::NodeView {
 public:
  struct Deps {
    kube::ApiClient& client;
    const NodePods& pods;
    kube::KeySource& keys;
    PodResources* resources = nullptr;  // null: not used
    std::function<plugin::NodeCards()> cards;
  };
  explicit PluginView(Deps deps);

  [[nodiscard]] const dialect::PodObject* pod(const std::string& uid) const override {
    return deps_.pods.pod(uid);
  }
  [[nodiscard]] std::string pods_trouble() const override { return deps_.pods.trouble(); }
  void fetch_pod(const PodKey& key, Fetched done) override;
  [[nodiscard]] bool lists_holders() const override { return deps_.resources != nullptr; }
  void list_holders(Listed done) override;
  [[nodiscard]] plugin::NodeCards cards() const override { return deps_.cards(); }
  [[nodiscard]] kube::KeySource& keys() override { return deps_.keys; }

 private:
  void list();

  Deps deps_;
  codec::Decoder decoder_;
  kube::ObjectAccess access_;
  // The kubelet limits how often it lists, for all its clients together: callers that come during a
  // list share the next one.
  std::vector<Listed> waiting_;
  bool listing_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace stowage::agent
