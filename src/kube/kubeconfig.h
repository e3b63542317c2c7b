// Which API server to use, and with which credentials: from kubeconfig files or from inside a pod.
// Files are read when the functions are called; an error names the file, the key and what to do.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"
#include "net/http.h"

namespace stowage::kube {

// Ways to authenticate. A client certificate is separate: it may be combined with any of them.
struct BearerToken {
  std::string token;
  friend bool operator==(const BearerToken&, const BearerToken&) = default;
};
struct BearerTokenFile {  // read repeatedly: its content is replaced while we run
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
  std::vector<std::pair<std::string, std::string>> env;  // added to our own environment
  std::string install_hint;
  bool provide_cluster_info = false;
  friend bool operator==(const ExecPlugin&, const ExecPlugin&) = default;
};
using Credentials =
    std::variant<std::monostate, BearerToken, BearerTokenFile, BasicLogin, ExecPlugin>;

// "as" in a kubeconfig: act for another user.
struct Impersonation {
  std::string user;
  std::string uid;
  std::vector<std::string> groups;
  friend bool operator==(const Impersonation&, const Impersonation&) = default;
};

struct ClientConfig {
  std::string origin;  // for messages: 'context "x" of /home/me/.kube/config'
  net::Url server;
  std::string server_url;  // as written
  std::string ca_pem;      // empty: the certificates of the system
  std::string ca_file;     // the file of ca_pem, read again from time to time; may be empty
  std::string certificate_pem;
  std::string key_pem;
  std::string tls_server_name;
  bool insecure = false;
  Credentials credentials;
  std::optional<Impersonation> impersonate;
  std::string ns = "default";
};

// Access to the environment, which tests can replace.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;
[[nodiscard]] Environment process_environment();

struct KubeconfigOptions {
  std::string path;     // --kubeconfig; empty: KUBECONFIG, then ~/.kube/config
  std::string context;  // --context; empty: the file's current-context
  Environment environment = process_environment();  // KUBECONFIG and HOME
};

// The files of the colon-separated list KUBECONFIG are merged: the first that defines an entry
// wins. Missing files are ignored, but at least one must exist.
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
