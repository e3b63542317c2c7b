// Prints docs/metrics.md: every metric of the controller and of the agent, with its labels, from
// what the code itself writes when there is something of everything.
#include <cstdio>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "agent/metrics.h"
#include "controller/metrics.h"

namespace {

using namespace stowage;

std::string of_the_controller() {
  scheduler::Scheduler::Picture picture;
  picture.outbox.refused_by["no-room"] = 1;
  picture.outbox.pickers["learned"] = {};
  picture.survey.models.push_back({.model = "NVIDIA H200"});
  picture.queues.push_back({.name = "pending", .size = 0, .limit = 1});
  kube::ApiCounters api;
  api.calls.push_back({.method = "GET", .code = 200, .calls = 1});
  const std::vector<controller::ExtenderPicture> extenders{
      {.name = "stowage", .counters = {}, .forwarded = {}, .waited = 0, .queues = {}}};
  controller::Hub::Picture hub;
  hub.api.emplace();
  hub.api->requests["list"] = 1;
  hub.api->refused[403] = 1;
  return controller::render_metrics({.scheduler = picture,
                                     .api = api,
                                     .extenders = extenders,
                                     .leadership = {},
                                     .reload = {},
                                     .gate = {},
                                     .heap = controller::HeapPicture{},
                                     .agents = hub,
                                     .ready = true});
}

std::string of_the_agent() {
  agent::CardsPicture cards;
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
  const agent::Reporter::Picture reporter;
  const agent::Uplink::Picture uplink;
  const agent::Contact kubelet;
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
       .kubelet = &kubelet});
}

struct Family {
  std::string name;
  std::string type;
  std::string help;
  std::set<std::string> labels;
};

// Labels of a sample: what stands before =" in the braces.
void add_labels(const std::string& line, Family& family) {
  std::size_t at = line.find('{');
  if (at == std::string::npos) return;
  for (std::size_t end = line.find("=\"", at); end != std::string::npos;
       end = line.find("=\"", at)) {
    const std::string name = line.substr(at + 1, end - at - 1);
    if (name != "le") family.labels.insert(name);
    at = line.find('"', end + 2) + 1;
  }
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

void print(const char* title, const char* words, const std::string& text) {
  fmt::print("\n## {}\n\n{}\n\n| metric | type | labels | what |\n|---|---|---|---|\n", title,
             words);
  for (const Family& family : families(text)) {
    std::string labels;
    for (const std::string& label : family.labels)
      labels += (labels.empty() ? "`" : ", `") + label + "`";
    fmt::print("| `{}` | {} | {} | {} |\n", family.name, family.type, labels, family.help);
  }
}

}  // namespace

int main() {
  fmt::print(
      "# Metrics\n\nMade from the code by `make metrics-page`; a test compares them. Amounts are "
      "in base units "
      "(bytes, seconds,\nwatts), parts of a card or of time from 0 to 1. Counters end in "
      "`_total`.\n");
  print("The controller",
        "At `/metrics` of `listen` (10360). Each replica tells of itself; cards and pods are those "
        "of its ledger,\nwhich is warm on replicas that do not lead as well. "
        "`model` is as reported by the node.",
        of_the_controller());
  print(
      "The agent",
      "At `/metrics` of `--listen` (10363), one for each node. `card` is the card's id. Series of "
      "containers\nare those of the node's own pods.",
      of_the_agent());
  fmt::print(
      "\n## Questions they answer\n\n| question | expression |\n|---|---|\n"
      "| How much of the cards is given out? | `sum(stowage_cards_allocated) / sum(stowage_cards)` "
      "|\n"
      "| How many more pods of 8 cards would fit? | `stowage_pods_that_fit{{cards=\"8\"}}` |\n"
      "| How much is free and cannot be had? | `sum by (model) (stowage_cards_stranded)` |\n"
      "| Which cards has somebody had for an hour without using them? | "
      "`stowage_agent_card_allocated_ratio > 0 and on (card) stowage_agent_card_idle_seconds > "
      "3600` |\n"
      "| Which containers use more memory than they were given? | "
      "`stowage_agent_container_memory_used_bytes > stowage_agent_container_memory_limit_bytes` |\n"
      "| How long do decisions take? | "
      "`histogram_quantile(0.99, rate(stowage_decision_seconds_bucket[5m]))` |\n"
      "| Does what the kubelet did differ from what was decided? | `stowage_pods_card_drift > 0` "
      "|\n"
      "| Why do pods wait? | `topk(5, rate(stowage_refusals_total[15m]))` |\n");
  return 0;
}
