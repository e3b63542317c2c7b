// Follows the ConfigMaps that contain quotas and updates the engine. A text that cannot be read
// changes nothing: the last good one stays, and an event and a counter report it. A missing or
// deleted ConfigMap means no limits.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/log.h"
#include "core/model/quota.h"
#include "kube/event_recorder.h"
#include "kube/informer.h"
#include "scheduler/event_queue.h"

namespace stowage::scheduler {

struct QuotaOptions {
  bool enabled = true;
  std::string ns = "kube-system";
  std::string gpu_quota = "gpuquota";           // in the format of gpu-admission
  std::string stowage_quota = "stowage-quota";  // in our own format
  std::string model_label = "gaia.tencent.com/gpu-model";
  std::string pool_label = "gaia.tencent.com/gpu-pool";
};

class QuotaSource {
 public:
  struct Deps {  // all outlive the source
    kube::ApiClient& client;
    EventQueue& event_queue;
    kube::EventRecorder& recorder;
    base::Log& log;
    std::shared_ptr<kube::Outages> outages;
    std::function<void()> on_synced;  // once, when both are known
  };
  QuotaSource(QuotaOptions options, const kube::ReflectorOptions& reflector, Deps deps);
  ~QuotaSource();
  QuotaSource(const QuotaSource&) = delete;
  QuotaSource& operator=(const QuotaSource&) = delete;

  void start();
  void stop();
  [[nodiscard]] bool synced() const;
  [[nodiscard]] std::string trouble() const;  // why they are not known; empty if they are

  struct Counters {
    std::uint64_t changes = 0;     // sent to the engine
    std::uint64_t unreadable = 0;  // texts that could not be read
    std::uint64_t namespaces = 0;  // number that have a quota now
    bool broken = false;           // the newest text of one of them could not be read
  };
  [[nodiscard]] const Counters& counters() const { return counters_; }

 private:
  class Sink;
  friend class Sink;
  void publish();
  void synced_one();

  QuotaOptions options_;
  Deps deps_;
  core::Quotas quotas_;
  std::unique_ptr<Sink> gpu_quota_;
  std::unique_ptr<Sink> stowage_quota_;
  Counters counters_;
  bool synced_reported_ = false;
};

}  // namespace stowage::scheduler
