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
#include "extender/options.h"
#include "scheduler/profile.h"
#include "scheduler/quota_source.h"

namespace stowage::controller {

struct Config {
  std::vector<scheduler::Profile> profiles = scheduler::built_in_profiles();

  std::vector<extender::ExtenderOptions> extenders;  // none unless they are named
  scheduler::QuotaOptions quota;
  core::EngineOptions engine{.patience_ns = 60'000'000'000};  // preemption, reservations
  std::chrono::nanoseconds volume_timeout = std::chrono::seconds{600};

  std::string listen = "127.0.0.1:10360";  // health, metrics and debugging

  struct Api {
    double calls_per_second = 0;  // 0: no limit of our own
    double burst = 500;
    std::uint32_t binds_in_flight = 64;
    friend bool operator==(const Api&, const Api&) = default;
  } api;

  struct Events {
    double per_second = 50;
    double burst = 200;
  } events;

  struct Debug {
    bool loopback = true;  // who comes from this machine needs no token for /debug/
    friend bool operator==(const Debug&, const Debug&) = default;
  } debug;

  // Which of several replicas decides (docs/high-availability.md).
  struct LeaderElection {
    bool enabled = true;
    std::string ns;  // of the lease; empty: that of our pod, else kube-system
    std::string name = "stowage";
    std::chrono::seconds lease_duration{15};
    std::chrono::nanoseconds renew_deadline = std::chrono::seconds{10};
    std::chrono::nanoseconds retry_period = std::chrono::seconds{2};
    std::string advertise;  // host by which other replicas reach our extenders; empty: found out
    friend bool operator==(const LeaderElection&, const LeaderElection&) = default;
  } leader_election;

  // Where the agents of the nodes report, and what their word means (docs/agent.md).
  struct Agents {
    std::string listen;            // "0.0.0.0:10362"; empty: nowhere
    std::string certificate_file;  // with its chain; empty: plain HTTP, on loopback alone
    std::string key_file;
    std::string ca_file;  // who signs those of other replicas; empty: they have this very one
    std::vector<std::string> accounts{"system:serviceaccount:kube-system:stowage-agent"};
    std::chrono::nanoseconds silent_after = std::chrono::seconds{3};
    std::chrono::nanoseconds load_counts = std::chrono::seconds{30};
    friend bool operator==(const Agents&, const Agents&) = default;
  } agents;

  // metrics.nvidia.com, served where agents report (docs/metrics-api.md). The certificates of the
  // agents' listener are used; without any, they are made and kept in a Secret.
  struct MetricsApi {
    bool enabled = false;
    std::string service = "stowage-agents";  // that leads here
    std::string ns;                          // of it; empty: that of our pod, else kube-system
    std::string secret = "stowage-metrics-api";
    std::string api_service = "v1alpha1.metrics.nvidia.com";  // empty: nobody is told
    std::string ca_map = "stowage-ca";                        // the same
    std::string extender;  // that answers schedule/...; empty: the first
    std::chrono::nanoseconds check_every = std::chrono::minutes{1};  // of the certificates
    friend bool operator==(const MetricsApi&, const MetricsApi&) = default;
  } metrics_api;

  // By which keys what is written on pods is signed (docs/operations.md).
  struct Signing {
    std::string ns;  // of these two; empty: that of our pod, else kube-system
    std::string secret = "stowage-signing-key";
    std::string config_map = "stowage-signing-keys";
    std::string key_file;             // in the place of both
    std::int64_t unsigned_until = 0;  // seconds since 1970; with a key file
    friend bool operator==(const Signing&, const Signing&) = default;
  } signing;

  struct Logging {
    base::LogLevel level = base::LogLevel::info;
    base::LogFormat format = base::LogFormat::text;
  } log;
};

// An error names the file, the line, the key, and the nearest key that is known.
[[nodiscard]] Result<Config> parse_config(std::string_view text, const std::string& file);
[[nodiscard]] Result<std::string> read_config_text(const std::string& path);
[[nodiscard]] Result<Config> load_config(const std::string& path);

}  // namespace stowage::controller
