#include "metricsapi/render.h"

#include <fmt/format.h>

#include "base/json_writer.h"

namespace stowage::metricsapi {
namespace {

using base::JsonWriter;

void begin_table(JsonWriter& json, const Shape& shape, std::uint64_t version, Columns columns) {
  json.begin_object();
  json.key("kind").value("Table").key("apiVersion").value("meta.k8s.io/v1");
  put_metadata(json, {}, version);
  if (columns == Columns::with) {
    put_columns(json, shape.resource);
  } else {
    json.key("columnDefinitions").null();
  }
  json.key("rows").begin_array();
}

void end_list(JsonWriter& json) { json.end_array().end_object(); }

void put_shaped(JsonWriter& json, const ApiObject& object, const Shape& shape, Columns columns,
                const Now& now) {
  if (shape.form == Form::object) return put_object(json, object, shape.style);
  begin_table(json, shape, version_of(object), columns);
  put_row(json, object, shape.rows, now);
  end_list(json);
}

std::string_view change_word(Change change, Style style) {
  if (change == Change::deleted) return "DELETED";
  if (style == Style::original) return "SYNCED";
  return change == Change::added ? "ADDED" : "MODIFIED";
}

}  // namespace

std::string render_one(const ApiObject& object, const Shape& shape, const Now& now) {
  JsonWriter json(JsonWriter::Style::compact);
  put_shaped(json, object, shape, Columns::with, now);
  return json.take();
}

std::string render_list(const WatchCache& watch_cache, const Shape& shape,
                        const Selector& selector) {
  JsonWriter json(JsonWriter::Style::compact);
  const Now now = watch_cache.now();
  if (shape.form == Form::table) {
    begin_table(json, shape, watch_cache.version(), Columns::with);
  } else {
    const bool original = shape.style == Style::original;
    json.begin_object();
    json.key("kind").value(original ? std::string("List")
                                    : fmt::format("{}List", kind_of(shape.resource)));
    json.key("apiVersion").value(original ? std::string_view("v1") : kGroupVersion);
    put_metadata(json, {}, watch_cache.version());
    json.key("items").begin_array();
  }
  for (const WatchCache::Entry* entry : watch_cache.all(shape.resource)) {
    if (!selector.matches(entry->name)) continue;
    const ApiObject object = watch_cache.object(shape.resource, *entry, now);
    if (shape.form == Form::table) {
      put_row(json, object, shape.rows, now);
    } else {
      put_object(json, object, shape.style);
    }
  }
  end_list(json);
  return json.take();
}

std::string watch_line(Change change, const ApiObject& object, const Shape& shape, Columns columns,
                       const Now& now) {
  const bool original = shape.style == Style::original;
  JsonWriter json(JsonWriter::Style::compact);
  json.begin_object();
  json.key(original ? "Type" : "type").value(change_word(change, shape.style));
  json.key(original ? "Object" : "object");
  put_shaped(json, object, shape, columns, now);
  json.end_object();
  return json.take() + '\n';
}

std::string bookmark_line(std::uint64_t version, const Shape& shape, bool initial_end) {
  JsonWriter json(JsonWriter::Style::compact);
  json.begin_object();
  json.key("type").value("BOOKMARK").key("object");
  if (shape.form == Form::table) {
    begin_table(json, shape, version, Columns::without);
    end_list(json);
  } else {
    json.begin_object();
    json.key("kind").value(kind_of(shape.resource)).key("apiVersion").value(kGroupVersion);
    json.key("metadata").begin_object();
    json.key("resourceVersion").value(std::to_string(version));
    json.key("creationTimestamp").null();
    if (initial_end) {
      json.key("annotations").begin_object();
      json.key("k8s.io/initial-events-end").value("true").end_object();
    }
    json.end_object().end_object();
  }
  json.end_object();
  return json.take() + '\n';
}

std::string error_line(const ApiError& error) {
  return fmt::format("{{\"type\":\"ERROR\",\"object\":{}}}\n", status_json(error));
}

}  // namespace stowage::metricsapi
