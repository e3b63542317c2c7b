// Follows the ConfigMaps in which quotas are written and tells the engine. One that cannot be read
// changes nothing: the last good one stays, and an event and a counter say so. One that is deleted,
// or was never there, means no limits.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/log.h"
#include "core/model/quota.h"
#include "kube/event_recorder.h"
#include "kube/informer.h"
#include "scheduler/mailbox.h"

namespace stowage::scheduler {

struct QuotaOptions {
  bool enabled = true;
  std::string ns = "kube-system";
  std::string gpu_quota = "gpuquota";           // the form of gpu-admission
  std::string stowage_quota = "stowage-quota";  // our own
  std::string model_label = "gaia.tencent.com/gpu-model";
  std::string pool_label = "gaia.tencent.com/gpu-pool";
};

class QuotaSource {
 public:
  struct Ends {  // all outlive the source
    kube::ApiClient& client;
    Mailbox& mailbox;
    kube::EventRecorder& recorder;
    base::Log& log;
    std::shared_ptr<kube::Outages> outages;
    std::function<void()> on_synced;  // once, when both are known
  };
  QuotaSource(QuotaOptions options, const kube::ReflectorOptions& reflector, Ends ends);
  ~QuotaSource();
  QuotaSource(const QuotaSource&) = delete;
  QuotaSource& operator=(const QuotaSource&) = delete;

  void start();
  void stop();
  [[nodiscard]] bool synced() const;
  [[nodiscard]] std::string trouble() const;  // what is missing for that; empty if nothing

  struct Counters {
    std::uint64_t changes = 0;     // told to the engine
    std::uint64_t unreadable = 0;  // texts that were not taken
    std::uint64_t namespaces = 0;  // with a quota now
    bool broken = false;           // the newest text of one of them could not be read
  };
  [[nodiscard]] const Counters& counters() const { return counters_; }

 private:
  class Sink;
  friend class Sink;
  void tell();
  void synced_one();

  QuotaOptions options_;
  Ends ends_;
  core::Quotas quotas_;
  std::unique_ptr<Sink> gpu_quota_;
  std::unique_ptr<Sink> stowage_quota_;
  Counters counters_;
  bool told_synced_ = false;
};

}  // namespace stowage::scheduler
