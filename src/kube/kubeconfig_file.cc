#include "kube/kubeconfig_file.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

namespace stowage::kube {
namespace {

Place place_of(const std::string& file, const YAML::Node& node) {
  const YAML::Mark mark = node.Mark();
  return {file, mark.is_null() ? 0 : mark.line + 1};
}

// Reads the keys of one mapping and keeps the first error.
class Fields {
 public:
  // `owner` is the path of the mapping for messages, e.g. users["me"].user
  Fields(std::string file, std::string owner, const YAML::Node& node)
      : file_(std::move(file)), owner_(std::move(owner)), node_(node) {
    if (!node_.IsMap() && !node_.IsNull()) complain(node_, owner_, "must be a mapping");
  }

  [[nodiscard]] YAML::Node child(const char* key) const {
    const YAML::Node& node = node_;  // a const node is not changed by a lookup
    return node.IsMap() ? node[key] : YAML::Node(YAML::NodeType::Undefined);
  }

  std::string text(const char* key) {
    const YAML::Node value = child(key);
    if (!given(value)) return {};
    if (value.IsScalar()) return value.Scalar();
    complain(value, path(key), "must be a text");
    return {};
  }

  bool flag(const char* key) {
    const std::string value = text(key);
    if (value == "true" || value == "True" || value == "TRUE") return true;
    if (!value.empty() && value != "false" && value != "False" && value != "FALSE") {
      complain(child(key), path(key), fmt::format("is \"{}\": write true or false", value));
    }
    return false;
  }

  std::vector<std::string> texts(const char* key) {
    std::vector<std::string> found;
    for (const YAML::Node& item : items(key)) {
      if (item.IsScalar()) {
        found.push_back(item.Scalar());
      } else {
        complain(item, path(key), "must be a list of texts");
      }
    }
    return found;
  }

  std::vector<YAML::Node> items(const char* key) {
    const YAML::Node list = child(key);
    std::vector<YAML::Node> found;
    if (!given(list)) return found;
    if (!list.IsSequence()) {
      complain(list, path(key), "must be a list");
      return found;
    }
    for (const YAML::Node& item : list) found.push_back(item);
    return found;
  }

  [[nodiscard]] bool has(const char* key) const { return given(child(key)); }
  [[nodiscard]] std::string path(const char* key) const {
    return owner_.empty() ? key : fmt::format("{}.{}", owner_, key);
  }
  void take_error(const Fields& other) {
    if (error_.empty()) error_ = other.error_;
  }
  void complain(const YAML::Node& node, const std::string& what, const std::string& trouble) {
    if (error_.empty()) {
      error_ = fmt::format("{}: {} {}", describe(place_of(file_, node)), what, trouble);
    }
  }
  [[nodiscard]] const std::string& error() const { return error_; }

 private:
  static bool given(const YAML::Node& node) { return node.IsDefined() && !node.IsNull(); }

