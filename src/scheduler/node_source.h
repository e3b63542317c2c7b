// Follows the nodes and tells the roster.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/log.h"
#include "codec/kubernetes.h"
#include "kube/informer.h"
#include "scheduler/roster.h"

namespace stowage::scheduler {

class NodeSource final : private kube::InformerHandler<dialect::NodeObject> {
 public:
  struct Ends {  // all outlive the source
    kube::ApiClient& client;
    Roster& roster;
    base::Log& log;
    std::shared_ptr<kube::Outages> outages;
    std::function<void()> on_listed;  // after every list
  };
  NodeSource(kube::ReflectorOptions options, Ends ends);

  [[nodiscard]] kube::InformerBase& informer() { return informer_; }
  [[nodiscard]] const kube::InformerBase& informer() const { return informer_; }

 private:
  Result<dialect::NodeObject> decode(std::string_view json) override { return decoder_.node(json); }
  std::string key(const dialect::NodeObject& node) override { return node.name; }
  Result<std::string> key_of(std::string_view json) override;
  void updated(dialect::NodeObject node) override { ends_.roster.see_node(node); }
  void deleted(const Deleted& node) override { ends_.roster.lose_node(node.key); }
  void unreadable(const Unreadable& node) override;
  void unreadable_event(const std::string& why) override;
  void list_ended() override { ends_.on_listed(); }

  Ends ends_;
  codec::Decoder decoder_;
  kube::Informer<dialect::NodeObject> informer_;
};

}  // namespace stowage::scheduler
