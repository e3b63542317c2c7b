#include "codec/agent_report.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/json_writer.h"
#include "codec/fields.h"

namespace stowage::codec {
namespace {

using base::JsonWriter;

constexpr std::size_t kNameMax = 512;
constexpr std::size_t kWordMax = 256;  // characters of a text that a card reports
constexpr std::int32_t kPermille = 1000;

// ---- encoding

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
  put_text(json, "sickness", card.unhealthy_reason);
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

void put_plugin(JsonWriter& json, const ReportedPlugin& plugin) {
  json.begin_object().key("registered").boolean(plugin.registered);
  json.key("resources").begin_array();
  for (const auto& resource : plugin.resources) json.value(resource);
  json.end_array().end_object();
}

// ---- decoding

// A short text is stored inline and needs no allocation.
std::size_t bytes_of_text(const std::string& text) {
  constexpr std::size_t kShort = 15;
  constexpr std::size_t kBlock = 16;  // overhead of an allocation
  return text.capacity() <= kShort ? 0 : text.capacity() + 1 + kBlock;
}

// Reads one report and counts its memory.
class ReportReading {
 public:
  explicit ReportReading(std::size_t bytes_max) : left_(bytes_max), bytes_max_(bytes_max) {}

  Status report(JsonFields& fields, AgentReport& out) {
    return each_field(fields, [&](std::string_view key, JsonValue& value) -> Status {
      if (key == "version") return count(value, out.version);
      if (key == "node") return text(value, out.node);
      if (key == "agent") return text(value, out.agent, kWordMax);
      if (key == "cards") return cards(value, out.cards.emplace());
      if (key == "load") return list(value, out.load, kReportCardsMax, &ReportReading::load);
      if (key == "pods") return pods(value, out.pods.emplace());
      if (key == "plugin") return plugin(value, out.plugin.emplace());
      return {};
    });
  }

 private:
  Status take(const JsonValue& value, std::size_t bytes) {
    if (bytes > left_) {
      return value.wrong(fmt::format("the report takes more than {} bytes of memory", bytes_max_));
    }
    left_ -= bytes;
    return {};
  }

  Status text(JsonValue& value, std::string& out, std::size_t max) {
    STOWAGE_TRY_VOID(read(value, out));
    if (out.size() > max) return value.wrong(fmt::format("longer than {} bytes", max));
    return take(value, bytes_of_text(out));
  }
  Status text(JsonValue& value, std::string& out) { return text(value, out, kNameMax); }

  static Status count(JsonValue& value, std::int32_t& out) {
    STOWAGE_TRY_VOID(read(value, out));
    if (out < 0) return value.wrong("expected a number of zero or more");
    return {};
  }
  static Status count(JsonValue& value, std::optional<std::int32_t>& out) {
    return count(value, out.emplace());
  }

  template <typename T>
  Status list(JsonValue& value, std::vector<T>& out, std::size_t max,
              Status (ReportReading::*read_one)(JsonValue&, T&)) {
    return each_element(value, [&](JsonValue& element) -> Status {
      if (out.size() == max) return element.wrong(fmt::format("more than {} of them", max));
      // A growing list reserves space for twice as many entries, and briefly keeps the old buffer
      // as well.
      STOWAGE_TRY_VOID(take(element, 2 * sizeof(T)));
      return (this->*read_one)(element, out.emplace_back());
    });
  }

  Status card(JsonValue& value, ReportedCard& out) {
    const Where where = value.where;
    STOWAGE_TRY_VOID(each_field(value, [&](std::string_view key, JsonValue& field) -> Status {
      if (key == "id") return text(field, out.id, kWordMax);
      if (key == "index") return count(field, out.index);
      if (key == "model") return text(field, out.model, kWordMax);
      if (key == "brand") return text(field, out.brand, kWordMax);
      if (key == "busId") return text(field, out.bus_id, kWordMax);
      if (key == "memoryMiB") return count(field, out.memory_mib);
      if (key == "healthy") return read(field, out.healthy);
      if (key == "sickness") return text(field, out.unhealthy_reason);
      return {};
    }));
    if (out.id.empty()) return fail(where.text() + ": the field id is missing");
    return {};
  }

  Status cards(JsonValue& value, std::vector<ReportedCard>& out) {
    STOWAGE_TRY_VOID(list(value, out, kReportCardsMax, &ReportReading::card));
    for (auto at = out.begin(); at != out.end(); ++at) {
      const bool twice = std::any_of(out.begin(), at, [&](const ReportedCard& other) {
        return other.id == at->id || other.index == at->index;
      });
      if (twice) {
        return fail(fmt::format("cards: {} or its index {} appears twice", at->id, at->index));
      }
    }
    return {};
  }

