#include "metricsapi/table.h"

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace stowage::metricsapi {
namespace {

using base::JsonWriter;

struct Column {
  std::string_view name;
  std::string_view type = "string";
  std::string_view format = {};
  std::int32_t priority = 0;  // above 0: with -o wide only
  std::string_view description = {};
};

constexpr std::int32_t kWide = 1;

constexpr Column kPodColumns[] = {
    {"Namespace/Name", "string", "name", 0, "The pod. The object is named <namespace>.<name>."},
    {"Node", "string", {}, 0, "The node whose agent reports the pod's cards."},
    {"Container", "string", {}, 0, "The containers that have cards."},
    {"Cards", "integer", {}, 0, "Number of cards of all containers."},
    {"Models", "string", {}, kWide, "The models of these cards."},
    {"Devices", "string", {}, kWide, "The ids of these cards, by container."},
};

constexpr Column kGpuColumns[] = {
    {"Name", "string", "name", 0, "The node."},
    {"Health", "string", {}, 0, "Healthy: its agent reports. Silent: it no longer does."},
    {"Cards", "integer", {}, 0, "Number of cards of the node."},
    {"Busy", "integer", {}, 0, "Number of cards that containers have."},
    {"Models", "string", {}, 0, "The models, and how many cards of each."},
    {"Load", "string", {}, 0, "How busy the cards are on average."},
    {"Memory", "string", {}, kWide, "Used and total memory of the cards, in GiB."},
    {"Power", "string", {}, kWide, "Power that all cards draw."},
    {"Temperature", "string", {}, kWide, "Temperature of the hottest card."},
    {"Sick", "integer", {}, kWide, "Number of unhealthy cards."},
    {"Agent", "string", {}, kWide, "The version of the node's agent."},
    {"Heard", "string", {}, kWide, "Time since the last report of the agent."},
};

std::span<const Column> columns_of(Resource resource) {
  if (resource == Resource::pod_resources) return kPodColumns;
  return kGpuColumns;
}

constexpr std::string_view kNothing = "<none>";
constexpr std::string_view kUnknown = "<unknown>";

std::string joined(const std::vector<std::string>& parts, std::string_view none = kNothing) {
  return parts.empty() ? std::string(none) : fmt::format("{}", fmt::join(parts, ","));
}

// "tesla t4:3,a100:1"
std::string counted(const std::map<std::string, std::vector<std::string>>& models) {
  std::vector<std::string> parts;
  for (const auto& [model, ids] : models) parts.push_back(fmt::format("{}:{}", model, ids.size()));
  return joined(parts);
}

// "5s", "3m", "7h", "2d": one number, as kubectl writes ages.
std::string age(std::int64_t seconds) {
  if (seconds < 0) seconds = 0;
  if (seconds < 120) return fmt::format("{}s", seconds);
  if (seconds < 120 * 60) return fmt::format("{}m", seconds / 60);
  if (seconds < 48 * 3600) return fmt::format("{}h", seconds / 3600);
  return fmt::format("{}d", seconds / 86'400);
}

void put_cells(JsonWriter& json, const PodResource& pod, const Now& /*now*/) {
  std::vector<std::string> containers;
  std::vector<std::string> models;
  std::vector<std::string> devices;
  std::size_t cards = 0;
  for (const ContainerDevices& container : pod.containers) {
    containers.push_back(container.name);
    std::vector<std::string> ids;
    for (const Device& device : container.devices) {
      ids.push_back(device.id);
      if (!device.model.empty()) models.push_back(device.model);
    }
    cards += ids.size();
    devices.push_back(fmt::format("{}={}", container.name, fmt::join(ids, "+")));
  }
  std::sort(models.begin(), models.end());
  models.erase(std::unique(models.begin(), models.end()), models.end());
  json.value(fmt::format("{}/{}", pod.ns, pod.name)).value(pod.node).value(joined(containers));
  json.value(std::uint64_t{cards}).value(joined(models)).value(joined(devices));
}

std::string_view health_word(Health health) {
  switch (health) {
    case Health::fresh: return "Healthy";
    case Health::silent: return "Silent";
    case Health::unknown: break;
  }
  return "Unknown";
}

// The totals of the cards. A sum is known if at least one part is known.
struct Sums {
  std::int64_t busy_permille = 0;
  std::int64_t busy_cards = 0;
  std::int64_t memory_mib = 0;
  std::int64_t memory_used_mib = 0;
  bool memory_known = false;
  std::int64_t power_milliwatt = 0;
  bool power_known = false;
  std::optional<std::int32_t> celsius;
  std::uint64_t unhealthy = 0;
};

Sums sums_of(const std::vector<CardState>& cards) {
  Sums sums;
  for (const CardState& card : cards) {
    sums.memory_mib += card.memory_mib;
    if (!card.healthy) ++sums.unhealthy;
    if (!card.load) continue;
    if (card.load->busy_permille) {
      sums.busy_permille += *card.load->busy_permille;
      ++sums.busy_cards;
    }
    if (card.load->memory_mib) {
      sums.memory_used_mib += *card.load->memory_mib;
      sums.memory_known = true;
    }
    if (card.load->power_milliwatt) {
      sums.power_milliwatt += *card.load->power_milliwatt;
      sums.power_known = true;
    }
    if (const auto celsius = card.load->celsius) {
      sums.celsius = std::max(*celsius, sums.celsius.value_or(*celsius));
    }
  }
  return sums;
}

std::string gib(std::int64_t mib) { return fmt::format("{:.1f}", static_cast<double>(mib) / 1024); }

void put_cells(JsonWriter& json, const GpuInfo& info, const Now& now) {
  const Sums sums = sums_of(info.cards);
  const std::string unknown(kUnknown);
  json.value(info.node).value(health_word(info.health));
  json.value(std::uint64_t{info.devices.size()}).value(std::uint64_t{info.busy.size()});
  json.value(counted(info.models));
  // The load of a silent node is outdated.
  const bool fresh = info.health == Health::fresh;
  json.value(fresh && sums.busy_cards > 0
                 ? fmt::format("{}%", (sums.busy_permille / sums.busy_cards + 5) / 10)
                 : unknown);
  json.value(sums.memory_mib == 0
                 ? unknown
                 : fmt::format("{}/{}Gi",
                               fresh && sums.memory_known ? gib(sums.memory_used_mib) : "?",
                               gib(sums.memory_mib)));
  json.value(fresh && sums.power_known ? fmt::format("{}W", (sums.power_milliwatt + 500) / 1000)
                                       : unknown);
  json.value(fresh && sums.celsius ? fmt::format("{}C", *sums.celsius) : unknown);
  json.value(sums.unhealthy).value(info.agent.empty() ? unknown : info.agent);
  json.value(info.heard_unix == 0 ? unknown : age(now.unix_seconds() - info.heard_unix));
}

}  // namespace

void put_columns(JsonWriter& json, Resource resource) {
  json.key("columnDefinitions").begin_array();
  for (const Column& column : columns_of(resource)) {
    json.begin_object();
    json.key("name").value(column.name).key("type").value(column.type);
    json.key("format").value(column.format).key("description").value(column.description);
    json.key("priority").value(column.priority);
    json.end_object();
  }
  json.end_array();
}

void put_row(JsonWriter& json, const ApiObject& object, RowObject with, const Now& now) {
  json.begin_object();
  json.key("cells").begin_array();
  std::visit([&](const auto& one) { put_cells(json, one, now); }, object);
  json.end_array();
  if (with == RowObject::whole) {
    json.key("object");
    put_object(json, object, Style::kubernetes);
  } else if (with == RowObject::metadata) {
    json.key("object").begin_object();
    json.key("kind").value("PartialObjectMetadata").key("apiVersion").value("meta.k8s.io/v1");
    put_metadata(json, name_of(object), version_of(object));
    json.end_object();
  }
  json.end_object();
}

}  // namespace stowage::metricsapi
