// Prints the names that users depend on, one per line, from the tables of the code: keys of files,
// their values, metrics, reasons, resources, annotations with their fields, objects, paths.
// surface_test.py adds those that only the program, its source text and the manifests have.
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "agent/agent.h"
#include "codec/agent_report.h"
#include "codec/leader_note.h"
#include "codec/picker.h"
#include "controller/config.h"
#include "controller/status_server.h"
#include "core/engine/engine.h"
#include "core/explain/condition.h"
#include "core/model/policy.h"
#include "core/model/reason.h"
#include "dialect/carriers.h"
#include "dialect/dialect.h"
#include "dialect/json.h"
#include "dialect/own_annotations.h"
#include "dialect/table.h"
#include "extender/server.h"
#include "gpu/fake_file.h"
#include "kube/event_reason.h"
#include "kube/quota_text.h"
#include "local/fleet/mix_file.h"
#include "local/kubelet/pod_status.h"
#include "metricsapi/objects.h"
#include "metricsapi/request.h"
#include "reports/agent_server.h"
#include "samples.h"
#include "scheduler/command_executor.h"
#include "scheduler/profile.h"
#include "webhook/answer.h"

namespace {

using namespace stowage;

constexpr const char* kContainer = "main";

void title(std::string_view text) { fmt::print("\n## {}\n", text); }

template <typename... Args>
void line(fmt::format_string<Args...> format, Args&&... args) {
  fmt::print("{}\n", fmt::format(format, std::forward<Args>(args)...));
}

void print_keys(const std::vector<yaml::StrictMap::Key>& keys) {
  for (const auto& key : keys) {
    if (key.now.empty()) {
      line("{}: {}", key.path, key.type);
    } else {
      line("{}: deprecated; use {}", key.path, key.now);
    }
  }
}

void print_files() {
  title(fmt::format("File: configuration of the controller, {} {}", controller::kConfigApiVersion,
                    controller::kConfigKind));
  print_keys(controller::config_keys());
  title("File: stowage agent --cards fake:FILE");
  print_keys(gpu::fake_cards_keys());
  title("File: stowage local --mix FILE");
  for (const std::string& key : local::mix_file_keys()) line("{}", key);
  title("File: quotas in ConfigMaps");
  line("{}", kube::kGpuQuotaKey);
  for (const auto key : kube::kQuotaKeys) line("{}.<namespace>[].{}", kube::kStowageQuotaKey, key);
}

void print_values() {
  title("Values: built-in profiles");
  for (const auto& profile : scheduler::built_in_profiles()) line("{}", profile.name);
  title("Values: node policies");
  for (const std::string& name : core::policy_names()) line("{}", name);
  title("Values: card policies");
  for (const std::string& name : core::card_policy_names()) line("{}", name);
  title("Values: extender presets, with their modes and listeners");
  for (const std::string& name : extender::preset_names()) {
    const auto preset = extender::preset(name);
    line("{} {} {}", name, extender::to_string(preset->mode), preset->listen);
  }
  title("Values: extender modes");
  for (const auto mode : {extender::Mode::bind, extender::Mode::choose, extender::Mode::single_node,
                          extender::Mode::count}) {
    line("{}", extender::to_string(mode));
  }
}

// The fields of a JSON text, as "a.b[].c". Keys that are names of containers are not shown.
void add_fields(const dialect::Json& json, const std::string& path, std::set<std::string>& out) {
  if (json.kind == dialect::Json::Kind::array) {
    for (const auto& element : json.elements) add_fields(element, path + "[]", out);
  } else if (json.kind == dialect::Json::Kind::object) {
    for (std::size_t i = 0; i < json.keys.size(); ++i) {
      const std::string key = json.keys[i] == kContainer ? "<container>" : json.keys[i];
      add_fields(json.elements[i], path.empty() ? key : path + "." + key, out);
    }
  } else {
    out.insert(path);
  }
}

// Two cards with all their fields.
core::NodeSpec sample_node() {
  core::NodeSpec node{.name = "node"};
  for (const std::int32_t index : {0, 1}) {
    node.cards.push_back({.id = "GPU-" + std::to_string(index),
                          .index = index,
                          .model = "model",
                          .memory_mib = 16384,
                          .slots = 10,
                          .healthy = index == 0,
                          .numa = 0});
  }
  node.links = {.cards = 2, .score = {0, core::link::kNvlink, core::link::kNvlink, 0}};
  return node;
}

// Our answer to a pod with such a request; unset: a pod cannot ask so.
std::optional<dialect::Answer> sample_answer(const std::map<std::string, std::string>& request) {
  dialect::PodObject pod{.ns = "ns", .name = "pod", .uid = "uid"};
  dialect::ContainerObject container{.name = kContainer};
  for (const auto& [resource, amount] : request) {
    container.limits[resource] = *base::Quantity::parse(amount);
  }
  container.requests = container.limits;
  pod.containers = {container};
  const auto spec = dialect::to_spec(pod, {});
  if (!spec || spec->containers[0].gpu.count != 1) return std::nullopt;
  const core::NodeSpec node = sample_node();
  return dialect::answer({.object = pod,
                          .pod = *spec,
                          .node = node,
                          .cards = {.containers = {{{.card = 0, .milli = 1000}}}},
                          .unix_nanos = 1});
}

// With each of the dialect's resources alone, and with all of them.
std::vector<dialect::Answer> sample_answers(const dialect::Dialect& dialect) {
  std::vector<dialect::Answer> answers;
  for (const char* amount : {"1", "100"}) {
    std::vector<std::map<std::string, std::string>> requests(1);
    for (const std::string_view resource : dialect.resources) {
      requests[0][std::string(resource)] = amount;
      requests.push_back({{std::string(resource), amount}});
    }
    for (const auto& request : requests) {
      if (auto answer = sample_answer(request)) answers.push_back(*std::move(answer));
    }
  }
  return answers;
}

void print_fields(std::string_view annotation, const std::string& text) {
  std::set<std::string> fields;
  add_fields(*dialect::parse_json(text), "", fields);
  for (const std::string& field : fields) line("{} {}", annotation, field);
}

// What the scheduler writes on a pod of each dialect, for the agents of other systems.
void print_written() {
  title("API: fields in our own annotations, as they are written");
  const auto own = sample_answer({{"stowage.dev/gpu", "1"}});
  print_fields(dialect::kGpusAnnotation,
               own->annotations.at(std::string(dialect::kGpusAnnotation)));
  const core::NodeSpec node = sample_node();
  print_fields(dialect::kInventoryAnnotation, dialect::inventory_text(node.cards, node.links));
  title("API: annotations and labels of other systems that the scheduler writes, by dialect");
  for (const dialect::Dialect& each : dialect::dialects()) {
    std::set<std::string> lines;
    const auto add = [&](std::string key, std::string_view what) {
      if (key.starts_with("stowage.dev/")) return;
      const std::size_t at = key.rfind(kContainer);
      if (at != std::string::npos && at > 0 && key[at - 1] == '-') {
        key.replace(at, std::string_view(kContainer).size(), "<container>");
      }
      lines.insert(fmt::format("{} {} ({})", each.name, key, what));
    };
    for (const dialect::Answer& answer : sample_answers(each)) {
      for (const auto& [key, value] : answer.annotations) add(key, "annotation");
      for (const auto& [key, value] : answer.labels) add(key, "label");
    }
    for (const std::string& text : lines) line("{}", text);
  }
}

std::string_view writer(dialect::Writer who) {
  switch (who) {
    case dialect::Writer::scheduler: return "pod, by the scheduler";
    case dialect::Writer::controller: return "node, by the controller";
    case dialect::Writer::agent: return "node, by the agent";
    case dialect::Writer::admin: return "node, by an administrator";
    case dialect::Writer::author: return "pod, by its author";
  }
  return "";
}

void print_api_names() {
  title("API: resources that a pod may ask for, by dialect");
  for (const dialect::Dialect& each : dialect::dialects()) {
    for (const std::string_view name : each.resources) line("{} {}", each.name, name);
  }
  title("API: resources of the agent's device plugin");
  for (const std::string_view name : dialect::kCarriers) line("{}", name);
  title("API: resources that the controller publishes on nodes, by dialect");
  for (const dialect::Dialect& each : dialect::dialects()) {
    for (const dialect::CardAmount& amount : each.publishes)
      line("{} {}", each.name, amount.resource);
  }
  title("API: annotations");
  for (const auto& row : dialect::own_annotations()) line("{} ({})", row.key, writer(row.writer));
  line("{} (lease, by the leader)", codec::kLeaderAnnotation);
  for (const std::string_view key :
       {local::kRunSecondsAnnotation, local::kStopSecondsAnnotation, local::kExitCodeAnnotation}) {
    line("{} (pod, by its author; stowage local)", key);
  }
  line("{} (node, by anyone; stowage local)", local::kNodeFailedAnnotation);
  title("API: annotations of other systems that say which cards were chosen, by dialect");
  for (const dialect::Dialect& each : dialect::dialects()) {
    std::set<std::string_view> prefixes(each.chosen.begin(), each.chosen.end());
    prefixes.insert(each.answers.begin(), each.answers.end());
    for (const std::string_view prefix : prefixes) line("{} {}*", each.name, prefix);
  }
  title("API: taints");
  line("{}", core::kSilentTaint);
  title("API: groups and kinds");
  line("{} {}", controller::kConfigApiVersion, controller::kConfigKind);
  line("{}", codec::kPickerApiVersion);
  for (const auto resource : metricsapi::kAllResources) {
    line("{} {} {}", metricsapi::kGroupVersion, metricsapi::plural(resource),
         metricsapi::kind_of(resource));
  }
  title("API: objects by default");
  const controller::Config config;
  line("Lease {}", config.leader_election.name);
  line("Secret {}", config.signing.secret);
  line("ConfigMap {}", config.signing.config_map);
  line("Secret {}", config.metrics_api.secret);
  line("ConfigMap {}", config.metrics_api.ca_map);
  line("Service {}", config.metrics_api.service);
  line("APIService {}", config.metrics_api.api_service);
  line("MutatingWebhookConfiguration {}", config.webhook.configuration);
  line("ConfigMap {}", config.quota.gpu_quota);
  line("ConfigMap {}", config.quota.stowage_quota);
  line("label {}", config.quota.model_label);
  line("label {}", config.quota.pool_label);
  for (const std::string& user : config.agents.accounts) line("user {}", user);
  line("audience of agents' tokens {}", reports::kReportsAudience);
}

void print_paths() {
  const controller::Config config;
  title(fmt::format("HTTP: the controller, {}", config.listen));
  for (const auto& each : controller::kStatusPaths) line("GET {}{}", each.path, each.query);
  line("PUT {}", controller::kLogLevelPath);
  title("HTTP: agents and metrics API");
  line("POST {} ({})", codec::kReportsPath, codec::kReportsProtocol);
  for (const std::string& route : metricsapi::routes()) line("{}", route);
  line("POST {}", webhook::kPath);
  line("POST {}<name>", webhook::kSchedulerPath);
  title("HTTP: the agent");
  for (const std::string_view path : agent::kPaths) line("GET {}", path);
  title("HTTP: extenders");
  for (const std::string_view path : extender::kStatusPaths) line("GET {}", path);
  for (const auto& route : extender::own_routes()) {
    line("{} {}", extender::to_string(route.verb), route.path);
  }
  for (const std::string& name : extender::preset_names()) {
    const auto preset = extender::preset(name);
    for (const auto& route : preset->routes) {
      line("{} {} ({})", extender::to_string(route.verb), route.path, name);
    }
  }
}

void print_reasons() {
  title("Reasons: events");
  for (const auto reason : kube::kEventReasons) line("{}", kube::to_string(reason));
  title("Reasons: condition PodScheduled=False");
  for (const auto condition : core::kConditionReasons) line("{}", core::to_string(condition));
  title("Reasons: refusals, in metrics and JSON");
  for (std::size_t code = 1; code < core::kReasonCodes; ++code) {
    line("{}", core::to_string(static_cast<core::ReasonCode>(code)));
  }
  line("{}", scheduler::kRejected);
}

// Labels whose values come from the cluster or the configuration.
bool is_open(const std::string& name) {
  static const std::set<std::string> kOpen{"card",      "code",  "component", "container",
                                           "extender",  "index", "method",    "model",
                                           "namespace", "pod",   "profile",   "version"};
  return kOpen.contains(name);
}

void print_metrics(std::string_view what, const std::string& sample) {
  title(what);
  for (const metrics::Family& family : metrics::families(sample)) {
    std::string labels;
    for (const auto& [name, values] : family.labels) {
      labels += fmt::format(" {}={}", name,
                            is_open(name) ? "*" : fmt::format("{}", fmt::join(values, "|")));
    }
    line("{} {}{}", family.name, family.type, labels);
  }
}

}  // namespace

int main() {
  print_files();
  print_values();
  print_api_names();
  print_written();
  print_paths();
  print_reasons();
  print_metrics("Metrics: the controller", metrics::controller_sample());
  print_metrics("Metrics: the agent", metrics::agent_sample());
  return 0;
}
