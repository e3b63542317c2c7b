#include <utility>

#include <fmt/core.h>

#include "local/events_convert.h"
#include "local/problems.h"
#include "local/render.h"
#include "local/rest.h"

namespace stowage::local {
namespace {

std::optional<PatchType> patch_type(std::string_view content_type) {
  if (content_type == "application/json-patch+json") return PatchType::json;
  if (content_type == "application/merge-patch+json") return PatchType::merge;
  if (content_type == "application/strategic-merge-patch+json") return PatchType::strategic;
  if (content_type == "application/apply-patch+yaml") return PatchType::apply;
  return std::nullopt;
}

// The body must state its type, and that must match the path.
ApiResult<void> check_type(const Call& call, const json::object& body) {
  const std::string_view kind = text_at(body, "kind");
  const std::string_view version = text_at(body, "apiVersion");
  const std::string_view wanted_version = call.second_form ? std::string_view("events.k8s.io/v1")
                                                           : api_version_of(call.resource->kind_id);
  if (kind.empty()) return refuse(bad_request("Object 'Kind' is missing in the body"));
  if (version.empty()) return refuse(bad_request("Object 'apiVersion' is missing in the body"));
  if (kind != call.resource->kind || version != wanted_version) {
    return refuse(
        bad_request(fmt::format("the object provided is unrecognized (must be of type "
                                "{} in {}, is {} in {})",
                                call.resource->kind, wanted_version, kind, version)));
  }
  return {};
}

// The text without characters that a Warning header cannot contain.
std::string quotable(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    const auto byte = static_cast<unsigned char>(c);
    out += byte >= 0x20 && byte != 0x7f ? c : ' ';
  }
  return out;
}

// The patch as JSON; events of events.k8s.io are converted to the core form.
ApiResult<json::value> read_patch(const Call& call, PatchType type) {
  auto parsed = parse_json(call.body);
  if (!parsed) {
    const std::string_view yaml = type == PatchType::apply ? " (YAML is not supported)" : "";
    return refuse(bad_request(fmt::format("{}{}", parsed.error().message, yaml)));
  }
  if (call.second_form && type != PatchType::json && parsed->is_object()) {
    event_to_core(parsed->get_object());
  }
  return std::move(*parsed);
}

}  // namespace

Rest::Answer Rest::written(const Call& call, const ApiResult<ObjectPtr>& object, int status,
                           const std::vector<std::string>& warnings) {
  if (!object) return refuse(object.error());
  net::HttpResponse response =
      json_response(status, render_object(**object, shape_of(call), api_.store().now()));
  for (const std::string& warning : warnings) {
    response.headers.emplace_back("Warning", fmt::format("299 - \"{}\"", quotable(warning)));
  }
  return response;
}

Rest::Answer Rest::create(const Call& call) {
  std::vector<std::string> warnings;
  STOWAGE_TRY(options, write_options(call));
  options.warnings = &warnings;
  STOWAGE_TRY(body, read_body(call, api_.schema(), Body::required));
  STOWAGE_TRY_VOID(check_type(call, body));
  if (call.resource->kind_id == Kind::event) {
    Problems problems;
    if (call.second_form) {
      event_to_core(body);
      validate_new_event(body, problems);
    }
    const std::string_view about = text_at(body, "involvedObject.namespace");
    if (!about.empty() && about != call.ns) {
      problems.invalid("involvedObject.namespace", fmt::format("\"{}\"", about),
                       "does not match event.namespace");
    }
    if (!problems.empty()) {
      return refuse(invalid(*call.resource, text_at(body, "metadata.name"), problems.take()));
    }
  }
  const auto made = api_.create(call.resource->kind_id, call.ns, std::move(body), options);
  return written(call, made, 201, warnings);
}

Rest::Answer Rest::replace(const Call& call, Part part) {
  std::vector<std::string> warnings;
  STOWAGE_TRY(options, write_options(call));
  options.warnings = &warnings;
  STOWAGE_TRY(body, read_body(call, api_.schema(), Body::required));
  STOWAGE_TRY_VOID(check_type(call, body));
  if (call.second_form) event_to_core(body);
  const auto made =
      api_.replace(call.resource->kind_id, call.object(), part, std::move(body), options);
  return written(call, made, 200, warnings);
}

Rest::Answer Rest::patch(const Call& call, Part part) {
  const auto type = patch_type(call.content_type);
  if (!type) {
    ApiError error;
    error.code = 415;
    error.reason = "UnsupportedMediaType";
    error.message = fmt::format(
        "the body of the request was in an unknown format ({}) - accepted media types include: "
        "application/json-patch+json, application/merge-patch+json, "
        "application/strategic-merge-patch+json, application/apply-patch+yaml",
        call.content_type);
    return refuse(std::move(error));
  }
  std::vector<std::string> warnings;
  STOWAGE_TRY(options, write_options(call));
  options.warnings = &warnings;
  if (call.target.query_value("fieldValidation").empty()) {
    options.validation = FieldValidation::ignore;
  }
  STOWAGE_TRY(body, read_patch(call, *type));
  if (*type == PatchType::apply) {
    if (!body.is_object()) return refuse(bad_request("the body is not a JSON object"));
    if (call.target.query_value("fieldManager").empty()) {
      return refuse(bad_request("fieldManager: Required value: is required for apply patch"));
    }
    if (!call.second_form) {
      STOWAGE_TRY_VOID(check_type(call, body.get_object()));
    }
  }
  options.manager = call.target.query_value("fieldManager");
  const Kind kind = call.resource->kind_id;
  const bool fresh = api_.store().get(kind, call.object()) == nullptr;
  const auto made = api_.patch(kind, call.object(), part, *type, body, options);
  return written(call, made, fresh ? 201 : 200, warnings);
}

Rest::Answer Rest::remove(const Call& call) {
  STOWAGE_TRY(options, delete_options(call, api_.schema()));
  const Kind kind = call.resource->kind_id;
  STOWAGE_TRY(removal, api_.remove(kind, call.object(), options));
  if (!removal.gone || kind == Kind::pod || kind == Kind::ns) {
    return json_response(200, render_object(*removal.object, shape_of(call), api_.store().now()));
  }
  const json::object status{{"kind", "Status"},
                            {"apiVersion", "v1"},
                            {"metadata", json::object()},
                            {"status", "Success"},
                            {"details",
                             {{"name", call.name},
                              {"group", call.resource->group},
                              {"kind", call.resource->plural},
                              {"uid", removal.object->uid}}}};
  return json_response(200, json::serialize(status));
}

Rest::Answer Rest::remove_all(const Call& call) {
  if (call.resource->namespaced && call.ns.empty()) return refuse(method_not_allowed());
  STOWAGE_TRY(options, delete_options(call, api_.schema()));
  ListQuery query;
  STOWAGE_TRY_ASSIGN(query.filter, filter_of(call));
  const Kind kind = call.resource->kind_id;
  STOWAGE_TRY(page, api_.store().list(kind, query));
  for (const ObjectPtr& object : page.items) {
    // An object that was deleted with its owner meanwhile counts as deleted.
    const auto removal = api_.remove(kind, object->name, options);
    if (!removal && removal.error().code != 404) return refuse(removal.error());
  }
  return json_response(200, render_list(kind, page, {}, shape_of(call), api_.store().now()));
}

}  // namespace stowage::local
