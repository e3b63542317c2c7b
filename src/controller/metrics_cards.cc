#include <fmt/format.h>

#include "controller/metrics_parts.h"

namespace stowage::controller {
namespace {

using base::Exposition;
using Type = Exposition::Type;

}  // namespace

// Labels are bounded: models of cards, and a few sizes.
void card_metrics(const core::Survey& survey, Exposition& out) {
  const auto each = [&](const char* name, const char* help, auto value) {
    out.family(name, Type::gauge, help);
    for (const core::ModelSurvey& model : survey.models) {
      out.sample(static_cast<double>(value(model)), {{"model", model.model}});
    }
  };
  constexpr double kMilli = 1000;
  constexpr double kMib = 1048576;
  out.family("stowage_cards", Type::gauge, "Cards in the ledger, by how they are given out.");
  for (const core::ModelSurvey& model : survey.models) {
    out.sample(as_double(model.free), {{"model", model.model}, {"state", "free"}});
    out.sample(as_double(model.partly), {{"model", model.model}, {"state", "partly"}});
    out.sample(as_double(model.full), {{"model", model.model}, {"state", "full"}});
    out.sample(as_double(model.sick), {{"model", model.model}, {"state", "sick"}});
  }
  each("stowage_cards_allocated", "Cards that are given out, with parts as parts of one.",
       [](const auto& model) { return as_double(model.given_milli) / kMilli; });
  each("stowage_card_memory_bytes", "Memory of the cards.",
       [](const auto& model) { return as_double(model.memory_mib) * kMib; });
  each("stowage_card_memory_allocated_bytes", "Memory of the cards that is given out.",
       [](const auto& model) { return as_double(model.given_memory_mib) * kMib; });
  each("stowage_cards_stranded",
       "Free parts of cards that no pod can have: the node takes none, or has no CPU, memory or "
       "place left, or the card no memory or place.",
       [](const auto& model) { return as_double(model.stranded_milli) / kMilli; });
  each("stowage_cards_measured", "Cards whose load an agent tells.",
       [](const auto& model) { return model.measured; });
  each("stowage_cards_idle_allocated", "Those of them that are given out and do nothing now.",
       [](const auto& model) { return model.idle; });
  out.family("stowage_pods_that_fit", Type::gauge,
             "How many more pods of so many cards (of one node, or of a part of a card) would "
             "fit, as far as cards go; each size by itself.");
  for (const core::ModelSurvey& model : survey.models) {
    for (std::size_t i = 0; i < core::kSurveySizes.size(); ++i) {
      out.sample(
          as_double(model.fits[i]),
          {{"model", model.model}, {"cards", fmt::format("{}", core::kSurveySizes[i] / kMilli)}});
    }
  }
}

void agent_metrics(const MetricsInput& input, Exposition& out) {
  const scheduler::Roster::Sizes& roster = input.scheduler.roster;
  out.gauge("stowage_pods_cards_unknown",
            "Bound pods of which nobody has said which cards they have.",
            as_double(roster.unnamed));
  out.gauge("stowage_pods_cards_by_kubelet", "Bound pods of which the kubelet alone has said so.",
            as_double(roster.by_kubelet));
  out.gauge("stowage_pods_card_drift",
            "Bound pods whose kubelet has given them other cards than they were placed on.",
            as_double(roster.astray));
  if (!input.agents) return;
  const reports::Book::Counters& book = input.agents->book;
  const reports::Door::Counters& door = input.agents->door;
  out.family("stowage_agents", Type::gauge, "Nodes whose agents have been heard, by how they are.");
  out.sample(as_double(book.nodes - book.silent), {{"state", "heard"}});
  out.sample(as_double(book.silent), {{"state", "silent"}});
  out.gauge("stowage_agents_streams", "Streams of agents that are open.", as_double(door.streams));
  out.counter("stowage_agents_streams_opened_total", "Streams that agents have opened.",
              door.opened);
  out.family("stowage_agents_streams_ended_total", Type::counter,
             "Streams that were ended here, by why.");
  out.sample(door.unread, {{"why", "unreadable"}});
  out.sample(door.expired, {{"why", "silent"}});
  out.sample(door.overfull, {{"why", "no_room"}});
  out.sample(door.overspent, {{"why", "too_much"}});
  out.counter("stowage_agents_refused_total", "Agents that were not let in.", door.refused);
  out.counter("stowage_agents_sent_on_total", "Agents that were sent to the replica that leads.",
              door.sent_on);
  out.counter("stowage_agents_reports_total", "Reports of agents.", book.reports);
  out.family("stowage_agents_reports_refused_total", Type::counter,
             "Reports for which there was no room, by what is full.");
  out.sample(book.refused_nodes, {{"what", "nodes"}});
  out.sample(book.refused_pods, {{"what", "pods_of_node"}});
  out.sample(book.refused_node_bytes, {{"what", "bytes_of_node"}});
  out.sample(book.refused_bytes, {{"what", "bytes"}});
  out.family("stowage_agents_held_bytes", Type::gauge,
             "Memory that counts against the budgets of agents.");
  out.sample(as_double(book.bytes), {{"what", "told"}});
  out.sample(as_double(door.unfinished_bytes), {{"what", "unfinished"}});
  out.counter("stowage_agents_bytes_total", "Bytes of them.", door.bytes);
  out.counter("stowage_agents_silences_total", "Times that an agent fell silent.", book.silences);
}

void metrics_api_metrics(const MetricsInput& input, Exposition& out) {
  if (!input.agents || !input.agents->api) return;
  const metricsapi::Server::Counters& api = *input.agents->api;
  out.family("stowage_metrics_api_requests_total", Type::counter,
             "Requests to metrics.nvidia.com, by what for.");
  for (const auto& [what, count] : api.requests) out.sample(count, {{"what", what}});
  out.family("stowage_metrics_api_refused_total", Type::counter,
             "Requests that were refused, by code.");
  for (const auto& [code, count] : api.refused)
    out.sample(count, {{"code", fmt::format("{}", code)}});
  out.gauge("stowage_metrics_api_watchers", "Watches that are open.", as_double(api.watchers.open));
  out.counter("stowage_metrics_api_watchers_lagged_total",
              "Watches that were ended because their readers had missed something.",
              api.watchers.lagged);
  out.family("stowage_metrics_api_passed_on_total", Type::counter,
             "Requests for the replica that leads, by outcome.");
  out.sample(api.relay.passed, {{"outcome", "answered"}});
  out.sample(api.relay.failed, {{"outcome", "failed"}});
  out.sample(api.relay.refused, {{"outcome", "refused"}});
  out.sample(api.relay.cut_off, {{"outcome", "cut_off"}});
  out.gauge("stowage_metrics_api_trouble", "1 while something keeps it from working; see the log.",
            input.agents->trouble.empty() ? 0 : 1);
}

}  // namespace stowage::controller
