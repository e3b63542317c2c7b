#include "cmd/daemon_flags.h"

#include "cmd/flag_group.h"

namespace stowage::cmd {

void add_cluster_flags(CLI::App& command, ClusterFlags& flags) {
  const FlagGroup group(command);
  group.value("--kubeconfig", flags.kubeconfig, "FILE",
              "kubeconfig of the cluster (default: KUBECONFIG, the\n"
              "service account of the pod, ~/.kube/config)");
  group.value("--context", flags.context, "NAME", "context of the kubeconfig");
}

void add_log_flags(CLI::App& command, LogFlags& flags) {
  const FlagGroup group(command);
  group.value("--log-level", flags.level, "LEVEL", "debug, info, warn or error");
  group.value("--log-format", flags.format, "FORMAT", "text or json");
}

}  // namespace stowage::cmd
