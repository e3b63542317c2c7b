// Input and output of a credential plugin: client.authentication.k8s.io.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "kube/clock.h"
#include "kube/kubeconfig.h"

namespace stowage::kube {

struct ExecCredential {
  std::string token;
  std::string certificate_pem;
  std::string key_pem;
  std::optional<WallTime> expires;  // unset: valid until the server refuses it
};

// The value of KUBERNETES_EXEC_INFO.
[[nodiscard]] std::string exec_info(const ExecPlugin& plugin, const ClientConfig& config);

// Parses the output of the plugin. An error says what is wrong, without any secrets.
[[nodiscard]] Result<ExecCredential> parse_exec_credential(const ExecPlugin& plugin,
                                                           std::string_view out);

}  // namespace stowage::kube
