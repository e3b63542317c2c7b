// The kubeconfig file of a local cluster: written atomically, readable only by its owner, and never
// over a file that is not ours.
#pragma once

#include <string>

#include "base/result.h"

namespace stowage::local {

// The default path: in the user's runtime folder, or in the current folder. If the usual name is
// taken, for example by a running cluster, the result is another name.
[[nodiscard]] std::string default_kubeconfig_path();

[[nodiscard]] std::string kubeconfig_text(const std::string& server_url);

// Fails if the file exists and is not the kubeconfig of a local cluster, or is that of a cluster
// that still runs.
[[nodiscard]] Status write_kubeconfig(const std::string& path, const std::string& server_url);
// Removes the file if this process wrote it.
void remove_kubeconfig(const std::string& path);

}  // namespace stowage::local
