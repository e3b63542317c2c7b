#include "kube/kubeconfig.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>

#include "base/base64.h"
#include "base/file.h"
#include "base/nearest.h"
#include "base/text.h"
#include "kube/kubeconfig_file.h"

namespace stowage::kube {
namespace {

std::string value_or_empty(const Environment& environment, const char* name) {
  return environment(name).value_or("");
}

// For the end of a message: '; did you mean "a"? known are "a", "b"'.
std::string known_names(const std::string& word, const std::vector<std::string>& names) {
  if (names.empty()) return "; none exist";
  const std::string near = word.empty() ? "" : base::nearest(word, names);
  std::string text =
      near.empty() ? "; known are" : fmt::format("; did you mean \"{}\"? known are", near);
  constexpr std::size_t kListed = 10;
  for (std::size_t i = 0; i < std::min(names.size(), kListed); ++i) {
    text += fmt::format("{} \"{}\"", i == 0 ? "" : ",", names[i]);
  }
  if (names.size() > kListed) text += fmt::format(" and {} more", names.size() - kListed);
  return text;
}

// Paths in a kubeconfig are relative to the folder of the file that names them.
std::string resolve(const Place& place, const std::string& path) {
  const std::filesystem::path given(path);
  if (path.empty() || given.is_absolute()) return path;
  return (std::filesystem::path(place.file).parent_path() / given).lexically_normal().string();
}

// A PEM text given inline as base64, or else by the name of its file.
struct PemSource {
  std::string owner;  // clusters["x"].cluster
  std::string key;    // certificate-authority
  const Place* place = nullptr;
  const std::string* data = nullptr;
  const std::string* file = nullptr;
};
Result<std::string> read_pem(const PemSource& source) {
  if (!source.data->empty()) {
    std::optional<std::string> pem = base::base64_decode(*source.data);
    if (!pem) {
      return fail(fmt::format("{}: {}.{}-data is not valid base64", describe(*source.place),
                              source.owner, source.key));
    }
    return std::move(*pem);
  }
  if (source.file->empty()) return std::string();
  auto text = base::read_file(resolve(*source.place, *source.file));
  if (!text) {
    return fail(fmt::format("{}: {}.{}: {}", describe(*source.place), source.owner, source.key,
                            text.error().message));
  }
  return text;
}

template <typename Entry>
const Entry* find_entry(const std::vector<Entry>& entries, const std::string& name) {
  const auto found = std::find_if(entries.begin(), entries.end(),
                                  [&](const Entry& entry) { return entry.name == name; });
  return found == entries.end() ? nullptr : &*found;
}

template <typename Entry>
std::vector<std::string> names_of(const std::vector<Entry>& entries) {
  std::vector<std::string> names;
  for (const Entry& entry : entries) names.push_back(entry.name);
  return names;
}

Status take_cluster(const ClusterEntry& cluster, ClientConfig& config) {
  const std::string owner = fmt::format("clusters[\"{}\"].cluster", cluster.name);
  const auto at = [&] { return describe(cluster.place); };
  if (cluster.server.empty()) {
    return fail(
        fmt::format("{}: {}.server is missing: give the URL of the API server", at(), owner));
  }
  if (!cluster.proxy_url.empty()) {
    return fail(
        fmt::format("{}: {}.proxy-url \"{}\": proxies are not supported; name a server that "
                    "can be reached directly",
                    at(), owner, cluster.proxy_url));
  }
  auto url = net::parse_url(cluster.server);
  if (!url) {
    return fail(
        fmt::format("{}: {}.server \"{}\": {}", at(), owner, cluster.server, url.error().message));
  }
  config.server = std::move(*url);
  config.server_url = cluster.server;
  config.tls_server_name = cluster.tls_server_name;
  config.insecure = cluster.insecure;
  if (cluster.insecure && (!cluster.ca_data.empty() || !cluster.ca_file.empty())) {
    return fail(
        fmt::format("{}: {} has both a certificate-authority and "
                    "insecure-skip-tls-verify: remove one",
                    at(), owner));
  }
  STOWAGE_TRY_ASSIGN(config.ca_pem, read_pem({.owner = owner,
                                              .key = "certificate-authority",
                                              .place = &cluster.place,
                                              .data = &cluster.ca_data,
                                              .file = &cluster.ca_file}));
  if (cluster.ca_data.empty()) config.ca_file = resolve(cluster.place, cluster.ca_file);
  return {};
}

Result<ExecPlugin> take_exec(const UserEntry& user, const std::string& owner) {
  ExecPlugin exec = *user.exec;
  const auto at = [&] { return describe(user.place); };
  if (exec.api_version != "client.authentication.k8s.io/v1" &&
      exec.api_version != "client.authentication.k8s.io/v1beta1") {
    return fail(
        fmt::format("{}: {}.exec.apiVersion is \"{}\": only "
                    "client.authentication.k8s.io/v1 and v1beta1 are supported; update the "
                    "plugin and this entry",
                    at(), owner, exec.api_version));
  }
  if (exec.command.empty()) {
    return fail(fmt::format("{}: {}.exec.command is missing", at(), owner));
  }
  if (user.interactive_mode == "Always") {
    return fail(
        fmt::format("{}: {}.exec.interactiveMode is Always: the plugin \"{}\" needs a "
                    "terminal, which a server does not have",
                    at(), owner, exec.command));
  }
  if (exec.command.find('/') != std::string::npos) exec.command = resolve(user.place, exec.command);
  return exec;
}

Result<Credentials> take_credentials(const UserEntry& user, const std::string& owner) {
  std::vector<std::string> ways;
  if (!user.token.empty() || !user.token_file.empty()) ways.emplace_back("token");
  if (!user.user.empty() || !user.password.empty()) ways.emplace_back("username");
  if (user.exec) ways.emplace_back("exec");
  if (ways.size() > 1) {
    return fail(fmt::format("{}: {} has both {} and {}: remove one", describe(user.place), owner,
                            ways[0], ways[1]));
  }
  if (user.exec) {
    STOWAGE_TRY(exec, take_exec(user, owner));
    return Credentials(std::move(exec));
  }
  if (!user.token_file.empty()) {
    const std::string path = resolve(user.place, user.token_file);
    const auto text = base::read_file(path);
    if (!text) {
      return fail(
          fmt::format("{}: {}.tokenFile: {}", describe(user.place), owner, text.error().message));
    }
    return Credentials(BearerTokenFile{path});
  }
  if (!user.token.empty()) {
    if (user.token.find_first_of(" \t\r\n") != std::string::npos) {
      return fail(
          fmt::format("{}: {}.token contains spaces or line breaks", describe(user.place), owner));
    }
    return Credentials(BearerToken{user.token});
  }
  if (!user.user.empty()) return Credentials(BasicLogin{user.user, user.password});
  return Credentials();
}

Status take_user(const UserEntry& user, ClientConfig& config) {
  const std::string owner = fmt::format("users[\"{}\"].user", user.name);
  const auto at = [&] { return describe(user.place); };
  if (user.auth_provider) {
    return fail(
        fmt::format("{}: {}.auth-provider is no longer supported by Kubernetes clients; use "
                    "the exec plugin of your provider instead",
                    at(), owner));
  }
  if (user.impersonate_extra) {
    return fail(fmt::format("{}: {}.as-user-extra is not supported; remove it", at(), owner));
  }
  if (user.impersonate.user.empty() &&
      (!user.impersonate.uid.empty() || !user.impersonate.groups.empty())) {
    return fail(fmt::format("{}: {} has as-uid or as-groups without as", at(), owner));
  }
  STOWAGE_TRY(certificate, read_pem({.owner = owner,
                                     .key = "client-certificate",
                                     .place = &user.place,
                                     .data = &user.certificate_data,
                                     .file = &user.certificate_file}));
  STOWAGE_TRY(key, read_pem({.owner = owner,
                             .key = "client-key",
                             .place = &user.place,
                             .data = &user.key_data,
                             .file = &user.key_file}));
  if (certificate.empty() != key.empty()) {
    return fail(fmt::format("{}: {} has a {} but no {}: both are needed", at(), owner,
                            key.empty() ? "client-certificate" : "client-key",
                            key.empty() ? "client-key" : "client-certificate"));
  }
  config.certificate_pem = std::move(certificate);
  config.key_pem = std::move(key);
  if (!user.impersonate.user.empty()) config.impersonate = user.impersonate;
  STOWAGE_TRY_ASSIGN(config.credentials, take_credentials(user, owner));
  return {};
}

struct LoadedFiles {
  KubeconfigFile config;
  std::string names;  // for messages
};

std::vector<std::string> split_list(const std::string& list) {
  std::vector<std::string> parts;
  std::size_t from = 0;
  while (from <= list.size()) {
    const std::size_t to = std::min(list.find(':', from), list.size());
    if (to > from) parts.push_back(list.substr(from, to - from));
    from = to + 1;
  }
  return parts;
}

Result<LoadedFiles> load_files(const KubeconfigOptions& options) {
  std::vector<std::string> paths;
  bool may_miss = false;
  if (!options.path.empty()) {
    paths = {options.path};
  } else if (paths = split_list(value_or_empty(options.environment, "KUBECONFIG"));
             !paths.empty()) {
    may_miss = true;
  } else {
    const std::string home = value_or_empty(options.environment, "HOME");
    if (home.empty()) {
      return fail("no kubeconfig: neither KUBECONFIG nor HOME is set; pass --kubeconfig");
    }
    paths = {home + "/.kube/config"};
  }
  LoadedFiles loaded;
  std::string missing;
  for (const std::string& path : paths) {
    std::error_code ignored;
    if (may_miss && !std::filesystem::exists(path, ignored)) {
      missing += (missing.empty() ? "" : ", ") + path;
      continue;
    }
    auto text = base::read_file(path);
    if (!text) {
      return fail(
          fmt::format("kubeconfig: {}; pass --kubeconfig or set KUBECONFIG", text.error().message));
    }
    STOWAGE_TRY(parsed, parse_kubeconfig(path, *text));
    merge(loaded.config, std::move(parsed));
    loaded.names += (loaded.names.empty() ? "" : ", ") + path;
  }
  if (loaded.names.empty()) {
    return fail(fmt::format("no file of KUBECONFIG exists: {}; pass --kubeconfig", missing));
  }
  return loaded;
}

}  // namespace

Environment process_environment() {
  return [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    if (value == nullptr) return std::nullopt;
    return std::string(value);
  };
}

Result<ClientConfig> load_kubeconfig(const KubeconfigOptions& options) {
  STOWAGE_TRY(loaded, load_files(options));
  const KubeconfigFile& file = loaded.config;
  const std::string& name = options.context.empty() ? file.current_context : options.context;
  if (name.empty()) {
    return fail(fmt::format("{}: current-context is not set; pass --context{}", loaded.names,
                            known_names("", names_of(file.contexts))));
  }
  const ContextEntry* context = find_entry(file.contexts, name);
  if (context == nullptr) {
    return fail(fmt::format("{}: no context \"{}\"{}", loaded.names, name,
                            known_names(name, names_of(file.contexts))));
  }
  ClientConfig config;
  config.origin = fmt::format("context \"{}\" of {}", name, context->place.file);
  if (!context->ns.empty()) config.ns = context->ns;
  const ClusterEntry* cluster = find_entry(file.clusters, context->cluster);
  if (cluster == nullptr) {
    return fail(fmt::format("{}: contexts[\"{}\"].context.cluster: no cluster \"{}\"{}",
                            describe(context->place), name, context->cluster,
                            known_names(context->cluster, names_of(file.clusters))));
  }
  STOWAGE_TRY_VOID(take_cluster(*cluster, config));
  if (context->user.empty()) return config;  // anonymous
  const UserEntry* user = find_entry(file.users, context->user);
  if (user == nullptr) {
    return fail(fmt::format("{}: contexts[\"{}\"].context.user: no user \"{}\"{}",
                            describe(context->place), name, context->user,
                            known_names(context->user, names_of(file.users))));
  }
  STOWAGE_TRY_VOID(take_user(*user, config));
  return config;
}

Result<ClientConfig> load_in_cluster(const InClusterOptions& options) {
  const std::string host = value_or_empty(options.environment, "KUBERNETES_SERVICE_HOST");
  const std::string port = value_or_empty(options.environment, "KUBERNETES_SERVICE_PORT");
  if (host.empty() || port.empty()) {
    return fail(
        "not running in a cluster: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are "
        "not set; pass --kubeconfig");
  }
  ClientConfig config;
  config.origin = "the service account of this pod";
  const bool bare_ipv6 = host.find(':') != std::string::npos && host.front() != '[';
  config.server_url = fmt::format("https://{}:{}", bare_ipv6 ? "[" + host + "]" : host, port);
  auto url = net::parse_url(config.server_url);
  if (!url) {
    return fail(fmt::format("KUBERNETES_SERVICE_HOST \"{}\" and KUBERNETES_SERVICE_PORT \"{}\": {}",
                            host, port, url.error().message));
  }
  config.server = std::move(*url);

  const auto file_error = [](const Error& error) {
    return fail(
        fmt::format("service account: {}; is automountServiceAccountToken off? pass "
                    "--kubeconfig otherwise",
                    error.message));
  };
  const std::string token_file = options.folder + "/token";
  const auto token = base::read_file(token_file);
  if (!token) return file_error(token.error());
  if (base::trim(*token).empty()) return file_error(Error{token_file + " is empty"});
  config.credentials = BearerTokenFile{token_file};
  config.ca_file = options.folder + "/ca.crt";
  auto ca = base::read_file(config.ca_file);
  if (!ca) return file_error(ca.error());
  config.ca_pem = std::move(*ca);
  if (const auto ns = base::read_file(options.folder + "/namespace");
      ns && !base::trim(*ns).empty()) {
    config.ns = base::trim(*ns);
  }
  return config;
}

Result<ClientConfig> load_client_config(const KubeconfigOptions& options,
                                        const InClusterOptions& in_cluster) {
  const bool asked = !options.path.empty() || !options.context.empty() ||
                     !value_or_empty(options.environment, "KUBECONFIG").empty();
  const bool in_pod = !value_or_empty(in_cluster.environment, "KUBERNETES_SERVICE_HOST").empty() &&
                      !value_or_empty(in_cluster.environment, "KUBERNETES_SERVICE_PORT").empty();
  return !asked && in_pod ? load_in_cluster(in_cluster) : load_kubeconfig(options);
}

}  // namespace stowage::kube
