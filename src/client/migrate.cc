#include "client/migrate.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "client/manifests.h"
#include "client/migrate_parts.h"
#include "client/yaml_json.h"
#include "scheduler/profile.h"

namespace stowage::client {
namespace {

constexpr std::string_view kGroup = "kubescheduler.config.k8s.io/";
constexpr std::string_view kDefaultName = "default-scheduler";
constexpr std::string_view kKubeconfig = "/etc/kubernetes/scheduler.conf";

struct Source {
  Tree tree;
  bool policy = false;
  std::string version;  // "v1beta1"
  bool stanza = false;  // it had no kind
};

Result<std::vector<Tree>> trees_of(std::string_view text, const std::string& file) {
  std::vector<Tree> trees;
  if (looks_like_json(text)) {
    auto tree = parse_tree(text);
    if (!tree) return fail(fmt::format("{}: {}", file, tree.error().message));
    trees.push_back(std::move(*tree));
    return trees;
  }
  STOWAGE_TRY(documents,
              yaml_to_json({.text = text,
                            .file = file,
                            .limits = {.max_json_bytes = 4 * kMaxConfigBytes, .max_depth = 45},
                            .on_progress = {}}));
  for (const YamlDocument& document : documents) {
    auto tree = parse_tree(document.json);
    if (!tree) {
      return fail(fmt::format("{}: document {}, line {}: {}", file, document.number, document.line,
                              tree.error().message));
    }
    trees.push_back(std::move(*tree));
  }
  return trees;
}

// The kind of the document, if it can be migrated.
std::optional<Source> source_of(const Tree& tree) {
  const std::string kind = tree.text_at("kind");
  const std::string version = tree.text_at("apiVersion");
  if (kind == "Policy") return Source{.tree = tree, .policy = true, .version = version};
  if (kind == "KubeSchedulerConfiguration") {
    return Source{.tree = tree, .version = version.substr(version.rfind('/') + 1)};
  }
  if (!kind.empty()) return std::nullopt;
  const bool policy = tree.find("predicates") != nullptr || tree.find("priorities") != nullptr;
  // A single extender, as READMEs show it.
  if (!policy && tree.find("urlPrefix") != nullptr) {
    Tree list{.kind = Tree::Kind::array, .elements = {tree}};
    Tree config{.kind = Tree::Kind::object};
    config.fields.push_back({.key = "extenders", .value = std::move(list)});
    return Source{.tree = std::move(config), .version = version, .stanza = true};
  }
  if (!policy && tree.find("extenders") == nullptr && tree.find("profiles") == nullptr) {
    return std::nullopt;
  }
  return Source{.tree = tree, .policy = policy, .version = version, .stanza = true};
}

void find_sources(const std::vector<Tree>& trees, const std::string& file,
                  std::vector<Source>& found) {
  for (const Tree& tree : trees) {
    if (auto source = source_of(tree)) {
      found.push_back(std::move(*source));
    } else if (tree.text_at("kind") == "ConfigMap") {
      const Tree* data = tree.find("data");
      if (data == nullptr) continue;
      for (const auto& [key, value] : data->fields) {
        const auto inside = trees_of(value.scalar, fmt::format("{} (data.{})", file, key));
        if (!inside) continue;  // it contains something else
        for (const Tree& entry : *inside) {
          if (auto nested = source_of(entry)) found.push_back(std::move(*nested));
        }
      }
    }
  }
}

void write_client(const Tree& config, Script& script) {
  constexpr std::string_view kKeys[] = {"kubeconfig", "acceptContentTypes", "contentType", "qps",
                                        "burst"};
  const Tree* client = config.find("clientConnection");
  script.out.open("clientConnection");
  for (const auto& [key, value] : client == nullptr ? decltype(Tree::fields)() : client->fields) {
    const auto* known = std::find_if(std::begin(kKeys), std::end(kKeys),
                                     [&, &k = key](auto name) { return same_key(name, k); });
    if (known == std::end(kKeys)) {
      script.tell(unknown_key("clientConnection", key));
    } else {
      script.out.tree(*known, value);
    }
  }
  script.out.close();
}

void write_election(const Tree& config, Script& script) {
  constexpr std::string_view kKeys[] = {"leaderElect",      "leaseDuration", "renewDeadline",
                                        "retryPeriod",      "resourceLock",  "resourceName",
                                        "resourceNamespace"};
  const Tree* election = config.find("leaderElection");
  if (election == nullptr) return;
  script.out.open("leaderElection");
  std::set<std::string_view> written;
  for (const auto& [key, value] : election->fields) {
    std::string_view name = key;
    if (same_key(key, "lockObjectName")) name = "resourceName";
    if (same_key(key, "lockObjectNamespace")) name = "resourceNamespace";
    const auto* known = std::find_if(std::begin(kKeys), std::end(kKeys),
                                     [&](auto candidate) { return same_key(candidate, name); });
    if (known == std::end(kKeys)) {
      script.tell(unknown_key("leaderElection", key));
      continue;
    }
    if (!written.insert(*known).second) continue;
    if (!same_key(name, key)) script.tell(fmt::format("{} is called {} now.", key, *known));
    if (*known == "resourceLock" && value.scalar != "leases") {
      script.tell(fmt::format("resourceLock was {}; only leases are left.", value.scalar));
      script.out.field("resourceLock", "leases");
    } else {
      script.out.tree(*known, value);
    }
  }
  script.out.close();
}

// Settings of v1 that are single values and stay as they are.
constexpr std::string_view kKept[] = {"parallelism",
                                      "enableProfiling",
                                      "enableContentionProfiling",
                                      "percentageOfNodesToScore",
                                      "podInitialBackoffSeconds",
                                      "podMaxBackoffSeconds",
                                      "delayCacheUntilActive"};
// Handled elsewhere.
constexpr std::string_view kHandled[] = {"apiVersion",        "kind",
                                         "clientConnection",  "leaderElection",
                                         "profiles",          "extenders",
                                         "schedulerName",     "plugins",
                                         "pluginConfig",      "predicates",
                                         "priorities",        "hardPodAffinitySymmetricWeight",
                                         "disablePreemption", "bindTimeoutSeconds"};

void tell_source_of_algorithm(const Tree& source, Script& script) {
  const Tree* policy = source.find("policy");
  if (policy == nullptr) {
    const std::string provider = source.text_at("provider");
    return script.tell(fmt::format(
        "algorithmSource.provider was {}: providers no longer exist, the default plugins replace "
        "them.{}",
        provider,
        provider == "ClusterAutoscalerProvider"
            ? " To pack nodes as it did, give NodeResourcesFit the strategy MostAllocated."
            : ""));
  }
  std::string where = "a policy";
  if (const Tree* named = policy->find("file")) where = "the file " + named->text_at("path");
  if (const Tree* map = policy->find("configMap")) {
    where = fmt::format("the ConfigMap {}/{}", map->text_at("namespace"), map->text_at("name"));
  }
  script.tell(
      fmt::format("algorithmSource named {}. Policies no longer exist: migrate it as well, and "
                  "copy its extenders and plugins to this file.",
                  where));
  script.check.push_back(
      fmt::format("{} is not part of this file: migrate it, and merge both", where));
}

void write_settings(const Tree& config, Script& script) {
  for (const auto& [key, value] : config.fields) {
    const auto same = [&, &k = key](auto name) { return same_key(name, k); };
    const auto* kept = std::find_if(std::begin(kKept), std::end(kKept), same);
    if (kept != std::end(kKept)) {
      script.out.tree(*kept, value);
    } else if (same_key(key, "healthzBindAddress") || same_key(key, "metricsBindAddress")) {
      script.tell(fmt::format(
          "{} is left out: health and metrics are served by HTTPS only, on --secure-port (10259).",
          key));
    } else if (same_key(key, "algorithmSource")) {
      tell_source_of_algorithm(value, script);
    } else if (same_key(key, "alwaysCheckAllPredicates")) {
      script.tell("alwaysCheckAllPredicates is left out: it has no replacement.");
    } else if (std::none_of(std::begin(kHandled), std::end(kHandled), same)) {
      script.tell(unknown_key("the configuration", key));
    }
  }
}

// Settings that are now arguments of plugins, for every profile.
void apply_settings(const Tree& config, ProfileDraft& draft) {
  const auto number = [&](std::string_view key) -> std::string {
    const Tree* value = config.find(key);
    return value == nullptr ? "" : whole_number(*value);
  };
  const auto argue = [&](std::string_view plugin, std::string_view key, std::string_view old) {
    const std::string digits = number(old);
    if (digits.empty()) return;
    ProfileDraft::Config& place = draft.config(plugin);
    place.comments.push_back(fmt::format("{} is an argument of {} now.", old, plugin));
    place.args.fields.push_back({.key = std::string(key), .value = Tree::number(digits)});
  };
  argue("InterPodAffinity", "hardPodAffinityWeight", "hardPodAffinitySymmetricWeight");
  argue("VolumeBinding", "bindTimeoutSeconds", "bindTimeoutSeconds");
  const Tree* no_preemption = config.find("disablePreemption");
  if (no_preemption == nullptr) return;
  if (no_preemption->scalar == "true") {
    auto& point = draft.point("postFilter");
    point.comments.emplace_back("disablePreemption: true is written like this now.");
    point.disabled.push_back({.name = "DefaultPreemption", .weight = ""});
  } else {
    draft.comments.emplace_back("disablePreemption: false is left out: it is the default.");
  }
}

// Whether `stowage controller` has a profile of that name by default.
bool is_built_in(std::string_view name) {
  const auto profiles = scheduler::built_in_profiles();
  return std::any_of(profiles.begin(), profiles.end(),
                     [&](const auto& profile) { return profile.name == name; });
}

void write_profile(const Tree& profile, const Source& source, Script& script,
                   std::set<std::string>& names) {
  constexpr std::string_view kKeys[] = {"schedulerName", "plugins", "pluginConfig",
                                        "percentageOfNodesToScore"};
  ProfileDraft draft;
  draft.scheduler_name = profile.text_at("schedulerName");
  if (draft.scheduler_name.empty()) draft.scheduler_name = kDefaultName;
  if (!names.insert(draft.scheduler_name).second) {
    return script.tell(
        fmt::format("a second profile {} is left out: names must differ", draft.scheduler_name));
  }
  const bool built_in = draft.scheduler_name != kDefaultName && is_built_in(draft.scheduler_name);
  if (built_in && names_alnair(profile)) {
    script.profiles.push_back(draft.scheduler_name);
    script.check.push_back(
        fmt::format("pods with schedulerName {} are placed by `stowage "
                    "controller`, which must run",
                    draft.scheduler_name));
    return script.tell(fmt::format(
        "The profile {0} is left out: `stowage controller` has a profile of that name and places "
        "its pods itself. Two schedulers with one name would bind the same pods.",
        draft.scheduler_name));
  }
  if (built_in) {
    draft.comments.push_back(
        fmt::format("`stowage controller` has a profile {} too. Two schedulers with one name bind "
                    "the same pods: remove the profile here or there.",
                    draft.scheduler_name));
    script.check.push_back(
        fmt::format("the profile {}: `stowage controller` must not have a profile of the same name",
                    draft.scheduler_name));
  }
  for (const auto& [key, value] : profile.fields) {
    const auto same = [&, &k = key](auto name) { return same_key(name, k); };
    if (source.policy || &profile == &source.tree) continue;
    if (std::none_of(std::begin(kKeys), std::end(kKeys), same)) {
      draft.comments.push_back(unknown_key("the profile", key));
    }
  }
  if (&profile != &source.tree) {
    if (const Tree* share = profile.find("percentageOfNodesToScore")) {
      draft.percentage = whole_number(*share);
    }
  }
  if (source.policy) read_policy(source.tree, draft);
  read_profile(profile, source.version == "v1alpha1", draft);
  apply_settings(source.tree, draft);
  write(draft, script);
}

std::string body_of(const Source& source, Script& script) {
  const Tree& config = source.tree;
  script.out.field("apiVersion", fmt::format("{}v1", kGroup));
  script.out.field("kind", "KubeSchedulerConfiguration");
  if (source.policy || source.stanza) {
    script.tell(
        "With --config the flags --kubeconfig and --master are ignored: the file must say how to "
        "reach the API server.");
    script.out.open("clientConnection").field("kubeconfig", kKubeconfig).close();
    script.check.push_back(
        fmt::format("clientConnection.kubeconfig: is {} the right file?", kKubeconfig));
  } else {
    write_client(config, script);
  }
  write_election(config, script);
  write_settings(config, script);
  const Tree* profiles = config.find("profiles");
  const bool listed = profiles != nullptr && !profiles->elements.empty() && !source.policy;
  bool alnair = names_alnair(config);
  std::set<std::string> names;
  script.out.open_list("profiles");
  if (listed) {
    for (const Tree& profile : profiles->elements) {
      alnair = alnair || names_alnair(profile);
      write_profile(profile, source, script, names);
    }
  } else {
    write_profile(config, source, script, names);
  }
  script.out.close();
  write_extenders(config, alnair, script);
  return script.out.take();
}

std::string head_of(const Source& source, const std::string& file, const Script& script) {
  YamlOut head;
  head.comment(fmt::format("Made by `stowage migrate scheduler-config` from {}: {}{}.", file,
                           source.policy ? "a Policy" : "a KubeSchedulerConfiguration",
                           source.stanza ? " without a kind" : " " + source.version));
  head.comment("For kube-scheduler 1.25 and later: kube-scheduler --config=FILE.");
  if (source.policy) {
    head.comment(
        "Remove the flags --policy-config-file, --policy-configmap and --use-legacy-policy-config, "
        "which 1.23 removed.");
  }
  const Comments stop = stop_first(script);
  if (!stop.empty())
    head.comment("Stop these first, or two schedulers give the same cards to different pods:");
  for (const std::string& words : stop) head.comment("- " + words);
  if (!script.served.empty()) {
    head.comment("The configuration of `stowage controller` that goes with it is at the end.");
  }
  if (!script.check.empty()) head.comment("Check before use:");
  std::set<std::string> told;
  for (const std::string& words : script.check) {
    if (told.insert(words).second) head.comment("- " + words);
  }
  return head.take();
}

// The other file, line by line.
std::string as_comment(std::string_view yaml) {
  if (yaml.empty()) return {};
  std::string out =
      "#\n# The configuration of `stowage controller` that goes with it; --controller-config FILE\n"
      "# writes it to a file:\n#\n";
  while (!yaml.empty()) {
    const std::size_t end = std::min(yaml.find('\n'), yaml.size());
    out += fmt::format("#   {}\n", yaml.substr(0, end));
    yaml.remove_prefix(std::min(end + 1, yaml.size()));
  }
  return out;
}

}  // namespace

Result<Migration> migrate_scheduler_config(std::string_view text, const std::string& file) {
  if (text.size() > kMaxConfigBytes) {
    return fail(fmt::format("{} has more than {} MiB", file, kMaxConfigBytes >> 20U));
  }
  STOWAGE_TRY(trees, trees_of(text, file));
  std::vector<Source> found;
  find_sources(trees, file, found);
  if (found.size() != 1) {
    return fail(fmt::format("{}: {}", file,
                            found.empty()
                                ? "it contains no Policy and no KubeSchedulerConfiguration"
                                : "it contains several configurations; give one at a time"));
  }
  const Source& source = found.front();
  constexpr std::string_view kVersions[] = {"v1alpha1", "v1alpha2", "v1beta1",
                                            "v1beta2",  "v1beta3",  "v1"};
  const bool known =
      source.policy || source.stanza ||
      std::find(std::begin(kVersions), std::end(kVersions), source.version) != std::end(kVersions);
  if (!known) {
    return fail(
        fmt::format("{}: apiVersion \"{}\" is not known", file, source.tree.text_at("apiVersion")));
  }
  Script script;
  std::string body = body_of(source, script);
  std::string controller = script.served.empty() ? std::string() : controller_config(script);
  return Migration{
      .yaml = head_of(source, file, script) + body + as_comment(controller),
      .controller = std::move(controller),
      .from = fmt::format("{} {}", source.policy ? "Policy" : "KubeSchedulerConfiguration",
                          source.stanza ? "(a part)" : source.version),
      .changes = script.changes};
}

}  // namespace stowage::client
