#include "extender/options.h"

#include <array>

#include <fmt/format.h>

#include "base/check.h"

namespace stowage::extender {
namespace {

struct ModeName {
  std::string_view word;
  Mode mode;
};
constexpr std::array kModes{ModeName{"bind", Mode::bind}, ModeName{"choose", Mode::choose},
                            ModeName{"singleNode", Mode::single_node},
                            ModeName{"count", Mode::count}};

core::PolicyOptions policy(std::string_view text) {
  auto choice = core::parse_policy(text);
  STOWAGE_CHECK(choice.has_value());
  core::PolicyOptions options;
  options.choice = *choice;
  return options;
}

// As in vgpu-manager: there is no preference unless a pod asks for one, and then it is weighed by
// the request of the pod.
core::PolicyOptions by_request() {
  core::PolicyOptions options = policy("first");
  options.profile_weights = true;
  return options;
}

ExtenderOptions stowage_itself() {
  return {.name = "stowage",
          .preset = "stowage",
          .listen = "0.0.0.0:10361",
          .mode = Mode::choose,
          .policies = {{.dialect = "", .policy = policy("dual-price")}}};
}

ExtenderOptions alnair() {
  ExtenderOptions options = stowage_itself();
  options.name = options.preset = "alnair";
  options.mode = Mode::bind;
  options.policies = {{.dialect = "", .policy = policy("binpack")}};
  return options;
}

ExtenderOptions elastic() {
  return {.name = "elastic-gpu-scheduler",
          .preset = "elastic-gpu-scheduler",
          .listen = "0.0.0.0:39999",
          .routes = {{"/scheduler/filter", Verb::filter},
                     {"/scheduler/priorities", Verb::prioritize},
                     {"/scheduler/bind", Verb::bind},
                     {"/scheduler/status", Verb::status}},
          .policies = {{.dialect = "nano", .policy = policy("binpack")},
                       {.dialect = "", .policy = policy("elastic-binpack")}},
          .elastic_messages = true};
}

ExtenderOptions admission(std::string name) {
  return {.name = name,
          .preset = std::move(name),
          .listen = "127.0.0.1:3456",
          .routes = {{"/scheduler/predicates", Verb::filter},
                     {"/scheduler/filter", Verb::filter},
                     {"/scheduler/filter-dryrun", Verb::dry_run},
                     {"/scheduler/priorities", Verb::prioritize},
                     {"/scheduler/bind", Verb::bind},
                     {"/scheduler/preempt", Verb::preempt}},
          .mode = Mode::single_node,
          .policies = {{.dialect = "vgpu", .policy = by_request()},
                       {.dialect = "", .policy = policy("tightest")}},
          .cpu_nodes_first = true};
}

ExtenderOptions nvidia() {
  const std::string base = "/apis/metrics.nvidia.com/v1alpha1/schedule/";
  return {.name = "nvidia-gpu-scheduler",
          .preset = "nvidia-gpu-scheduler",
          .listen = "0.0.0.0:8080",
          .routes = {{base + "filter", Verb::filter},
                     {base + "prioritize", Verb::prioritize},
                     {base + "preempt", Verb::preempt}},
          .mode = Mode::count,
          .policies = {{.dialect = "", .policy = policy("most-free")}},
          .without_model_passes = true};
}

ExtenderOptions named(ExtenderOptions options, std::string kube_name) {
  options.kube_names = {std::move(kube_name)};
  return options;
}

std::vector<ExtenderOptions> presets() {
  return {stowage_itself(),
          elastic(),
          named(admission("gpu-admission"), "gpu-scheduler"),
          named(admission("vgpu-manager"), "vgpu-scheduler"),
          nvidia(),
          alnair()};
}

}  // namespace

Result<Mode> parse_mode(std::string_view word) {
  for (const auto& row : kModes) {
    if (row.word == word) return row.mode;
  }
  return fail(fmt::format("unknown mode \"{}\"; write bind, choose, singleNode or count", word));
}

const char* to_string(Mode mode) {
  for (const auto& row : kModes) {
    if (row.mode == mode) return row.word.data();
  }
  return "unknown";
}

const char* to_string(Verb verb) {
  switch (verb) {
    case Verb::filter: return "filter";
    case Verb::dry_run: return "filter-dryrun";
    case Verb::prioritize: return "prioritize";
    case Verb::bind: return "bind";
    case Verb::preempt: return "preempt";
    case Verb::status: return "status";
  }
  return "unknown";
}

const std::vector<Route>& own_routes() {
  static const std::vector<Route> kRoutes{
      {"/stowage/filter", Verb::filter},         {"/stowage/filter-dryrun", Verb::dry_run},
      {"/stowage/prioritize", Verb::prioritize}, {"/stowage/bind", Verb::bind},
      {"/stowage/preempt", Verb::preempt},       {"/stowage/status", Verb::status}};
  return kRoutes;
}

Result<ExtenderOptions> preset(std::string_view name) {
  std::string known;
  for (auto& options : presets()) {
    if (options.preset == name) return std::move(options);
    known += (known.empty() ? "" : ", ") + options.preset;
  }
  return fail(fmt::format("unknown preset \"{}\"; there are {}", name, known));
}

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  for (const auto& options : presets()) names.push_back(options.preset);
  return names;
}

PreAllocationTerms pre_allocation_options(const std::vector<ExtenderOptions>& extenders) {
  PreAllocationTerms terms{.position = {}, .bind_limit = ExtenderOptions{}.bind_limit};
  std::uint32_t position = 0;
  for (const ExtenderOptions& extender : extenders) {
    if (extender.mode == Mode::single_node || extender.mode == Mode::count) {
      terms.bind_limit =
          terms.position ? std::max(terms.bind_limit, extender.bind_limit) : extender.bind_limit;
      if (!terms.position) terms.position = position;
    }
    position += static_cast<std::uint32_t>(extender.policies.size());
  }
  return terms;
}

}  // namespace stowage::extender
