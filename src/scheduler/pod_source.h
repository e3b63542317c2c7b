// Follows the pods that have not ended and updates the cluster cache. For the first list, threads
// verify signatures ahead of it.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/log.h"
#include "codec/kubernetes.h"
#include "kube/informer.h"
#include "scheduler/cluster_cache.h"
#include "scheduler/prover.h"

namespace stowage::scheduler {

class PodSource final : private kube::InformerHandler<dialect::PodObject> {
 public:
  struct Deps {  // all outlive the source
    kube::ApiClient& client;
    ClusterCache& cluster_cache;
    base::Log& log;
    std::shared_ptr<kube::Outages> outages;
    std::function<void()> on_list_began;
    std::function<void()> on_listed;                         // after every list
    std::function<void(const std::string& uid)> on_deleted;  // the watch reports it
  };
  PodSource(kube::ReflectorOptions options, Deps deps);

  [[nodiscard]] kube::InformerBase& informer() { return informer_; }
  [[nodiscard]] const kube::InformerBase& informer() const { return informer_; }

 private:
  Result<dialect::PodObject> decode(std::string_view json) override { return decoder_.pod(json); }
  std::string key(const dialect::PodObject& pod) override { return pod.uid; }
  Result<std::string> key_of(std::string_view json) override;
  void updated(dialect::PodObject pod) override;
  void deleted(const Deleted& pod) override;
  void unreadable(const Unreadable& pod) override;
  void unreadable_event(const std::string& why) override;
  void list_began() override;
  void list_read() override;
  void list_ended() override { deps_.on_listed(); }
  void take_proved(std::size_t most_waiting);

  Deps deps_;
  codec::Decoder decoder_;
  std::unique_ptr<Prover> prover_;  // during the first list
  kube::Informer<dialect::PodObject> informer_;
};

}  // namespace stowage::scheduler
