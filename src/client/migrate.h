// Old configurations of kube-scheduler, as the READMEs of GPU schedulers show them, to one that a
// current kube-scheduler accepts: kubescheduler.config.k8s.io/v1, read strictly. Whatever changes
// is told in a comment at its place; nothing is lost without one.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace stowage::client {

inline constexpr std::size_t kMaxConfigBytes = std::size_t{1} << 20U;

struct Migration {
  std::string yaml;
  std::string controller;   // the configuration of the controller that goes with it; empty: none
  std::string from;         // what the file was, e.g. "Policy v1"
  std::size_t changes = 0;  // each has a comment
};

// Reads a Policy (v1), a KubeSchedulerConfiguration (v1alpha1 to v1), a stanza of either, or a
// ConfigMap that holds one; YAML or JSON, also among other documents. Errors name the file.
[[nodiscard]] Result<Migration> migrate_scheduler_config(std::string_view text,
                                                         const std::string& file);

}  // namespace stowage::client
