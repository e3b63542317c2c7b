#include "samples.h"

#include <sstream>

#include "agent/metrics.h"
#include "controller/metrics.h"
#include "core/model/reason.h"
#include "metricsapi/request.h"

namespace stowage::metrics {
namespace {

// Labels of a sample: the names before =" in the braces.
void add_labels(const std::string& line, Family& family) {
  std::size_t at = line.find('{');
  if (at == std::string::npos) return;
  for (std::size_t end = line.find("=\"", at); end != std::string::npos;
       end = line.find("=\"", at)) {
    const std::string name = line.substr(at + 1, end - at - 1);
    at = line.find('"', end + 2);
    if (name != "le") family.labels[name].insert(line.substr(end + 2, at - end - 2));
    ++at;
  }
}

}  // namespace

std::string controller_sample() {
  scheduler::Scheduler::Snapshot snapshot;
  for (std::size_t code = 1; code < core::kReasonCodes; ++code) {
    snapshot.command_executor.refused_by[core::to_string(static_cast<core::ReasonCode>(code))] = 1;
  }
  snapshot.command_executor.refused_by[scheduler::kRejected] = 1;
  snapshot.command_executor.pickers["learned"] = {};
  snapshot.survey.models.push_back({.model = "NVIDIA H200"});
  for (std::size_t queue = 0; queue < scheduler::kQueueNames.size(); ++queue) {
    snapshot.queues.push_back(
        {.queue = static_cast<scheduler::QueueName>(queue), .size = 0, .limit = 1});
  }
  kube::ApiCounters api;
  api.calls.push_back({.method = "GET", .code = 200, .calls = 1});
  const std::vector<controller::ExtenderSnapshot> extenders{
      {.name = "stowage", .counters = {}, .forwarded = {}, .waited = 0, .queues = {}}};
  controller::Hub::Snapshot hub;
  hub.api.emplace();
  using What = metricsapi::Ask::What;
  for (const What what : {What::health, What::ready, What::groups, What::list, What::get,
                          What::watch, What::schedule}) {
    hub.api->requests[std::string(metricsapi::word(what))] = 1;
  }
  hub.api->refused[403] = 1;
  return controller::render_metrics({.scheduler = snapshot,
                                     .api = api,
                                     .extenders = extenders,
                                     .leadership = {},
                                     .reload = {},
                                     .auth = {},
                                     .heap = controller::HeapSnapshot{},
                                     .agents = hub,
                                     .publisher = {},
                                     .ready = true});
}

std::string agent_sample() {
  agent::CardsSnapshot cards;
  cards.list.cards.push_back({.id = "GPU-a", .model = "NVIDIA H200", .memory_mib = 1});
  gpu::CardSample& sample = cards.samples.emplace_back();
  sample.id = "GPU-a";
  sample.utilisation_permille = 1;
  sample.memory_used_mib = 1;
  sample.power_mw = 1;
  sample.temperature_c = 1;
  sample.processes.emplace();
  const std::vector<agent::PodDevices> pods{
      {.pod = {.ns = "ml", .name = "p"},
       .containers = {{.name = "main", .devices = {{.resource = "r", .ids = {"GPU-a"}}}}}}};
  const agent::Reporter::Snapshot reporter;
  const agent::Uplink::Snapshot uplink;
  const agent::Contact kubelet;
  plugin::DevicePlugin::Snapshot plugin;
  for (const std::string_view resource : plugin::kResources) {
    plugin.resources.push_back({.name = std::string(resource)});
  }
  for (const char* outcome : {"prepared", "refused", "timed_out", "cancelled", "invalid"}) {
    plugin.pre_starts[outcome] = 1;
  }
  return agent::render_metrics(
      {.cards = cards,
       .pods = pods,
       .given = {.grants = {{.ns = "ml", .pod = "p", .container = "main", .card = "GPU-a"}},
                 .cards = {}},
       .usage = {{.who = {.ns = "ml", .pod = "p", .container = "main"}, .card = "GPU-a"},
                 {.who = {}, .card = "GPU-a"}},
       .idle_seconds = {{"GPU-a", 1.0}},
       .reporter = &reporter,
       .uplink = &uplink,
       .kubelet = &kubelet,
       .plugin = &plugin});
}

std::vector<Family> families(const std::string& text) {
  std::vector<Family> list;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string sharp;
    std::string what;
    std::string name;
    words >> sharp >> what >> name;
    if (sharp != "#") {
      add_labels(line, list.back());
    } else if (what == "HELP") {
      list.push_back({.name = name,
                      .type = {},
                      .help = line.substr(line.find(name) + name.size() + 1),
                      .labels = {}});
    } else {
      list.back().type = line.substr(line.rfind(' ') + 1);
    }
  }
  return list;
}

}  // namespace stowage::metrics
