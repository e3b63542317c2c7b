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
  out.family("stowage_cards", Type::gauge, "Cards in the ledger, by state.");
  for (const core::ModelSurvey& model : survey.models) {
    out.sample(as_double(model.free), {{"model", model.model}, {"state", "free"}});
    out.sample(as_double(model.partly), {{"model", model.model}, {"state", "partial"}});
    out.sample(as_double(model.full), {{"model", model.model}, {"state", "full"}});
    out.sample(as_double(model.unhealthy), {{"model", model.model}, {"state", "unhealthy"}});
  }
  each("stowage_cards_allocated", "Allocated cards; a share counts as its fraction of a card.",
       [](const auto& model) { return as_double(model.given_milli) / kMilli; });
  each("stowage_card_memory_bytes", "Memory of the cards.",
       [](const auto& model) { return as_double(model.memory_mib) * kMib; });
  each("stowage_card_memory_allocated_bytes", "Allocated memory of the cards.",
       [](const auto& model) { return as_double(model.given_memory_mib) * kMib; });
  each("stowage_cards_stranded",
       "Free shares of cards that no pod can use: the node is unschedulable or has no CPU, memory "
       "or pod slot left, or the card has no memory or slot left.",
       [](const auto& model) { return as_double(model.stranded_milli) / kMilli; });
  each("stowage_cards_measured", "Cards whose load an agent reports.",
       [](const auto& model) { return model.measured; });
  each("stowage_cards_idle_allocated", "Measured cards that are allocated and idle now.",
       [](const auto& model) { return model.idle; });
  out.family("stowage_pods_that_fit", Type::gauge,
             "How many more pods of this size (cards of one node, or a share of a card) would fit "
             "by cards alone; each size is counted separately.");
  for (const core::ModelSurvey& model : survey.models) {
    for (std::size_t i = 0; i < core::kSurveySizes.size(); ++i) {
      out.sample(
          as_double(model.fits[i]),
          {{"model", model.model}, {"cards", fmt::format("{}", core::kSurveySizes[i] / kMilli)}});
    }
  }
}

void agent_metrics(const MetricsInput& input, Exposition& out) {
  const scheduler::ClusterCache::Sizes& cluster_cache = input.scheduler.cluster_cache;
  out.gauge("stowage_pods_cards_unknown", "Bound pods whose cards are unknown.",
            as_double(cluster_cache.unnamed));
  out.gauge("stowage_pods_cards_by_kubelet", "Bound pods whose cards only the kubelet reports.",
            as_double(cluster_cache.by_kubelet));
  out.gauge("stowage_pods_device_mismatch",
            "Bound pods to which the kubelet gave other cards than they were assigned.",
            as_double(cluster_cache.device_mismatched));
  if (!input.agents) return;
  const reports::ReportCache::Counters& report_cache = input.agents->report_cache;
  const reports::AgentServer::Counters& agent_server = input.agents->agent_server;
  out.family("stowage_agents", Type::gauge, "Nodes with an agent, by state.");
  out.sample(as_double(report_cache.nodes - report_cache.silent), {{"state", "reporting"}});
  out.sample(as_double(report_cache.silent), {{"state", "silent"}});
  out.family("stowage_agents_plugins", Type::gauge,
             "Nodes whose agent has a device plugin, by whether the kubelet has registered it. A "
             "node with a missing one gets no new pods with cards.");
  out.sample(as_double(report_cache.plugins_registered), {{"state", "registered"}});
  out.sample(as_double(report_cache.plugins_missing), {{"state", "missing"}});
  out.gauge("stowage_agents_streams", "Streams of agents that are open.",
            as_double(agent_server.streams));
  out.counter("stowage_agents_streams_opened_total", "Streams that agents have opened.",
              agent_server.opened);
  out.family("stowage_agents_streams_ended_total", Type::counter,
             "Streams that the controller ended, by reason.");
  out.sample(agent_server.unread, {{"reason", "unreadable"}});
  out.sample(agent_server.expired, {{"reason", "silent"}});
  out.sample(agent_server.overfull, {{"reason", "over_budget"}});
  out.sample(agent_server.overspent, {{"reason", "rate_limited"}});
  out.counter("stowage_agents_refused_total", "Agents that were refused.", agent_server.refused);
  out.counter("stowage_agents_redirected_total", "Agents that were redirected to the leader.",
              agent_server.sent_on);
  out.counter("stowage_agents_reports_total", "Reports received from agents.",
              report_cache.reports);
  out.family("stowage_agents_reports_refused_total", Type::counter,
             "Reports that exceeded a limit, by limit.");
  out.sample(report_cache.refused_nodes, {{"limit", "nodes"}});
  out.sample(report_cache.refused_pods, {{"limit", "node_pods"}});
  out.sample(report_cache.refused_node_bytes, {{"limit", "node_bytes"}});
  out.sample(report_cache.refused_bytes, {{"limit", "bytes"}});
  out.family("stowage_agents_held_bytes", Type::gauge,
             "Memory that counts against the budgets of agents.");
  out.sample(as_double(report_cache.bytes), {{"state", "stored"}});
  out.sample(as_double(agent_server.unfinished_bytes), {{"state", "partial"}});
  out.counter("stowage_agents_bytes_total", "Bytes received from agents.", agent_server.bytes);
  out.counter("stowage_agents_silences_total", "Times that an agent fell silent.",
              report_cache.silences);
}

