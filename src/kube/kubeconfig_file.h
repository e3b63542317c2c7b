// The entries of kubeconfig files as written, before a selection.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "kube/kubeconfig.h"

namespace stowage::kube {

// The place of an entry, for messages and for relative paths.
struct Place {
  std::string file;
  int line = 0;  // 0: unknown
};
[[nodiscard]] std::string describe(const Place& place);  // "file:line" or "file"

struct ClusterEntry {
  std::string name;
  Place place;
  std::string server;
  std::string tls_server_name;
  std::string ca_file;
  std::string ca_data;
  std::string proxy_url;
  bool insecure = false;
};

struct UserEntry {
  std::string name;
  Place place;
  std::string certificate_file;
  std::string certificate_data;
  std::string key_file;
  std::string key_data;
  std::string token;
  std::string token_file;
  std::string user;
  std::string password;
  bool auth_provider = false;
  std::optional<ExecPlugin> exec;
  std::string interactive_mode;  // of exec
  Impersonation impersonate;
  bool impersonate_extra = false;
};

struct ContextEntry {
  std::string name;
  Place place;
  std::string cluster;
  std::string user;
  std::string ns;
};

struct KubeconfigFile {
  std::vector<ClusterEntry> clusters;
  std::vector<UserEntry> users;
  std::vector<ContextEntry> contexts;
  std::string current_context;
};

[[nodiscard]] Result<KubeconfigFile> parse_kubeconfig(const std::string& file,
                                                      const std::string& text);

// Adds the entries of `other` whose names are new.
void merge(KubeconfigFile& into, KubeconfigFile other);

}  // namespace stowage::kube