  Status load(JsonValue& value, ReportedLoad& out) {
    const Where where = value.where;
    bool named = false;
    STOWAGE_TRY_VOID(each_field(value, [&](std::string_view key, JsonValue& field) -> Status {
      if (key == "card") {
        named = true;
        return count(field, out.card);
      }
      if (key == "busyPermille") return count(field, out.busy_permille);
      if (key == "memoryMiB") return count(field, out.memory_mib);
      if (key == "powerMilliwatt") return count(field, out.power_milliwatt);
      if (key == "celsius") return read(field, out.celsius.emplace());
      return {};
    }));
    if (!named) return fail(where.text() + ": the field card is missing");
    if (out.busy_permille.value_or(0) > kPermille) {
      return fail(fmt::format("{}: busyPermille is over {}", where.text(), kPermille));
    }
    return {};
  }

  Status devices(JsonValue& value, ReportedDevices& out) {
    return each_field(value, [&](std::string_view key, JsonValue& field) -> Status {
      if (key == "resource") return text(field, out.resource);
      if (key == "ids") return list(field, out.ids, kReportDevicesMax, &ReportReading::text);
      return {};
    });
  }

  Status container(JsonValue& value, ReportedContainer& out) {
    return each_field(value, [&](std::string_view key, JsonValue& field) -> Status {
      if (key == "name") return text(field, out.name);
      if (key == "devices") {
        return list(field, out.devices, kReportDevicesMax, &ReportReading::devices);
      }
      return {};
    });
  }

  Status pod(JsonValue& value, ReportedPod& out) {
    const Where where = value.where;
    STOWAGE_TRY_VOID(each_field(value, [&](std::string_view key, JsonValue& field) -> Status {
      if (key == "namespace") return text(field, out.ns);
      if (key == "name") return text(field, out.name);
      if (key == "containers") {
        return list(field, out.containers, kReportDevicesMax, &ReportReading::container);
      }
      return {};
    }));
    if (out.ns.empty() || out.name.empty()) {
      return fail(where.text() + ": a pod needs a namespace and a name");
    }
    return {};
  }

  Status pods(JsonValue& value, ReportedPods& out) {
    return each_field(value, [&](std::string_view key, JsonValue& field) -> Status {
      if (key == "all") return read(field, out.all);
      if (key == "now") return list(field, out.now, kReportPodsMax, &ReportReading::pod);
      if (key == "gone") return list(field, out.gone, kReportPodsMax, &ReportReading::text);
      return {};
    });
  }

  Status plugin(JsonValue& value, ReportedPlugin& out) {
    const Where where = value.where;
    bool told = false;
    STOWAGE_TRY_VOID(each_field(value, [&](std::string_view key, JsonValue& field) -> Status {
      if (key == "registered") {
        told = true;
        return read(field, out.registered);
      }
      if (key == "resources") {
        return list(field, out.resources, kReportResourcesMax, &ReportReading::text);
      }
      return {};
    }));
    if (!told) return fail(where.text() + ": the field registered is missing");
    return {};
  }

  std::size_t left_;
  std::size_t bytes_max_;
};

template <typename T>
std::size_t bytes_of_list(const std::vector<T>& list) {
  constexpr std::size_t kBlock = 16;
  return list.capacity() == 0 ? 0 : list.capacity() * sizeof(T) + kBlock;
}

}  // namespace

std::size_t bytes_of(const ReportedPod& pod) {
  std::size_t bytes =
      sizeof(pod) + bytes_of_text(pod.ns) + bytes_of_text(pod.name) + bytes_of_list(pod.containers);
  for (const ReportedContainer& container : pod.containers) {
    bytes += bytes_of_text(container.name) + bytes_of_list(container.devices);
    for (const ReportedDevices& devices : container.devices) {
      bytes += bytes_of_text(devices.resource) + bytes_of_list(devices.ids);
      for (const std::string& id : devices.ids) bytes += bytes_of_text(id);
    }
  }
  return bytes;
}

std::size_t bytes_of(const ReportedCard& card) {
  return sizeof(card) + bytes_of_text(card.id) + bytes_of_text(card.model) +
         bytes_of_text(card.brand) + bytes_of_text(card.bus_id) +
         bytes_of_text(card.unhealthy_reason);
}

std::size_t bytes_of(const ReportedPlugin& plugin) {
  std::size_t bytes = sizeof(plugin) + bytes_of_list(plugin.resources);
  for (const std::string& resource : plugin.resources) bytes += bytes_of_text(resource);
  return bytes;
}

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
  if (report.plugin) {
    json.key("plugin");
    put_plugin(json, *report.plugin);
  }
  json.end_object();
  return json.take() + '\n';
}

Result<AgentReport> AgentReportReader::read(std::string_view line) {
  AgentReport report;
  STOWAGE_TRY(fields, text_.open(line, kReportLineMax));
  STOWAGE_TRY_VOID(ReportReading(bytes_max_).report(fields, report));
  STOWAGE_TRY_VOID(text_.close());
  if (report.version > kReportVersion) {
    return fail(fmt::format("report version {} is not supported: this controller reads version {}",
                            report.version, kReportVersion));
  }
  return report;
}

}  // namespace stowage::codec
