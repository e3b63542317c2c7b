// Converts old configurations of kube-scheduler, as the READMEs of GPU schedulers show them, to one
// that a current kube-scheduler accepts: kubescheduler.config.k8s.io/v1, read strictly. A comment
// at its place explains every change; nothing is dropped without one.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace stowage::client {

inline constexpr std::size_t kMaxConfigBytes = std::size_t{1} << 20U;

struct Migration {
  std::string yaml;
  std::string controller;   // the matching configuration of the controller; empty: none
  std::string from;         // the original format, e.g. "Policy v1"
  std::size_t changes = 0;  // number of changes; each has a comment
};

// Reads a Policy (v1), a KubeSchedulerConfiguration (v1alpha1 to v1), a part of either, or a
// ConfigMap that contains one; YAML or JSON, also among other documents. Errors name the file.
[[nodiscard]] Result<Migration> migrate_scheduler_config(std::string_view text,
                                                         const std::string& file);

}  // namespace stowage::client