  std::string file_;
  std::string owner_;
  YAML::Node node_;
  std::string error_;
};

ExecPlugin read_exec(const std::string& file, Fields& user) {
  Fields fields(file, user.path("exec"), user.child("exec"));
  ExecPlugin exec;
  exec.api_version = fields.text("apiVersion");
  exec.command = fields.text("command");
  exec.args = fields.texts("args");
  exec.install_hint = fields.text("installHint");
  exec.provide_cluster_info = fields.flag("provideClusterInfo");
  for (const YAML::Node& item : fields.items("env")) {
    Fields pair(file, fields.path("env"), item);
    exec.env.emplace_back(pair.text("name"), pair.text("value"));
    const std::string& name = exec.env.back().first;
    if (name.empty() || name.find('=') != std::string::npos) {
      pair.complain(item, fields.path("env"), "has an entry without a usable name");
    }
    fields.take_error(pair);
  }
  user.take_error(fields);
  return exec;
}

UserEntry read_user(const std::string& file, Fields& fields) {
  UserEntry user;
  user.certificate_file = fields.text("client-certificate");
  user.certificate_data = fields.text("client-certificate-data");
  user.key_file = fields.text("client-key");
  user.key_data = fields.text("client-key-data");
  user.token = fields.text("token");
  user.token_file = fields.text("tokenFile");
  user.user = fields.text("username");
  user.password = fields.text("password");
  user.auth_provider = fields.has("auth-provider");
  if (fields.has("exec")) {
    user.exec = read_exec(file, fields);
    Fields exec(file, fields.path("exec"), fields.child("exec"));
    user.interactive_mode = exec.text("interactiveMode");
  }
  user.impersonate.user = fields.text("as");
  user.impersonate.uid = fields.text("as-uid");
  user.impersonate.groups = fields.texts("as-groups");
  user.impersonate_extra = fields.has("as-user-extra");
  return user;
}

ClusterEntry read_cluster(const std::string& /*file*/, Fields& fields) {
  ClusterEntry cluster;
  cluster.server = fields.text("server");
  cluster.tls_server_name = fields.text("tls-server-name");
  cluster.ca_file = fields.text("certificate-authority");
  cluster.ca_data = fields.text("certificate-authority-data");
  cluster.proxy_url = fields.text("proxy-url");
  cluster.insecure = fields.flag("insecure-skip-tls-verify");
  return cluster;
}

ContextEntry read_context(const std::string& /*file*/, Fields& fields) {
  ContextEntry context;
  context.cluster = fields.text("cluster");
  context.user = fields.text("user");
  context.ns = fields.text("namespace");
  return context;
}

// One of the three lists of named entries: each item is {name: x, <word>: {...}}.
struct ListNames {
  const char* list = "";
  const char* word = "";
};
template <typename Entry>
std::vector<Entry> read_entries(const std::string& file, Fields& top, ListNames names,
                                Entry (*read)(const std::string&, Fields&)) {
  std::vector<Entry> entries;
  for (const YAML::Node& item : top.items(names.list)) {
    Fields named(file, names.list, item);
    const std::string name = named.text("name");
    if (name.empty()) named.complain(item, names.list, "has an entry without a name");
    Fields body(file, fmt::format("{}[\"{}\"].{}", names.list, name, names.word),
                named.has(names.word) ? named.child(names.word) : YAML::Node());
    Entry entry = read(file, body);
    entry.name = name;
    entry.place = place_of(file, item);
    entries.push_back(std::move(entry));
    top.take_error(named);
    top.take_error(body);
  }
  return entries;
}

Result<KubeconfigFile> read_document(const std::string& file, const YAML::Node& document) {
  Fields top(file, "", document);
  if (document.IsNull()) return KubeconfigFile{};  // an empty file has no entries
  if (!document.IsMap()) {
    return fail(
        fmt::format("{}: not a kubeconfig: the file must be a mapping with clusters, users "
                    "and contexts",
                    file));
  }
  const std::string kind = top.text("kind");
  if (!kind.empty() && kind != "Config") {
    return fail(fmt::format("{}: kind is \"{}\", a kubeconfig has \"Config\"", file, kind));
  }
  KubeconfigFile config;
  config.clusters = read_entries(file, top, {"clusters", "cluster"}, read_cluster);
  config.users = read_entries(file, top, {"users", "user"}, read_user);
  config.contexts = read_entries(file, top, {"contexts", "context"}, read_context);
  config.current_context = top.text("current-context");
  if (!top.error().empty()) return fail(top.error());
  return config;
}

template <typename Entry>
void add_new(std::vector<Entry>& into, std::vector<Entry> other) {
  for (Entry& entry : other) {
    const bool known =
        std::any_of(into.begin(), into.end(), [&](const Entry& e) { return e.name == entry.name; });
    if (!known) into.push_back(std::move(entry));
  }
}

}  // namespace

std::string describe(const Place& place) {
  return place.line > 0 ? fmt::format("{}:{}", place.file, place.line) : place.file;
}

Result<KubeconfigFile> parse_kubeconfig(const std::string& file, const std::string& text) {
  try {
    return read_document(file, YAML::Load(text));
  } catch (const YAML::Exception& e) {
    const Place place{file, e.mark.is_null() ? 0 : e.mark.line + 1};
    return fail(fmt::format("{}: not valid YAML: {}", describe(place), e.msg));
  } catch (const std::exception& e) {
    return fail(fmt::format("{}: not valid YAML: {}", file, e.what()));
  }
}

void merge(KubeconfigFile& into, KubeconfigFile other) {
  add_new(into.clusters, std::move(other.clusters));
  add_new(into.users, std::move(other.users));
  add_new(into.contexts, std::move(other.contexts));
  if (into.current_context.empty()) into.current_context = std::move(other.current_context);
}

}  // namespace stowage::kube
