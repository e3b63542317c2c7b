// The public keys that verify the controller's signatures, from the ConfigMap that it publishes
// (key_manager.h). Reads it again every minute, and soon after an unknown key was met. Known keys
// stay while the ConfigMap cannot be read.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "base/log.h"
#include "base/result.h"
#include "kube/api_client.h"
#include "kube/object_access.h"
#include "kube/pacing.h"
#include "kube/seal.h"

namespace stowage::kube {

struct PublicKeysOptions {
  std::string ns = "kube-system";
  std::string config_map = "stowage-signing-keys";
  net::Duration look = std::chrono::minutes{1};
  net::Duration soon = std::chrono::seconds{1};  // least time between reads that callers request
  net::Duration retry_min = std::chrono::milliseconds{500};
  net::Duration retry_max = std::chrono::seconds{15};
  net::Duration deadline = std::chrono::seconds{10};  // of one read
  std::uint64_t seed = 1;                             // of the jitter
};

// Entries "<seconds>.pem" of the data. Others are ignored; an entry that is no public key is an
// error that names it.
[[nodiscard]] Result<Keys> read_public_keys(const std::map<std::string, std::string>& data);

class PublicKeys final : public KeySource {
 public:
  PublicKeys(ApiClient& client, PublicKeysOptions options, base::Log& log,
             std::function<void()> changed);

  void start() { look(); }
  [[nodiscard]] Keys keys() const override { return keys_; }
  [[nodiscard]] std::string trouble() const override { return trouble_; }
  void begin() override {}  // agents decide nothing
  std::uint64_t look_soon() override;
  [[nodiscard]] std::uint64_t looked() const override { return looked_; }

 private:
  void look();
  void taken(const ObjectOutcome& outcome);
  [[nodiscard]] Result<Keys> read(const ObjectOutcome& outcome) const;

  net::EventLoop& loop_;
  const PublicKeysOptions options_;
  base::Log& log_;
  std::function<void()> changed_;
  Keys keys_;
  std::string trouble_ = "the signing keys have not been read yet";
  bool looking_ = false;
  bool again_ = false;  // requested during a read
  std::uint64_t looks_ = 0;
  std::uint64_t looked_ = 0;
  net::Moment last_look_{};
  JitteredBackoff pauses_;
  net::Timer timer_;
  ObjectAccess access_;
};

}  // namespace stowage::kube
