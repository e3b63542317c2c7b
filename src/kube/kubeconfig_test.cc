#include "kube/kubeconfig.h"

#include <map>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/base64.h"
#include "kube/testing/temp_folder.h"

namespace stowage::kube {
namespace {

using testing::TempFolder;

Environment environment_of(std::map<std::string, std::string> values) {
  return [values = std::move(values)](const std::string& name) -> std::optional<std::string> {
    const auto found = values.find(name);
    if (found == values.end()) return std::nullopt;
    return found->second;
  };
}

KubeconfigOptions from_path(const std::string& path, const std::string& context = "") {
  return {.path = path, .context = context, .environment = environment_of({})};
}

// A file with one context "here" of cluster "c" and user "u".
std::string config_with(const std::string& cluster, const std::string& user) {
  return fmt::format(
      "apiVersion: v1\nkind: Config\ncurrent-context: here\n"
      "clusters:\n- name: c\n  cluster: {{{}}}\n"
      "users:\n- name: u\n  user: {{{}}}\n"
      "contexts:\n- name: here\n  context: {{cluster: c, user: u, namespace: team}}\n",
      cluster, user);
}

constexpr const char* kServer = "server: 'https://127.0.0.1:6443'";

TEST(Kubeconfig, ReadsServerNamespaceAndToken) {
  const TempFolder folder;
  const std::string path =
      folder.write("config", config_with("server: 'https://10.0.0.1:6443/prefix', "
                                         "tls-server-name: api, insecure-skip-tls-verify: true",
                                         "token: secret"));
  const auto config = load_kubeconfig(from_path(path));
  ASSERT_TRUE(config.has_value()) << config.error().message;
  EXPECT_EQ(config->server.host, "10.0.0.1");
  EXPECT_EQ(config->server.port, 6443);
  EXPECT_TRUE(config->server.tls);
  EXPECT_EQ(config->server.path, "/prefix");
  EXPECT_EQ(config->tls_server_name, "api");
  EXPECT_TRUE(config->insecure);
  EXPECT_EQ(config->ns, "team");
  EXPECT_EQ(config->credentials, Credentials(BearerToken{"secret"}));
  EXPECT_EQ(config->origin, "context \"here\" of " + path);
}

TEST(Kubeconfig, ReadsCertificatesInlineAndFromFilesBesideIt) {
  const TempFolder folder;
  folder.write("sub/pki/ca.crt", "CA");
  folder.write("sub/me.crt", "CERT");
  const std::string path = folder.write(
      "sub/config", config_with(fmt::format("{}, certificate-authority: pki/ca.crt", kServer),
                                fmt::format("client-certificate: me.crt, client-key-data: {}",
                                            base::base64_encode("KEY"))));
  const auto config = load_kubeconfig(from_path(path));
  ASSERT_TRUE(config.has_value()) << config.error().message;
  EXPECT_EQ(config->ca_pem, "CA");
  EXPECT_EQ(config->ca_file, folder.path("sub/pki/ca.crt"));
  EXPECT_EQ(config->certificate_pem, "CERT");
  EXPECT_EQ(config->key_pem, "KEY");
}

TEST(Kubeconfig, InlineDataWinsOverTheFile) {
  const TempFolder folder;
  const std::string path =
      folder.write("config", config_with(fmt::format("{}, certificate-authority: no-such-file, "
                                                     "certificate-authority-data: {}",
                                                     kServer, base::base64_encode("CA")),
                                         ""));
  const auto config = load_kubeconfig(from_path(path));
  ASSERT_TRUE(config.has_value()) << config.error().message;
  EXPECT_EQ(config->ca_pem, "CA");
  EXPECT_EQ(config->ca_file, "");
}

TEST(Kubeconfig, ATokenFileWinsOverAToken) {
  const TempFolder folder;
  folder.write("token", "t");
  const std::string path =
      folder.write("config", config_with(kServer, "token: other, tokenFile: token"));
  const auto config = load_kubeconfig(from_path(path));
  ASSERT_TRUE(config.has_value()) << config.error().message;
  EXPECT_EQ(config->credentials, Credentials(BearerTokenFile{folder.path("token")}));
}

TEST(Kubeconfig, ReadsAnExecPluginAndResolvesItsPath) {
  const TempFolder folder;
  const std::string path = folder.write(
      "config",
      config_with(kServer,
                  "exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: bin/login, "
                  "args: [a, '-b'], env: [{name: X, value: 'y z'}], installHint: get it, "
                  "provideClusterInfo: true, interactiveMode: IfAvailable}"));
  const auto config = load_kubeconfig(from_path(path));
  ASSERT_TRUE(config.has_value()) << config.error().message;
  const ExecPlugin wanted{.api_version = "client.authentication.k8s.io/v1beta1",
                          .command = folder.path("bin/login"),
                          .args = {"a", "-b"},
                          .env = {{"X", "y z"}},
                          .install_hint = "get it",
                          .provide_cluster_info = true};
  EXPECT_EQ(config->credentials, Credentials(wanted));
}

TEST(Kubeconfig, ReadsLoginAndImpersonation) {
  const TempFolder folder;
  const std::string path = folder.write(
      "config",
      config_with(kServer, "username: me, password: pw, as: boss, as-uid: '7', as-groups: [g, h]"));
  const auto config = load_kubeconfig(from_path(path));
  ASSERT_TRUE(config.has_value()) << config.error().message;
  EXPECT_EQ(config->credentials, Credentials(BasicLogin{"me", "pw"}));
  ASSERT_TRUE(config->impersonate.has_value());
  EXPECT_EQ(*config->impersonate, (Impersonation{"boss", "7", {"g", "h"}}));
}

TEST(Kubeconfig, MergesTheFilesOfTheListAndTheFirstWins) {
  const TempFolder folder;
  const std::string first =
      folder.write("first",
                   "users:\n- {name: u, user: {token: of-first}}\n"
                   "contexts:\n- {name: x, context: {cluster: c, user: u}}\ncurrent-context: x\n");
  const std::string second =
      folder.write("second", config_with("server: 'http://second:80'", "token: of-second"));
  const std::string list = fmt::format("{}:{}::{}", folder.path("missing"), first, second);
  const auto config =
      load_kubeconfig({.environment = environment_of({{"KUBECONFIG", list}, {"HOME", "/none"}})});
  ASSERT_TRUE(config.has_value()) << config.error().message;
  EXPECT_EQ(config->server.host, "second");
  EXPECT_EQ(config->credentials, Credentials(BearerToken{"of-first"}));
  EXPECT_EQ(config->ns, "default");

  const auto other =
      load_kubeconfig({.context = "here", .environment = environment_of({{"KUBECONFIG", list}})});
  ASSERT_TRUE(other.has_value()) << other.error().message;
  EXPECT_EQ(other->ns, "team");
}

TEST(Kubeconfig, LooksInTheHomeFolderLast) {
  const TempFolder folder;
  folder.write(".kube/config", config_with(kServer, "token: t"));
  const auto config = load_kubeconfig({.environment = environment_of({{"HOME", folder.path()}})});
  ASSERT_TRUE(config.has_value()) << config.error().message;
  EXPECT_EQ(config->credentials, Credentials(BearerToken{"t"}));
}

struct BadRow {
  const char* name;
  std::string text;
  const char* error;  // % stands for the file
};

std::string with_file(std::string text, const std::string& file) {
  for (std::size_t at = text.find('%'); at != std::string::npos; at = text.find('%')) {
    text.replace(at, 1, file);
  }
  return text;
}

std::vector<BadRow> bad_files() {
  return {
      {"not YAML", "clusters: [", "%:1: not valid YAML"},
      {"another kind of file", "kind: Pod", "%: kind is \"Pod\", a kubeconfig has \"Config\""},
      {"a list", "- a", "%: not a kubeconfig"},
      {"an empty file", "", "%: current-context is not set; pass --context; none exist"},
      {"clusters is a text", "clusters: yes", "%:1: clusters must be a list"},
      {"an entry without a name", "clusters:\n- cluster: {}\n",
       "%:2: clusters has an entry without a name"},
      {"no server", config_with("insecure-skip-tls-verify: true", ""),
       "%:5: clusters[\"c\"].cluster.server is missing: give the URL of the API server"},
      {"a server that is no URL", config_with("server: 'https://'", ""),
       "%:5: clusters[\"c\"].cluster.server \"https://\": "},
      {"a proxy", config_with("server: 'http://a', proxy-url: 'http://p'", ""),
       "%:5: clusters[\"c\"].cluster.proxy-url \"http://p\": proxies are not supported"},
      {"authority and insecure",
       config_with("server: 'https://a', insecure-skip-tls-verify: true, "
                   "certificate-authority-data: Q0E=",
                   ""),
       "%:5: clusters[\"c\"].cluster has both a certificate-authority and "
       "insecure-skip-tls-verify: remove one"},
      {"bad base64", config_with("server: 'https://a', certificate-authority-data: '!'", ""),
       "%:5: clusters[\"c\"].cluster.certificate-authority-data is not valid base64"},
      {"a flag that is no flag", config_with("insecure-skip-tls-verify: maybe", ""),
       "%:6: clusters[\"c\"].cluster.insecure-skip-tls-verify is \"maybe\": write true or false"},
      {"a missing file", config_with(kServer, "client-certificate: /no/such, client-key: k"),
       "%:8: users[\"u\"].user.client-certificate: cannot read /no/such: No such file or "
       "directory"},
      {"a certificate without a key", config_with(kServer, "client-certificate-data: Q0E="),
       "%:8: users[\"u\"].user has a client-certificate but no client-key: both are needed"},
      {"token and exec", config_with(kServer, "token: t, exec: {command: x}"),
       "%:8: users[\"u\"].user has both token and exec: remove one"},
      {"token and login", config_with(kServer, "token: t, username: me"),
       "%:8: users[\"u\"].user has both token and username: remove one"},
      {"a token of two lines", config_with(kServer, "token: \"a\\nb\""),
       "%:8: users[\"u\"].user.token contains spaces or line breaks"},
      {"an auth provider", config_with(kServer, "auth-provider: {name: gcp}"),
       "%:8: users[\"u\"].user.auth-provider is no longer supported by Kubernetes clients"},
      {"an old exec version",
       config_with(kServer,
                   "exec: {apiVersion: client.authentication.k8s.io/v1alpha1, command: x}"),
       "%:8: users[\"u\"].user.exec.apiVersion is \"client.authentication.k8s.io/v1alpha1\""},
      {"exec without a command",
       config_with(kServer, "exec: {apiVersion: client.authentication.k8s.io/v1}"),
       "%:8: users[\"u\"].user.exec.command is missing"},
      {"exec at a terminal",
       config_with(kServer,
                   "exec: {apiVersion: client.authentication.k8s.io/v1, command: x, "
                   "interactiveMode: Always}"),
       "%:8: users[\"u\"].user.exec.interactiveMode is Always"},
      {"exec with bad environment", config_with(kServer, "exec: {env: [{value: x}]}"),
       "%:9: users[\"u\"].user.exec.env has an entry without a usable name"},
      {"groups without a user", config_with(kServer, "as-groups: [g]"),
       "%:8: users[\"u\"].user has as-uid or as-groups without as"},
      {"a context of no cluster",
       "contexts:\n- {name: a, context: {cluster: prod}}\ncurrent-context: a\n"
       "clusters:\n- {name: prd, cluster: {}}\n",
       "%:2: contexts[\"a\"].context.cluster: no cluster \"prod\"; did you mean \"prd\"? known are "
       "\"prd\""},
      {"a context of no user",
       "contexts:\n- {name: a, context: {cluster: c, user: x}}\ncurrent-context: a\n"
       "clusters:\n- {name: c, cluster: {server: 'http://a'}}\n",
       "%:2: contexts[\"a\"].context.user: no user \"x\"; none exist"},
      {"a current context that is not there",
       "contexts:\n- {name: staging}\n- {name: live}\ncurrent-context: stagin\n",
       "%: no context \"stagin\"; did you mean \"staging\"? known are \"staging\", \"live\""},
  };
}

TEST(Kubeconfig, NamesFileLineKeyAndWhatToDo) {
  const TempFolder folder;
  for (const BadRow& row : bad_files()) {
    const std::string path = folder.write("config", row.text);
    const auto config = load_kubeconfig(from_path(path));
    ASSERT_FALSE(config.has_value()) << row.name;
    const std::string wanted = with_file(row.error, path);
    EXPECT_EQ(config.error().message.substr(0, wanted.size()), wanted) << row.name;
  }
}

TEST(Kubeconfig, SaysWhichFileIsMissing) {
  const auto given = load_kubeconfig(from_path("/no/such"));
  ASSERT_FALSE(given.has_value());
  EXPECT_EQ(given.error().message,
            "kubeconfig: cannot read /no/such: No such file or directory; pass --kubeconfig or set "
            "KUBECONFIG");
  const auto listed = load_kubeconfig({.environment = environment_of({{"KUBECONFIG", "/a:/b"}})});
  ASSERT_FALSE(listed.has_value());
  EXPECT_EQ(listed.error().message, "no file of KUBECONFIG exists: /a, /b; pass --kubeconfig");
  const auto homeless = load_kubeconfig({.environment = environment_of({})});
  ASSERT_FALSE(homeless.has_value());
  EXPECT_EQ(homeless.error().message,
            "no kubeconfig: neither KUBECONFIG nor HOME is set; pass --kubeconfig");
}

TEST(Kubeconfig, SurvivesNestingWithoutEnd) {
  const TempFolder folder;
  const std::string path = folder.write("config", "a: " + std::string(200'000, '['));
  EXPECT_FALSE(load_kubeconfig(from_path(path)).has_value());
}

TEST(InCluster, ReadsTheServiceAccount) {
  const TempFolder folder;
  folder.write("token", "secret\n");
  folder.write("ca.crt", "CA");
  folder.write("namespace", "team\n");
  const Environment pod =
      environment_of({{"KUBERNETES_SERVICE_HOST", "fd00::1"}, {"KUBERNETES_SERVICE_PORT", "443"}});
  const auto config = load_in_cluster({.folder = folder.path(), .environment = pod});
  ASSERT_TRUE(config.has_value()) << config.error().message;
  EXPECT_EQ(config->server.host, "fd00::1");
  EXPECT_EQ(config->server_url, "https://[fd00::1]:443");
  EXPECT_EQ(config->ca_pem, "CA");
  EXPECT_EQ(config->ca_file, folder.path("ca.crt"));
  EXPECT_EQ(config->ns, "team");
  EXPECT_EQ(config->credentials, Credentials(BearerTokenFile{folder.path("token")}));
}

TEST(InCluster, SaysThatItIsNotInACluster) {
  const auto config = load_in_cluster({.folder = "/x", .environment = environment_of({})});
  ASSERT_FALSE(config.has_value());
  EXPECT_EQ(config.error().message,
            "not running in a cluster: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not "
            "set; pass --kubeconfig");
}

TEST(InCluster, SaysThatTheTokenIsMissing) {
  const TempFolder folder;
  const Environment pod =
      environment_of({{"KUBERNETES_SERVICE_HOST", "h"}, {"KUBERNETES_SERVICE_PORT", "443"}});
  const auto config = load_in_cluster({.folder = folder.path(), .environment = pod});
  ASSERT_FALSE(config.has_value());
  EXPECT_EQ(config.error().message.find("service account: cannot read " + folder.path("token")),
            0U);
}

TEST(ClientConfigs, AFileThatWasAskedForComesBeforeThePod) {
  const TempFolder folder;
  const std::string path = folder.write("config", config_with(kServer, "token: t"));
  folder.write("token", "secret");
  folder.write("ca.crt", "CA");
  const Environment pod =
      environment_of({{"KUBERNETES_SERVICE_HOST", "h"}, {"KUBERNETES_SERVICE_PORT", "443"}});
  const InClusterOptions in_cluster{.folder = folder.path(), .environment = pod};
  const auto asked = load_client_config({.path = path, .environment = pod}, in_cluster);
  ASSERT_TRUE(asked.has_value()) << asked.error().message;
  EXPECT_EQ(asked->server.host, "127.0.0.1");
  const auto not_asked = load_client_config({.environment = pod}, in_cluster);
  ASSERT_TRUE(not_asked.has_value()) << not_asked.error().message;
  EXPECT_EQ(not_asked->server.host, "h");
}

}  // namespace
}  // namespace stowage::kube
