#include "cmd/daemon_flags.h"

#include <CLI/CLI.hpp>

namespace stowage::cmd {

void add_cluster_flags(CLI::App& command, ClusterFlags& flags) {
  command
      .add_option("--kubeconfig", flags.kubeconfig,
                  "which cluster, and as whom (default: KUBECONFIG, the\n"
                  "service account of the pod, ~/.kube/config)")
      ->type_name("FILE");
  command.add_option("--context", flags.context, "context of the kubeconfig")->type_name("NAME");
}

void add_log_flags(CLI::App& command, LogFlags& flags) {
  command.add_option("--log-level", flags.level, "debug, info, warn or error")->type_name("LEVEL");
  command.add_option("--log-format", flags.format, "text or json")->type_name("FORMAT");
}

}  // namespace stowage::cmd
