// Prints docs/metrics.md: every metric of the controller and of the agent, with its labels, from
// the output of the code with sample data for every metric.
#include <string>

#include <fmt/format.h>

#include "samples.h"

namespace {

using namespace stowage;

void print(const char* title, const char* words, const std::string& text) {
  fmt::print("\n## {}\n\n{}\n\n| metric | type | labels | what |\n|---|---|---|---|\n", title,
             words);
  for (const metrics::Family& family : metrics::families(text)) {
    std::string labels;
    for (const auto& [label, values] : family.labels)
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
        metrics::controller_sample());
  print(
      "The agent",
      "At `/metrics` of `--listen` (10363), one for each node. `card` is the card's id. Series of "
      "containers\nare those of the node's own pods.",
      metrics::agent_sample());
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
      "| Does what the kubelet did differ from what was decided? | `stowage_pods_device_mismatch > "
      "0` "
      "|\n"
      "| Why do pods wait? | `topk(5, rate(stowage_refusals_total[15m]))` |\n");
  return 0;
}