namespace {

void node_resources_metrics(const NodePublisher::Counters& publisher, Exposition& out) {
  out.family("stowage_node_resources_writes_total", Type::counter,
             "Writes of the quantities that nodes offer, by result.");
  out.sample(publisher.written, {{"result", "written"}});
  out.sample(publisher.conflicts, {{"result", "conflict"}});
  out.sample(publisher.failures, {{"result", "failed"}});
}

void webhook_metrics(const Hub::Snapshot& hub, Exposition& out) {
  out.family("stowage_webhook_reviews_total", Type::counter,
             "Pods that the admission webhook has reviewed, by verdict.");
  for (std::size_t i = 0; i < hub.reviews.size(); ++i) {
    out.sample(hub.reviews[i], {{"verdict", webhook::to_string(static_cast<webhook::Verdict>(i))}});
  }
}

}  // namespace

void metrics_api_metrics(const MetricsInput& input, Exposition& out) {
  node_resources_metrics(input.publisher, out);
  if (!input.agents || !input.agents->api) return;
  webhook_metrics(*input.agents, out);
  const metricsapi::Server::Counters& api = *input.agents->api;
  out.family("stowage_metrics_api_requests_total", Type::counter,
             "Requests to metrics.nvidia.com, by verb.");
  for (const auto& [what, count] : api.requests) out.sample(count, {{"verb", what}});
  out.family("stowage_metrics_api_refused_total", Type::counter,
             "Requests that were refused, by code.");
  for (const auto& [code, count] : api.refused)
    out.sample(count, {{"code", fmt::format("{}", code)}});
  out.gauge("stowage_metrics_api_watchers", "Watches that are open.", as_double(api.watchers.open));
  out.counter("stowage_metrics_api_watchers_lagged_total",
              "Watches that were ended because the client read too slowly.", api.watchers.lagged);
  out.family("stowage_metrics_api_forwarded_total", Type::counter,
             "Requests that were forwarded to the leader, by outcome.");
  out.sample(api.relay.passed, {{"outcome", "answered"}});
  out.sample(api.relay.failed, {{"outcome", "failed"}});
  out.sample(api.relay.refused, {{"outcome", "refused"}});
  out.sample(api.relay.cut_off, {{"outcome", "cut_off"}});
  out.gauge("stowage_metrics_api_degraded",
            "1 while the metrics API cannot serve; the log says why.",
            input.agents->trouble.empty() ? 0 : 1);
}

}  // namespace stowage::controller
