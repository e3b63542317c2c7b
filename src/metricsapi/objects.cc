#include "metricsapi/objects.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "codec/encode.h"

namespace stowage::metricsapi {
namespace {

using base::JsonWriter;

constexpr std::string_view kWholeCards = "nvidia.com/gpu";
constexpr std::string_view kPartsOfCards = "nvidia.com/mig-";
// Some device plugins offer a card several times, as the card's id, this mark and a number.
constexpr std::string_view kReplicaMark = "::";

const codec::ReportedCard* find_card(const reports::NodeReport& node_report, std::string_view id) {
  const auto named = [&](std::string_view name) -> const codec::ReportedCard* {
    const auto found = std::find_if(node_report.cards.begin(), node_report.cards.end(),
                                    [&](const auto& card) { return card.id == name; });
    return found == node_report.cards.end() ? nullptr : &*found;
  };
  if (const auto* card = named(id)) return card;
  const std::size_t mark = id.find(kReplicaMark);
  return mark == std::string_view::npos ? nullptr : named(id.substr(0, mark));
}

Device device_of(const codec::ReportedCard& card, const std::string& node) {
  return {.id = card.id,
          .brand = card.brand,
          .model = normal_model(card.model),
          .bus_id = card.bus_id,
          .node = node};
}

bool by_id(const Device& a, const Device& b) { return a.id < b.id; }

// The devices of a container that are cards: by an id that the node has, or by their resource.
std::vector<Device> cards_of(const reports::NodeReport& node_report,
                             const codec::ReportedContainer& container) {
  std::vector<Device> found;
  for (const codec::ReportedDevices& group : container.devices) {
    const bool surely = group.resource == kWholeCards || group.resource.starts_with(kPartsOfCards);
    for (const std::string& id : group.ids) {
      if (const auto* card = find_card(node_report, id)) {
        found.push_back(device_of(*card, node_report.node));
      } else if (surely) {
        found.push_back(
            {.id = id, .brand = {}, .model = {}, .bus_id = {}, .node = node_report.node});
      }
    }
  }
  std::sort(found.begin(), found.end(), by_id);
  const auto same = [](const Device& a, const Device& b) { return a.id == b.id; };
  found.erase(std::unique(found.begin(), found.end(), same), found.end());
  return found;
}

void add_cards(GpuInfo& info, const std::vector<codec::ReportedCard>& cards) {
  for (const codec::ReportedCard& card : cards) {
    const auto same = [&](const Device& device) { return device.id == card.id; };
    if (std::any_of(info.devices.begin(), info.devices.end(), same)) continue;
    info.devices.push_back(device_of(card, info.node));
    info.cards.push_back({.id = card.id,
                          .memory_mib = card.memory_mib,
                          .healthy = card.healthy,
                          .unhealthy_reason = card.unhealthy_reason,
                          .load = std::nullopt});
  }
  std::sort(info.devices.begin(), info.devices.end(), by_id);
  std::sort(info.cards.begin(), info.cards.end(),
            [](const CardState& a, const CardState& b) { return a.id < b.id; });
  for (const Device& device : info.devices) {
    if (!device.model.empty()) info.models[device.model].push_back(device.id);
  }
}

std::vector<std::string> busy_cards(const reports::NodeReport& node_report) {
  std::set<std::string> busy;
  for (const auto& [name, pod] : node_report.pods) {
    for (const codec::ReportedContainer& container : pod.containers) {
      for (const codec::ReportedDevices& group : container.devices) {
        for (const std::string& id : group.ids) {
          if (const auto* card = find_card(node_report, id)) busy.insert(card->id);
        }
      }
    }
  }
  return {busy.begin(), busy.end()};
}

std::string_view health_word(Health health) {
  switch (health) {
    case Health::fresh: return "True";
    case Health::silent: return "False";
    case Health::unknown: break;
  }
  return "UnKnow";  // sic: clients compare with it
}

void put_text(JsonWriter& json, std::string_view key, std::string_view text) {
  if (!text.empty()) json.key(key).value(text);
}

void put_time(JsonWriter& json, std::string_view key, std::int64_t unix_seconds) {
  if (unix_seconds != 0) json.key(key).value(codec::time_text(unix_seconds));
}

void put_device(JsonWriter& json, const Device& device) {
  json.begin_object();
  put_text(json, "device_id", device.id);
  put_text(json, "device_brand", device.brand);
  put_text(json, "device_model", device.model);
  put_text(json, "device_busid", device.bus_id);
  put_text(json, "device_node", device.node);
  json.end_object();
}

void put_strings(JsonWriter& json, const std::vector<std::string>& texts) {
  json.begin_array();
  for (const std::string& text : texts) json.value(text);
  json.end_array();
}

void put_head(JsonWriter& json, Resource resource, Style style) {
  json.key("kind").value(kind_of(resource));
  json.key("apiVersion").value(style == Style::original ? kVersion : kGroupVersion);
}

void put_load(JsonWriter& json, const codec::ReportedLoad& load) {
  json.begin_object();
  const auto put = [&](std::string_view key, std::optional<std::int32_t> value) {
    if (value) json.key(key).value(*value);
  };
  put("busy_permille", load.busy_permille);
  put("memory_mib", load.memory_mib);
  put("power_milliwatt", load.power_milliwatt);
  put("celsius", load.celsius);
  json.end_object();
}

// Additional fields for Kubernetes clients.
void put_states(JsonWriter& json, const std::vector<CardState>& cards) {
  const auto any = [&](const auto& has) { return std::any_of(cards.begin(), cards.end(), has); };
  if (any([](const CardState& card) { return card.load.has_value(); })) {
    json.key("device_load").begin_object();
    for (const CardState& card : cards) {
      if (!card.load) continue;
      json.key(card.id);
      put_load(json, *card.load);
    }
    json.end_object();
  }
  if (any([](const CardState& card) { return !card.healthy; })) {
    json.key("device_sick").begin_object();
    for (const CardState& card : cards) {
      if (!card.healthy) json.key(card.id).value(card.unhealthy_reason);
    }
    json.end_object();
  }
}

void put_body(JsonWriter& json, const PodResource& pod, Style /*style*/) {
  json.key("spec").begin_object();
  put_text(json, "pod_name", pod.name);
  put_text(json, "pod_namespace", pod.ns);
  if (!pod.containers.empty()) {
    json.key("containers_device").begin_array();
    for (const ContainerDevices& container : pod.containers) {
      json.begin_object();
      put_text(json, "container_name", container.name);
      json.key("device_info").begin_array();
      for (const Device& device : container.devices) put_device(json, device);
      json.end_array().end_object();
    }
    json.end_array();
  }
  json.end_object();
  json.key("status").begin_object();
  put_time(json, "last_changed_time", pod.changed_unix);
  json.end_object();
}

void put_body(JsonWriter& json, const GpuInfo& info, Style style) {
  json.key("spec").begin_object();
  put_text(json, "device_node", info.node);
  if (!info.devices.empty()) {
    json.key("device_infos").begin_object();
    for (const Device& device : info.devices) {
      json.key(device.id);
      put_device(json, device);
    }
    json.end_object();
  }
  if (!info.models.empty()) {
    json.key("device_models").begin_object();
    for (const auto& [model, ids] : info.models) {
      json.key(model);
      put_strings(json, ids);
    }
    json.end_object();
  }
  put_time(json, "report_time", info.reported_unix);
  json.key("device_busy");
  if (info.busy.empty()) {
    json.null();
  } else {
    put_strings(json, info.busy);
  }
  json.end_object();
  json.key("status").begin_object();
  json.key("node_health").value(health_word(info.health));
  put_time(json, "node_last_health_time", info.heard_unix);
  if (style == Style::kubernetes) put_states(json, info.cards);
  json.end_object();
}

}  // namespace

std::string_view plural(Resource resource) {
  return resource == Resource::pod_resources ? "podresources" : "gpuinfos";
}

std::string_view kind_of(Resource resource) {
  return resource == Resource::pod_resources ? "PodResource" : "GpuInfo";
}

std::int64_t Now::unix_seconds_of(net::Moment moment) const {
  const auto ago = std::chrono::duration_cast<std::chrono::nanoseconds>(steady - moment).count();
  return (unix_nanos - ago) / 1'000'000'000;
}

std::string object_name(std::string_view ns, std::string_view pod) {
  std::string name(ns);
  name += '.';
  name += pod;
  return name;
}

std::string normal_model(std::string_view model) { return base::ascii_lower(base::trim(model)); }

GpuInfo gpu_info(const reports::NodeReport& node_report, const Now& now) {
  GpuInfo info;
  info.node = node_report.node;
  info.agent = node_report.agent;
  info.health = node_report.silent ? Health::silent : Health::fresh;
  info.heard_unix = now.unix_seconds_of(node_report.heard);
  if (node_report.cards_at != net::Moment{})
    info.reported_unix = now.unix_seconds_of(node_report.cards_at);
  add_cards(info, node_report.cards);
  for (CardState& state : info.cards) {
    const auto* card = find_card(node_report, state.id);
    STOWAGE_CHECK(card != nullptr);
    const auto load = node_report.load.find(card->index);
    if (load != node_report.load.end()) state.load = load->second.values;
  }
  info.busy = busy_cards(node_report);
  return info;
}

GpuInfo gpu_info(const OtherNode& node) {
  GpuInfo info;
  info.node = node.node;
  add_cards(info, node.cards);
  return info;
}

std::optional<PodResource> pod_resource(const reports::NodeReport& node_report,
                                        const codec::ReportedPod& pod) {
  PodResource resource{.ns = pod.ns, .name = pod.name, .node = node_report.node, .containers = {}};
  for (const codec::ReportedContainer& container : pod.containers) {
    std::vector<Device> devices = cards_of(node_report, container);
    if (devices.empty()) continue;
    resource.containers.push_back({.name = container.name, .devices = std::move(devices)});
  }
  if (resource.containers.empty()) return std::nullopt;
  return resource;
}

void put_metadata(JsonWriter& json, std::string_view name, std::uint64_t version) {
  json.key("metadata").begin_object();
  put_text(json, "name", name);
  if (version != 0) json.key("resourceVersion").value(std::to_string(version));
  json.end_object();
}

Resource resource_of(const ApiObject& object) {
  return std::holds_alternative<PodResource>(object) ? Resource::pod_resources
                                                     : Resource::gpu_infos;
}

std::string name_of(const ApiObject& object) {
  if (const auto* pod = std::get_if<PodResource>(&object)) return object_name(pod->ns, pod->name);
  return std::get<GpuInfo>(object).node;
}

std::uint64_t version_of(const ApiObject& object) {
  return std::visit([](const auto& one) { return one.version; }, object);
}

void put_object(JsonWriter& json, const ApiObject& object, Style style) {
  json.begin_object();
  put_head(json, resource_of(object), style);
  put_metadata(json, name_of(object), version_of(object));
  std::visit([&](const auto& one) { put_body(json, one, style); }, object);
  json.end_object();
}

}  // namespace stowage::metricsapi
