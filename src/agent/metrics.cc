#include "agent/metrics.h"

#include <set>

#include <fmt/format.h>

#include "base/exposition.h"
#include "base/version.h"

namespace stowage::agent {
namespace {

using base::Exposition;
using Type = Exposition::Type;

constexpr double kMib = 1048576;

// The card id of a device id; a device plugin may append the number of a replica.
std::string card_of(const std::string& device) { return device.substr(0, device.find("::")); }

template <typename Get>
void card_gauge(Exposition& out, const CardsSnapshot& cards, std::string_view name,
                std::string_view help, Get get) {
  out.family(name, Type::gauge, help);
  for (const gpu::CardSample& sample : cards.samples) {
    if (const auto value = get(sample)) {
      out.sample(static_cast<double>(*value), {{"card", sample.id}});
    }
  }
}

template <typename T>
std::optional<double> scaled(const std::optional<T>& value, double factor) {
  if (!value) return std::nullopt;
  return static_cast<double>(*value) * factor;
}

void inventory_metrics(const CardsSnapshot& cards, Exposition& out) {
  out.family("stowage_agent_card_info", Type::gauge,
             "Always 1; the labels describe a card of the node.");
  for (const core::Card& card : cards.list.cards) {
    out.sample(
        1.0, {{"card", card.id}, {"index", fmt::format("{}", card.index)}, {"model", card.model}});
  }
  out.family("stowage_agent_card_healthy", Type::gauge, "1 if the card takes new pods, else 0.");
  for (const core::Card& card : cards.list.cards) {
    out.sample(card.healthy ? 1.0 : 0.0, {{"card", card.id}});
  }
  out.family("stowage_agent_card_memory_bytes", Type::gauge, "Memory of the card.");
  for (const core::Card& card : cards.list.cards) {
    out.sample(card.memory_mib * kMib, {{"card", card.id}});
  }
}

void load_metrics(const CardsSnapshot& cards, Exposition& out) {
  card_gauge(out, cards, "stowage_agent_card_utilization_ratio",
             "Fraction of the driver's last sampling period in which the card was busy.",
             [](const auto& sample) { return scaled(sample.utilisation_permille, 0.001); });
  card_gauge(out, cards, "stowage_agent_card_memory_used_bytes", "Memory of the card in use.",
             [](const auto& sample) { return scaled(sample.memory_used_mib, kMib); });
  card_gauge(out, cards, "stowage_agent_card_power_watts", "Power that the card draws.",
             [](const auto& sample) { return scaled(sample.power_mw, 0.001); });
  card_gauge(out, cards, "stowage_agent_card_temperature_celsius", "Temperature of the card.",
             [](const auto& sample) { return scaled(sample.temperature_c, 1); });
  card_gauge(out, cards, "stowage_agent_card_processes", "Processes that use the card.",
             [](const auto& sample) -> std::optional<double> {
               if (!sample.processes) return std::nullopt;
               return static_cast<double>(sample.processes->size());
             });
}

// The pods that have each card, and assigned cards that are idle.
void pod_metrics(const AgentMetrics& input, Exposition& out) {
  std::set<std::string> known;
  for (const core::Card& card : input.cards.list.cards) known.insert(card.id);
  std::set<std::string> given;
  for (const Grant& grant : input.given.grants) given.insert(grant.card);
  out.family("stowage_agent_container_card", Type::gauge,
             "Cards that the kubelet has given to containers.");
  for (const PodDevices& pod : input.pods) {
    for (const ContainerDevices& container : pod.containers) {
      std::set<std::string> cards;
      for (const DeviceGroup& group : container.devices) {
        for (const std::string& id : group.ids) {
          if (known.count(card_of(id)) > 0) cards.insert(card_of(id));
        }
      }
      for (const std::string& card : cards) {
        given.insert(card);
        out.sample(1.0, {{"namespace", pod.pod.ns},
                         {"pod", pod.pod.name},
                         {"container", container.name},
                         {"card", card}});
      }
    }
  }
  out.family("stowage_agent_card_idle_allocated", Type::gauge,
             "1 if the card is given to a container but no process uses it, else 0.");
  for (const gpu::CardSample& sample : input.cards.samples) {
    const bool idle = sample.processes && sample.processes->empty();
    out.sample(idle && given.count(sample.id) > 0 ? 1.0 : 0.0, {{"card", sample.id}});
  }
  out.family("stowage_agent_card_idle_seconds", Type::gauge,
             "Time since the card was last busy, or since this agent started.");
  for (const auto& [card, seconds] : input.idle_seconds) out.sample(seconds, {{"card", card}});
}

Exposition::Labels labels_of(const std::string& ns, const std::string& pod,
                             const std::string& container, const std::string& card) {
  return {{"namespace", ns}, {"pod", pod}, {"container", container}, {"card", card}};
}

// The shares of containers on each card, and what they use of it.
void container_metrics(const AgentMetrics& input, Exposition& out) {
  const auto each_grant = [&](std::string_view name, std::string_view help, auto value) {
    out.family(name, Type::gauge, help);
    for (const Grant& grant : input.given.grants) {
      out.sample(value(grant), labels_of(grant.ns, grant.pod, grant.container, grant.card));
    }
  };
  each_grant("stowage_agent_container_limit_ratio",
             "Part of the card that the container was given.",
             [](const Grant& grant) { return grant.milli * 0.001; });
  each_grant("stowage_agent_container_memory_limit_bytes",
             "Memory of the card that the container was given.",
             [](const Grant& grant) { return grant.memory_mib * kMib; });
  out.family("stowage_agent_container_memory_used_bytes", Type::gauge,
             "Memory of the card that the container uses.");
  for (const Usage& usage : input.usage) {
    if (usage.who == ContainerName{}) continue;
    out.sample(static_cast<double>(usage.memory_mib) * kMib,
               labels_of(usage.who.ns, usage.who.pod, usage.who.container, usage.card));
  }
  out.family("stowage_agent_card_memory_unattributed_bytes", Type::gauge,
             "Memory of the card that processes of no known container use.");
  for (const Usage& usage : input.usage) {
    if (!(usage.who == ContainerName{})) continue;
    out.sample(static_cast<double>(usage.memory_mib) * kMib, {{"card", usage.card}});
  }
  const auto each_card = [&](std::string_view name, std::string_view help, auto value) {
    out.family(name, Type::gauge, help);
    for (const core::Card& card : input.cards.list.cards) {
      const auto found = input.given.cards.find(card.id);
      const CardGiven none;
      out.sample(value(found == input.given.cards.end() ? none : found->second),
                 {{"card", card.id}});
    }
  };
  each_card("stowage_agent_card_allocated_ratio", "Part of the card that is given to containers.",
            [](const CardGiven& given) { return static_cast<double>(given.milli) * 0.001; });
  each_card("stowage_agent_card_memory_allocated_bytes",
            "Memory of the card that is given to containers.",
            [](const CardGiven& given) { return static_cast<double>(given.memory_mib) * kMib; });
}

void own_metrics(const AgentMetrics& input, Exposition& out) {
  out.family("stowage_agent_build_info", Type::gauge,
             "Always 1; the label is the version of the agent.");
  out.sample(1.0, {{"version", std::string(base::kVersion)}});
  out.gauge("stowage_agent_last_sample_age_seconds", "Time since the driver last answered.",
            input.sampled_seconds_ago);
  out.gauge("stowage_agent_cards_readable", "1 if the cards can be read, else 0.",
            input.cards.known && input.cards.trouble.empty() ? 1.0 : 0.0);
  if (input.reporter != nullptr) {
    out.gauge("stowage_agent_inventory_written",
              "1 if the annotation of the node is written, else 0.",
              input.reporter->written ? 1.0 : 0.0);
    out.counter("stowage_agent_inventory_writes_total", "Writes of the node's annotation.",
                input.reporter->writes);
    out.counter("stowage_agent_inventory_failures_total",
                "Reads and writes of the node's annotation that failed.", input.reporter->failures);
  }
  if (input.uplink != nullptr) {
    out.gauge("stowage_agent_reporting", "1 if the stream to the controller is open, else 0.",
              input.uplink->open ? 1.0 : 0.0);
    out.counter("stowage_agent_streams_total", "Streams to the controller that were opened.",
                input.uplink->opened);
    out.counter("stowage_agent_stream_failures_total",
                "Streams to the controller that ended or could not be opened.",
                input.uplink->failed);
    out.counter("stowage_agent_reports_total", "Reports sent to the controller.",
                input.uplink->reports);
    out.counter("stowage_agent_report_bytes_total", "Bytes of the reports sent to the controller.",
                input.uplink->bytes);
  }
  if (input.kubelet != nullptr) {
    out.gauge("stowage_agent_kubelet_connected", "1 if the kubelet lists pods and devices, else 0.",
              input.kubelet->in_touch ? 1.0 : 0.0);
  }
}

void plugin_metrics(const plugin::DevicePlugin::Snapshot& plugin, Exposition& out) {
  out.family("stowage_agent_plugin_registered", Type::gauge,
             "1 if the kubelet has registered the device plugin for the resource, else 0.");
  for (const auto& each : plugin.resources) {
    out.sample(each.registered ? 1.0 : 0.0, {{"resource", each.name}});
  }
  out.family("stowage_agent_plugin_registrations_total", Type::counter,
             "Attempts to register the device plugin with the kubelet.");
  for (const auto& each : plugin.resources) out.sample(each.attempts, {{"resource", each.name}});
  out.gauge("stowage_agent_plugin_ready",
            "1 if containers that are admitted now would get their cards, else 0.",
            plugin.trouble.empty() ? 1.0 : 0.0);
  out.counter("stowage_agent_plugin_allocations_total",
              "Containers for which the kubelet has allocated devices.", plugin.allocated);
  out.counter("stowage_agent_plugin_allocation_failures_total",
              "Allocations that failed; the kubelet refuses such a pod.",
              plugin.allocations_failed);
  out.gauge("stowage_agent_plugin_allocation_max_seconds", "The longest allocation.",
            plugin.allocate_seconds_max);
  out.family("stowage_agent_plugin_prestarts_total", Type::counter,
             "Starts of containers for which the kubelet has asked for their cards.");
  for (const auto& [outcome, count] : plugin.pre_starts) out.sample(count, {{"outcome", outcome}});
  out.histogram("stowage_agent_plugin_prestart_seconds",
                "Time until a container that starts has its cards, or is refused.",
                {.bounds = plugin::DevicePlugin::kPreStartBounds,
                 .counts = plugin.pre_start_counts,
                 .sum = plugin.pre_start_seconds});
  out.gauge("stowage_agent_plugin_prestarts_waiting", "Starts of containers in progress.",
            static_cast<double>(plugin.pre_starts_waiting));
  out.family("stowage_agent_plugin_containers_total", Type::counter,
             "Containers that got cards, by what limits them to their part of a card.");
  for (const plugin::Isolation level : plugin::kIsolations) {
    const auto found = plugin.isolations.find(level);
    const std::uint64_t count = found == plugin.isolations.end() ? 0 : found->second;
    out.sample(count, {{"isolation", std::string(plugin::to_string(level))}});
  }
  out.gauge("stowage_agent_plugin_records", "Allocations that are remembered.",
            static_cast<double>(plugin.records));
  out.counter("stowage_agent_plugin_removed_total",
              "Allocations that were forgotten, because their pod is gone.", plugin.swept);
}

}  // namespace

std::string render_metrics(const AgentMetrics& input) {
  Exposition out;
  inventory_metrics(input.cards, out);
  load_metrics(input.cards, out);
  pod_metrics(input, out);
  container_metrics(input, out);
  own_metrics(input, out);
  if (input.plugin != nullptr) plugin_metrics(*input.plugin, out);
  return out.take();
}

}  // namespace stowage::agent
