// A node for tests: its pods with signed decisions, its cards, and its kubelet's podresources.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/json_writer.h"
#include "dialect/own_annotations.h"
#include "kube/seal.h"
#include "kube/testing/fixed_keys.h"
#include "net/event_loop.h"
#include "plugin/node_view.h"
#include "plugin/testing/fake_kubelet.h"

namespace stowage::plugin::testing {

// Cards by container.
using Decided = std::map<std::string, std::vector<std::string>>;

[[nodiscard]] inline std::string gpus_text(const std::string& node, const Decided& decided) {
  base::JsonWriter json(base::JsonWriter::Style::compact);
  json.begin_object().key("version").value(1).key("node").value(node);
  json.key("containers").begin_object();
  for (const auto& [container, cards] : decided) {
    json.key(container).begin_array();
    for (const std::string& card : cards) {
      json.begin_object().key("id").value(card).key("index").value(0).key("milli").value(500);
      json.key("memoryMiB").value(1000).end_object();
    }
    json.end_array();
  }
  json.end_object().end_object();
  return json.take();
}

// A bound pod, as the controller writes it.
[[nodiscard]] inline dialect::PodObject bound_pod(const kube::Keyring& keys,
                                                  const std::string& name, const std::string& node,
                                                  const Decided& decided,
                                                  const std::string& uid = {}) {
  dialect::PodObject pod;
  pod.ns = "ml";
  pod.name = name;
  pod.uid = uid.empty() ? "uid-" + name : uid;
  pod.node = node;
  pod.phase = "Pending";
  dialect::Annotations answer{{std::string(dialect::kGpusAnnotation), gpus_text(node, decided)}};
  kube::seal(keys, {.object = pod, .node = node, .unix_nanos = 1'790'000'000'000'000'000}, answer);
  pod.annotations = std::move(answer);
  return pod;
}

class FakeNode final : public NodeView {
 public:
  FakeNode(net::EventLoop& loop, std::string name) : loop_(loop), name_(std::move(name)) {
    for (int i = 0; i < 8; ++i) {
      const std::string id = "GPU-" + std::to_string(i);
      cards_.cards.push_back({.id = id, .index = i, .memory_mib = 80'000});
      cards_.names.push_back({.id = id, .number = std::to_string(i), .device_minor = i});
    }
    cards_.known = true;
  }

  [[nodiscard]] const dialect::PodObject* pod(const std::string& uid) const override {
    const auto found = pods_.find(uid);
    return found == pods_.end() ? nullptr : &found->second;
  }
  [[nodiscard]] std::string pods_trouble() const override { return pods_trouble_; }
  void fetch_pod(const PodKey& key, Fetched done) override {
    ++fetches_;
    Result<dialect::PodObject> result = fail("no such pod");
    for (const auto& [uid, pod] : behind_cache_) {
      if (pod.ns == key.ns && pod.name == key.name) result = pod;
    }
    loop_.post([done = std::move(done), result] { done(result); });
  }
  [[nodiscard]] bool lists_holders() const override { return kubelet_ != nullptr; }
  void list_holders(Listed done) override {
    ++lists_;
    if (hangs_) return;
    loop_.post([this, done = std::move(done)] {
      if (unlisted_) return done(fail("the kubelet cannot be reached"));
      done(holders_ ? *holders_ : kubelet_->holders());
    });
  }
  [[nodiscard]] NodeCards cards() const override { return cards_; }
  [[nodiscard]] kube::KeySource& keys() override { return keys_; }

  void add(dialect::PodObject pod) {
    std::string uid = pod.uid;
    pods_.insert_or_assign(std::move(uid), std::move(pod));
  }
  // A pod with these cards, on this node and signed.
  void bind(const std::string& name, const Decided& decided, const std::string& uid = {}) {
    add(bound_pod(*keys_.keys(), name, name_, decided, uid));
  }

  net::EventLoop& loop_;
  std::string name_;
  FakeKubelet* kubelet_ = nullptr;
  std::map<std::string, dialect::PodObject> pods_;
  std::map<std::string, dialect::PodObject> behind_cache_;  // only fetch_pod() finds them
  std::string pods_trouble_;
  NodeCards cards_;
  kube::testing::FixedKeys keys_{kube::testing::keys_from_seed("a seed")};
  std::optional<std::vector<Holder>> holders_;  // instead of what the kubelet has
  bool unlisted_ = false;
  bool hangs_ = false;
  int fetches_ = 0;
  int lists_ = 0;
};

}  // namespace stowage::plugin::testing
