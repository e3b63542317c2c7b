// Flags that the daemons share: which cluster to use, and how to log.
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

// --kubeconfig and --context; --log-level and --log-format. Parsed values go to `flags`, which must
// outlive the app; other values stay unchanged.
void add_cluster_flags(CLI::App& command, ClusterFlags& flags);
void add_log_flags(CLI::App& command, LogFlags& flags);

}  // namespace stowage::cmd
