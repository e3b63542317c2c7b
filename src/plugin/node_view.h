// What the plugin asks about its node; the agent implements it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/model/node.h"
#include "dialect/objects.h"
#include "kube/seal.h"
#include "plugin/messages.h"
#include "plugin/nvidia_spec.h"

namespace stowage::plugin {

// A container that holds devices of one resource, as podresources lists it: without the pod's uid,
// and without init containers.
struct Holder {
  std::string ns;
  std::string pod;
  std::string container;
  std::string resource;
  Ids ids;  // sorted
  friend bool operator==(const Holder&, const Holder&) = default;
};

struct NodeCards {
  bool known = false;
  std::string trouble;  // why they are not known
  std::vector<core::Card> cards;
  std::vector<CardNames> names;  // of the same cards
};

class NodeView {
 public:
  NodeView() = default;
  virtual ~NodeView() = default;
  NodeView(const NodeView&) = delete;
  NodeView& operator=(const NodeView&) = delete;

  // A pod on this node that has not ended; null: not known. Valid until the next event.
  [[nodiscard]] virtual const dialect::PodObject* pod(const std::string& uid) const = 0;
  // Why pods are not known; empty: they are.
  [[nodiscard]] virtual std::string pods_trouble() const = 0;
  // Reads one pod from the API server, past every cache.
  struct PodKey {
    std::string ns;
    std::string name;
  };
  using Fetched = std::function<void(Result<dialect::PodObject>)>;
  virtual void fetch_pod(const PodKey& key, Fetched done) = 0;
  // Asks the kubelet (podresources). Only if lists_holders().
  using Listed = std::function<void(Result<std::vector<Holder>>)>;
  [[nodiscard]] virtual bool lists_holders() const = 0;
  virtual void list_holders(Listed done) = 0;
  [[nodiscard]] virtual NodeCards cards() const = 0;
  [[nodiscard]] virtual kube::KeySource& keys() = 0;
};

}  // namespace stowage::plugin
