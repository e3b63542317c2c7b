// Flags that the programs in a cluster share: which cluster, and how to log.
#pragma once

#include <string>

namespace CLI {  // NOLINT(readability-identifier-naming): named by the library
class App;
}

namespace stowage::cmd {

struct ClusterFlags {
  std::string kubeconfig;
  std::string context;
};
struct LogFlags {
  std::string level;
  std::string format;
};

// --kubeconfig and --context; --log-level and --log-format. What is typed goes to `flags`, which
// must outlive the app; what is not typed stays as it is.
void add_cluster_flags(CLI::App& command, ClusterFlags& flags);
void add_log_flags(CLI::App& command, LogFlags& flags);

}  // namespace stowage::cmd
