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
  } api;

  struct Events {
    double per_second = 50;
    double burst = 200;
  } events;

  struct Logging {
    base::LogLevel level = base::LogLevel::info;
    base::LogFormat format = base::LogFormat::text;
  } log;
};

// An error names the file, the line, the key, and the nearest key that is known.
[[nodiscard]] Result<Config> parse_config(std::string_view text, const std::string& file);
[[nodiscard]] Result<Config> load_config(const std::string& path);

}  // namespace stowage::controller
