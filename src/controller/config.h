// The controller's configuration: one YAML file, read strictly. docs/configuration.md describes it.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "core/engine/engine.h"
#include "dialect/node_resources.h"
#include "extender/options.h"
#include "scheduler/profile.h"
#include "scheduler/quota_source.h"
#include "yaml/strict_map.h"

namespace stowage::controller {

inline constexpr const char* kConfigApiVersion = "stowage.dev/v1alpha1";
inline constexpr const char* kConfigKind = "ControllerConfig";

struct Config {
  std::vector<scheduler::Profile> profiles = scheduler::built_in_profiles();

  std::vector<extender::ExtenderOptions> extenders;  // none by default
  scheduler::QuotaOptions quota;
  core::EngineOptions engine{.patience_ns = 60'000'000'000};  // preemption, nominations
  std::chrono::nanoseconds volume_timeout = std::chrono::seconds{600};

  std::string listen = "127.0.0.1:10360";  // health, metrics and debugging

  struct Api {
    double calls_per_second = 0;  // 0: no limit by us
    double burst = 500;
    std::uint32_t binds_in_flight = 64;
    friend bool operator==(const Api&, const Api&) = default;
  } api;

  struct Events {
    double per_second = 50;
    double burst = 200;
  } events;

  struct Debug {
    bool loopback = true;  // clients on this machine need no token for /debug/
    friend bool operator==(const Debug&, const Debug&) = default;
  } debug;

  // Leader election among several replicas (docs/high-availability.md).
  struct LeaderElection {
    bool enabled = true;
    std::string ns;  // of the lease; empty: the namespace of our pod, else kube-system
    std::string name = "stowage";
    std::chrono::seconds lease_duration{15};
    std::chrono::nanoseconds renew_deadline = std::chrono::seconds{10};
    std::chrono::nanoseconds retry_period = std::chrono::seconds{2};
    std::string advertise;  // host under which other replicas reach our extenders; empty: detected
    friend bool operator==(const LeaderElection&, const LeaderElection&) = default;
  } leader_election;

  // Where the agents of the nodes report, and how reports are used (docs/agent.md).
  struct Agents {
    std::string listen;            // "0.0.0.0:10362"; empty: disabled
    std::string certificate_file;  // with its chain; empty: plain HTTP, only on loopback
    std::string key_file;
    std::string ca_file;  // CA of other replicas' certificates; empty: they share this certificate
    std::vector<std::string> accounts{"system:serviceaccount:kube-system:stowage-agent"};
    std::chrono::nanoseconds silent_after = std::chrono::seconds{3};
    std::chrono::nanoseconds load_counts = std::chrono::seconds{30};
    friend bool operator==(const Agents&, const Agents&) = default;
  } agents;

  // metrics.nvidia.com, served on the agents' listener (docs/metrics-api.md). It uses the
  // certificates of that listener; without any, they are created and kept in a Secret.
  struct MetricsApi {
    bool enabled = false;
    std::string service = "stowage-agents";  // Service of this listener
    std::string ns;                          // of the Service; empty: the namespace of our pod,
                                             // else kube-system
    std::string secret = "stowage-metrics-api";
    std::string api_service = "v1alpha1.metrics.nvidia.com";  // empty: not written
    std::string ca_map = "stowage-ca";                        // empty: not written
    std::string extender;  // that answers schedule/...; empty: the first
    std::chrono::nanoseconds check_every = std::chrono::minutes{1};  // for the certificates
    friend bool operator==(const MetricsApi&, const MetricsApi&) = default;
  } metrics_api;

  // Quantities of cards in the status of nodes whose agent has a device plugin (docs/agent.md).
  struct NodeResources {
    bool enabled = false;
    std::vector<std::string> dialects = dialect::published_dialects();
    std::int32_t requests_per_card = 100;
    // What is published: nothing if it is not enabled.
    [[nodiscard]] dialect::NodeAmountsOptions amounts() const {
      if (!enabled) return {.dialects = {}, .requests_per_card = requests_per_card};
      return {.dialects = dialects, .requests_per_card = requests_per_card};
    }
    friend bool operator==(const NodeResources&, const NodeResources&) = default;
  } node_resources;

  // The admission webhook, served on the agents' listener (docs/admission-webhook.md).
  struct Webhook {
    bool enabled = false;
    // MutatingWebhookConfiguration whose caBundle is kept up to date; empty: not written.
    std::string configuration = "stowage";
    // Containers that ask for no cards get none, whatever the default runtime and their image say.
    bool void_unrequested = true;
    friend bool operator==(const Webhook&, const Webhook&) = default;
  } webhook;

  // The keys that sign annotations on pods (docs/operations.md).
  struct Signing {
    std::string ns;  // of these two; empty: the namespace of our pod, else kube-system
    std::string secret = "stowage-signing-key";
    std::string config_map = "stowage-signing-keys";
    std::string key_file;             // used instead of both
    std::int64_t unsigned_until = 0;  // seconds since 1970; only with a key file
    friend bool operator==(const Signing&, const Signing&) = default;
  } signing;

  struct Logging {
    base::LogLevel level = base::LogLevel::info;
    base::LogFormat format = base::LogFormat::text;
  } log;

  std::vector<std::string> warnings;  // about the file: one sentence for each deprecated name
};

// An error names the file, the line, the key, and the nearest known key.
[[nodiscard]] Result<Config> parse_config(std::string_view text, const std::string& file);
[[nodiscard]] Result<std::string> read_config_text(const std::string& path);
[[nodiscard]] Result<Config> load_config(const std::string& path);

// All keys of the file, including deprecated names that are still read.
[[nodiscard]] std::vector<yaml::StrictMap::Key> config_keys();

}  // namespace stowage::controller
