// Which API server to talk to and as whom: from kubeconfig files or from inside a pod. Files are
// read when the functions are called; an error names the file, the key and what to do.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"
#include "net/http.h"

namespace stowage::kube {

// Ways to say who we are. A client certificate is apart: it may be there beside any of them.
struct BearerToken {
  std::string token;
  friend bool operator==(const BearerToken&, const BearerToken&) = default;
};
struct BearerTokenFile {  // read again and again: its content is replaced while we run
  std::string path;
  friend bool operator==(const BearerTokenFile&, const BearerTokenFile&) = default;
};
struct BasicLogin {
  std::string user;
  std::string password;
  friend bool operator==(const BasicLogin&, const BasicLogin&) = default;
};
// A program that prints credentials.
struct ExecPlugin {
  std::string api_version;  // client.authentication.k8s.io/v1 or v1beta1
  std::string command;      // a path, absolute if it had a slash, or a name to look up in PATH
  std::vector<std::string> args;
  std::vector<std::pair<std::string, std::string>> env;  // on top of our own environment
  std::string install_hint;
  bool provide_cluster_info = false;
  friend bool operator==(const ExecPlugin&, const ExecPlugin&) = default;
};
using Credentials =
    std::variant<std::monostate, BearerToken, BearerTokenFile, BasicLogin, ExecPlugin>;

// "as" in a kubeconfig: act for somebody else.
struct Impersonation {
  std::string user;
  std::string uid;
  std::vector<std::string> groups;
  friend bool operator==(const Impersonation&, const Impersonation&) = default;
};

struct ClientConfig {
  std::string origin;  // for people: 'context "x" of /home/me/.kube/config'
  net::Url server;
  std::string server_url;  // as written
  std::string ca_pem;      // empty: the certificates of the system
  std::string ca_file;     // where ca_pem was read; read again from time to time; may be empty
  std::string certificate_pem;
  std::string key_pem;
  std::string tls_server_name;
  bool insecure = false;
  Credentials credentials;
  std::optional<Impersonation> impersonate;
  std::string ns = "default";
};

// The outside world, so that tests can have another.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;
[[nodiscard]] Environment process_environment();

struct KubeconfigOptions {
  std::string path;     // --kubeconfig; empty: KUBECONFIG, then ~/.kube/config
  std::string context;  // --context; empty: the file's current-context
  Environment environment = process_environment();  // KUBECONFIG and HOME
};

// Files of the colon list KUBECONFIG are merged: the first that defines an entry wins. Files of the
// list that do not exist are passed over, but one must be there.
[[nodiscard]] Result<ClientConfig> load_kubeconfig(const KubeconfigOptions& options);

struct InClusterOptions {
  std::string folder = "/var/run/secrets/kubernetes.io/serviceaccount";
  Environment environment = process_environment();  // KUBERNETES_SERVICE_HOST and _PORT
};
[[nodiscard]] Result<ClientConfig> load_in_cluster(const InClusterOptions& options = {});

// load_kubeconfig() if a path, a context or KUBECONFIG is given; else load_in_cluster() if the
// environment is that of a pod; else ~/.kube/config.
[[nodiscard]] Result<ClientConfig> load_client_config(const KubeconfigOptions& options,
                                                      const InClusterOptions& in_cluster = {});

}  // namespace stowage::kube
