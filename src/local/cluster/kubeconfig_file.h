// The kubeconfig file of a local cluster: written whole or not at all, readable by its owner alone,
// and never over somebody else's file.
#pragma once

#include <string>

#include "base/result.h"

namespace stowage::local {

// Where it goes if nobody says: the user's folder for things of this session, or the current one.
// Another name than usual if that one is taken, by a cluster that runs, say.
[[nodiscard]] std::string default_kubeconfig_path();

[[nodiscard]] std::string kubeconfig_text(const std::string& server_url);

// Refuses to replace a file that is not a kubeconfig of a local cluster, or that of one which still
// runs.
[[nodiscard]] Status write_kubeconfig(const std::string& path, const std::string& server_url);
// Removes it again, if it is still the one that this process wrote.
void remove_kubeconfig(const std::string& path);

}  // namespace stowage::local
