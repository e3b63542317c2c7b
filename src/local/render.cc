#include "local/render.h"

#include <utility>

#include "local/events_convert.h"
#include "local/table.h"

namespace stowage::local {
namespace {

void append_as(std::string& out, const StoredObject& object, const Shape& shape) {
  if (shape.form == Form::metadata) {
    json::monotonic_resource arena(object.bytes.size() * 8);
    const json::object tree = object.tree(&arena);
    out += "{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":";
    append_json(out, tree.at("metadata"));
    out += '}';
    return;
  }
  if (shape.second_form) {
    json::object tree = object.tree();
    event_from_core(tree);
    append_json(out, json::value(std::move(tree)));
    return;
  }
  out += object.bytes;
}

void append_version(std::string& out, std::uint64_t version) {
  out += "\"resourceVersion\":\"";
  out += std::to_string(version);
  out += '"';
}

void append_table_head(std::string& out, Kind kind, std::uint64_t version, Columns columns) {
  out += "{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":{";
  append_version(out, version);
  out += "},";
  if (columns == Columns::with) {
    append_columns(out, kind);
  } else {
    out += "\"columnDefinitions\":null";
  }
  out += ",\"rows\":[";
}

void append_table(std::string& out, const StoredObject& object, const Shape& shape, Columns columns,
                  WallTime now) {
  append_table_head(out, object.kind, object.version, columns);
  append_row(out, object, shape.rows, now);
  out += "]}";
}

json::object status_of(const ApiError& error) {
  json::object details;
  if (!error.name.empty()) details["name"] = error.name;
  if (!error.group.empty()) details["group"] = error.group;
  if (!error.kind.empty()) details["kind"] = error.kind;
  if (!error.causes.empty()) {
    json::array causes;
    for (const ErrorCause& cause : error.causes) {
      json::object one{{"reason", cause.reason}, {"message", cause.message}};
      if (!cause.field.empty()) one["field"] = cause.field;
      causes.push_back(std::move(one));
    }
    details["causes"] = std::move(causes);
  }
  if (error.retry_after_seconds > 0) details["retryAfterSeconds"] = error.retry_after_seconds;
  json::object metadata;
  if (!error.resume_at.empty()) metadata["continue"] = error.resume_at;
  json::object status{
      {"kind", "Status"},    {"apiVersion", "v1"},       {"metadata", std::move(metadata)},
      {"status", "Failure"}, {"message", error.message}, {"reason", error.reason}};
  if (!details.empty()) status["details"] = std::move(details);
  status["code"] = error.code;
  return status;
}

std::string_view change_name(Change change) {
  switch (change) {
    case Change::added: return "ADDED";
    case Change::modified: return "MODIFIED";
    case Change::deleted: break;
  }
  return "DELETED";
}

}  // namespace

Shape shape_of(const Call& call) { return {call.form, call.second_form, row_object(call)}; }

std::string render_error(const ApiError& error) { return json::serialize(status_of(error)); }

std::string render_object(const StoredObject& object, const Shape& shape, WallTime now) {
  std::string out;
  if (shape.form == Form::table) {
    append_table(out, object, shape, Columns::with, now);
  } else {
    append_as(out, object, shape);
  }
  return out;
}

std::string render_list(Kind kind, const ListPage& page, std::string_view resume_at,
                        const Shape& shape, WallTime now) {
  std::string out;
  std::size_t size = 1024;
  for (const ObjectPtr& object : page.items) size += object->bytes.size() + 1;
  out.reserve(shape.form == Form::object ? size : 0);
  const Resource& resource = resource_of(kind);
  const bool table = shape.form == Form::table;
  if (table) {
    out += "{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/v1\"";
  } else if (shape.form == Form::metadata) {
    out += "{\"kind\":\"PartialObjectMetadataList\",\"apiVersion\":\"meta.k8s.io/v1\"";
  } else {
    out += "{\"kind\":\"";
    out += resource.kind;
    out += "List\",\"apiVersion\":\"";
    out += shape.second_form ? std::string_view("events.k8s.io/v1") : api_version_of(kind);
    out += '"';
  }
  out += ",\"metadata\":{";
  append_version(out, page.version);
  if (!resume_at.empty()) {
    out += ",\"continue\":";
    append_json_string(out, resume_at);
    if (page.remaining > 0) {
      out += ",\"remainingItemCount\":";
      out += std::to_string(page.remaining);
    }
  }
  out += "},";
  if (table) {
    append_columns(out, kind);
    out += ',';
  }
  out += table ? "\"rows\":[" : "\"items\":[";
  bool first = true;
  for (const ObjectPtr& object : page.items) {
    if (!first) out += ',';
    first = false;
    if (table) {
      append_row(out, *object, shape.rows, now);
    } else {
      append_as(out, *object, shape);
    }
  }
  out += "]}";
  return out;
}

void append_watch_line(std::string& out, const WatchEvent& event, const Shape& shape,
                       Columns columns, WallTime now) {
  out += "{\"type\":\"";
  out += change_name(event.change);
  out += "\",\"object\":";
  if (shape.form == Form::table) {
    append_table(out, *event.object, shape, columns, now);
  } else {
    append_as(out, *event.object, shape);
  }
  out += "}\n";
}

void append_bookmark(std::string& out, Kind kind, std::uint64_t version, const Shape& shape,
                     bool initial_end) {
  out += "{\"type\":\"BOOKMARK\",\"object\":";
  if (shape.form == Form::table) {
    append_table_head(out, kind, version, Columns::without);
    out += "]}}\n";
    return;
  }
  out += "{\"kind\":\"";
  const bool partial = shape.form == Form::metadata;
  out += partial ? std::string_view("PartialObjectMetadata") : resource_of(kind).kind;
  out += "\",\"apiVersion\":\"";
  out += partial             ? std::string_view("meta.k8s.io/v1")
         : shape.second_form ? std::string_view("events.k8s.io/v1")
                             : api_version_of(kind);
  out += "\",\"metadata\":{";
  append_version(out, version);
  out += ",\"creationTimestamp\":null";
  if (initial_end) out += ",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}";
  out += "}}}\n";
}

void append_watch_error(std::string& out, const ApiError& error) {
  out += "{\"type\":\"ERROR\",\"object\":";
  out += render_error(error);
  out += "}\n";
}

net::HttpResponse json_response(int status, std::string body) {
  net::HttpResponse response;
  response.status = status;
  response.headers.emplace_back("Content-Type", "application/json");
  response.body = std::move(body);
  return response;
}

net::HttpResponse error_response(const ApiError& error) {
  net::HttpResponse response = json_response(error.code, render_error(error));
  if (error.retry_after_seconds > 0) {
    response.headers.emplace_back("Retry-After", std::to_string(error.retry_after_seconds));
  }
  return response;
}

}  // namespace stowage::local
