#include "codec/agent_report.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/json_writer.h"
#include "codec/fields.h"

namespace stowage::codec {
namespace {

using base::JsonWriter;

constexpr std::size_t kNameMax = 512;
constexpr std::int32_t kPermille = 1000;

// ---- out

void put_text(JsonWriter& json, std::string_view key, std::string_view text) {
  if (!text.empty()) json.key(key).value(text);
}

void put_number(JsonWriter& json, std::string_view key, const std::optional<std::int32_t>& number) {
  if (number) json.key(key).value(*number);
}

void put_card(JsonWriter& json, const ReportedCard& card) {
  json.begin_object();
  json.key("id").value(card.id).key("index").value(card.index);
  put_text(json, "model", card.model);
  put_text(json, "brand", card.brand);
  put_text(json, "busId", card.bus_id);
  json.key("memoryMiB").value(card.memory_mib);
  if (!card.healthy) json.key("healthy").boolean(false);
  put_text(json, "sickness", card.sickness);
  json.end_object();
}

void put_load(JsonWriter& json, const ReportedLoad& load) {
  json.begin_object().key("card").value(load.card);
  put_number(json, "busyPermille", load.busy_permille);
  put_number(json, "memoryMiB", load.memory_mib);
  put_number(json, "powerMilliwatt", load.power_milliwatt);
  put_number(json, "celsius", load.celsius);
  json.end_object();
}

void put_pod(JsonWriter& json, const ReportedPod& pod) {
  json.begin_object();
  json.key("namespace").value(pod.ns).key("name").value(pod.name);
  json.key("containers").begin_array();
  for (const auto& container : pod.containers) {
    json.begin_object().key("name").value(container.name).key("devices").begin_array();
    for (const auto& devices : container.devices) {
      json.begin_object().key("resource").value(devices.resource).key("ids").begin_array();
      for (const auto& id : devices.ids) json.value(id);
      json.end_array().end_object();
    }
    json.end_array().end_object();
  }
  json.end_array().end_object();
}

void put_pods(JsonWriter& json, const ReportedPods& pods) {
  json.begin_object();
  if (pods.all) json.key("all").boolean(true);
  json.key("now").begin_array();
  for (const auto& pod : pods.now) put_pod(json, pod);
  json.end_array();
  if (!pods.gone.empty()) {
    json.key("gone").begin_array();
    for (const auto& name : pods.gone) json.value(name);
    json.end_array();
  }
  json.end_object();
}

// ---- in

Status read_name(JsonValue& value, std::string& out) {
  STOWAGE_TRY_VOID(read(value, out));
  if (out.size() > kNameMax) return value.wrong(fmt::format("longer than {} bytes", kNameMax));
  return {};
}

Status read_count(JsonValue& value, std::int32_t& out) {
  STOWAGE_TRY_VOID(read(value, out));
  if (out < 0) return value.wrong("expected a number of zero or more");
  return {};
}

Status read_count(JsonValue& value, std::optional<std::int32_t>& out) {
  return read_count(value, out.emplace());
}

template <typename T>
Status read_all(JsonValue& value, std::vector<T>& out, std::size_t max,
                Status (*read_one)(JsonValue&, T&)) {
  return each_element(value, [&](JsonValue& element) -> Status {
    if (out.size() == max) return element.wrong(fmt::format("more than {} of them", max));
    return read_one(element, out.emplace_back());
  });
}

Status read_card(JsonValue& value, ReportedCard& out) {
  const Where where = value.where;
  STOWAGE_TRY_VOID(each_field(value, [&](std::string_view key, JsonValue& field) -> Status {
    if (key == "id") return read_name(field, out.id);
    if (key == "index") return read_count(field, out.index);
    if (key == "model") return read_name(field, out.model);
    if (key == "brand") return read_name(field, out.brand);
    if (key == "busId") return read_name(field, out.bus_id);
    if (key == "memoryMiB") return read_count(field, out.memory_mib);
    if (key == "healthy") return read(field, out.healthy);
    if (key == "sickness") return read_name(field, out.sickness);
    return {};
  }));
  if (out.id.empty()) return fail(where.text() + ": the field id is missing");
  return {};
}

Status read_cards(JsonValue& value, std::vector<ReportedCard>& out) {
  STOWAGE_TRY_VOID(read_all(value, out, kReportCardsMax, read_card));
  for (auto at = out.begin(); at != out.end(); ++at) {
    const bool twice = std::any_of(out.begin(), at, [&](const ReportedCard& other) {
      return other.id == at->id || other.index == at->index;
    });
    if (twice)
      return fail(fmt::format("cards: {} or its index {} stands twice", at->id, at->index));
  }
  return {};
}

Status read_load(JsonValue& value, ReportedLoad& out) {
  const Where where = value.where;
  bool named = false;
  STOWAGE_TRY_VOID(each_field(value, [&](std::string_view key, JsonValue& field) -> Status {
    if (key == "card") {
      named = true;
      return read_count(field, out.card);
    }
    if (key == "busyPermille") return read_count(field, out.busy_permille);
    if (key == "memoryMiB") return read_count(field, out.memory_mib);
    if (key == "powerMilliwatt") return read_count(field, out.power_milliwatt);
    if (key == "celsius") return read(field, out.celsius.emplace());
    return {};
  }));
  if (!named) return fail(where.text() + ": the field card is missing");
  if (out.busy_permille.value_or(0) > kPermille) {
    return fail(fmt::format("{}: busyPermille is over {}", where.text(), kPermille));
  }
  return {};
}

Status read_devices(JsonValue& value, ReportedDevices& out) {
  return each_field(value, [&](std::string_view key, JsonValue& field) -> Status {
    if (key == "resource") return read_name(field, out.resource);
    if (key == "ids") return read_all(field, out.ids, kReportDevicesMax, read_name);
    return {};
  });
}

Status read_container(JsonValue& value, ReportedContainer& out) {
  return each_field(value, [&](std::string_view key, JsonValue& field) -> Status {
    if (key == "name") return read_name(field, out.name);
    if (key == "devices") return read_all(field, out.devices, kReportDevicesMax, read_devices);
    return {};
  });
}

Status read_pod_report(JsonValue& value, ReportedPod& out) {
  const Where where = value.where;
  STOWAGE_TRY_VOID(each_field(value, [&](std::string_view key, JsonValue& field) -> Status {
    if (key == "namespace") return read_name(field, out.ns);
    if (key == "name") return read_name(field, out.name);
    if (key == "containers") {
      return read_all(field, out.containers, kReportDevicesMax, read_container);
    }
    return {};
  }));
  if (out.ns.empty() || out.name.empty()) {
    return fail(where.text() + ": a pod needs a namespace and a name");
  }
  return {};
}

Status read_pods(JsonValue& value, ReportedPods& out) {
  return each_field(value, [&](std::string_view key, JsonValue& field) -> Status {
    if (key == "all") return read(field, out.all);
    if (key == "now") return read_all(field, out.now, kReportPodsMax, read_pod_report);
    if (key == "gone") return read_all(field, out.gone, kReportPodsMax, read_name);
    return {};
  });
}

}  // namespace

std::string agent_report(const AgentReport& report) {
  JsonWriter json(JsonWriter::Style::compact);
  json.begin_object();
  if (report.version != 0) json.key("version").value(report.version);
  put_text(json, "node", report.node);
  put_text(json, "agent", report.agent);
  if (report.cards) {
    json.key("cards").begin_array();
    for (const auto& card : *report.cards) put_card(json, card);
    json.end_array();
  }
  if (!report.load.empty()) {
    json.key("load").begin_array();
    for (const auto& load : report.load) put_load(json, load);
    json.end_array();
  }
  if (report.pods) {
    json.key("pods");
    put_pods(json, *report.pods);
  }
  json.end_object();
  return json.take() + '\n';
}

Result<AgentReport> AgentReportReader::read(std::string_view line) {
  AgentReport report;
  STOWAGE_TRY(fields, text_.open(line, kReportLineMax));
  STOWAGE_TRY_VOID(each_field(fields, [&](std::string_view key, JsonValue& value) -> Status {
    if (key == "version") return read_count(value, report.version);
    if (key == "node") return read_name(value, report.node);
    if (key == "agent") return read_name(value, report.agent);
    if (key == "cards") return read_cards(value, report.cards.emplace());
    if (key == "load") return read_all(value, report.load, kReportCardsMax, read_load);
    if (key == "pods") return read_pods(value, report.pods.emplace());
    return {};
  }));
  STOWAGE_TRY_VOID(text_.close());
  if (report.version > kReportVersion) {
    return fail(fmt::format("reports of version {} are not known here: this controller reads {}",
                            report.version, kReportVersion));
  }
  return report;
}

}  // namespace stowage::codec
