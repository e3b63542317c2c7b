#include <utility>

#include <fmt/core.h>

#include "base/check.h"
#include "local/conform.h"
#include "local/patch.h"
#include "local/protobuf.h"
#include "local/render.h"
#include "local/rest.h"
#include "local/selectors.h"

namespace stowage::local {
namespace {

net::HttpResponse success(int code) {
  return json_response(code, json::serialize(json::object{{"kind", "Status"},
                                                          {"apiVersion", "v1"},
                                                          {"metadata", json::object()},
                                                          {"status", "Success"},
                                                          {"code", code}}));
}

ApiResult<json::object> read_review(const net::HttpRequest& request, const Schema& schema) {
  Call call;
  call.body = request.body;
  const std::string_view type = net::find_header(request.headers, "Content-Type");
  call.content_type = type.substr(0, type.find_first_of("; "));
  return read_body(call, schema, Body::required);
}

json::object scale_of(const StoredObject& object) {
  const json::object tree = object.tree();
  json::object metadata{{"name", object.name.name},
                        {"namespace", object.name.ns},
                        {"uid", object.uid},
                        {"resourceVersion", std::to_string(object.version)},
                        {"creationTimestamp", text_at(tree, "metadata.creationTimestamp")}};
  json::object status{{"replicas", int_at(tree, "status.replicas").value_or(0)}};
  if (const json::object* selector = object_at(tree, "spec.selector")) {
    const auto read = selector_of(*selector);
    if (read && !read->all.empty()) status["selector"] = selector_text(*read);
  }
  return {{"kind", "Scale"},
          {"apiVersion", "autoscaling/v1"},
          {"metadata", std::move(metadata)},
          {"spec", {{"replicas", int_at(tree, "spec.replicas").value_or(0)}}},
          {"status", std::move(status)}};
}

// A body of a kind that is not stored.
ApiResult<json::object> typed_body(const Call& call, const Schema& schema, std::string_view kind) {
  STOWAGE_TRY(body, read_body(call, schema, Body::required));
  const Message* message = schema.message(kind);
  STOWAGE_CHECK(message != nullptr);
  const Findings findings = conform(body, *message);
  if (!findings.error.empty()) {
    return refuse(bad_request(fmt::format("{} in version \"v1\" cannot be handled as a {}: {}",
                                          kind, kind, findings.error)));
  }
  return body;
}

}  // namespace

Rest::Answer Rest::bind(const Call& call) {
  STOWAGE_TRY(options, write_options(call));
  STOWAGE_TRY(body, typed_body(call, api_.schema(), "Binding"));
  BindRequest request;
  const std::string_view named = text_at(body, "metadata.name");
  request.pod = {call.ns, call.name.empty() ? std::string(named) : call.name};
  if (!named.empty() && named != request.pod.name) {
    return refuse(bad_request("name in URL does not match name in Binding object"));
  }
  const std::string_view ns = text_at(body, "metadata.namespace");
  if (!ns.empty() && ns != call.ns) {
    return refuse(
        bad_request("the namespace of the provided object does not match the namespace "
                    "sent on the request"));
  }
  const std::string_view kind = text_at(body, "target.kind");
  if (!kind.empty() && kind != "Node") {
    return refuse(
        bad_request(fmt::format("target.kind: Unsupported value: \"{}\": supported "
                                "values: \"Node\", \"<empty>\"",
                                kind)));
  }
  request.node = text_at(body, "target.name");
  request.preconditions.uid = text_at(body, "metadata.uid");
  request.preconditions.resource_version = text_at(body, "metadata.resourceVersion");
  if (const json::object* annotations = object_at(body, "metadata.annotations")) {
    for (const auto& one : *annotations) {
      request.annotations.emplace_back(one.key(), text_of(one.value()));
    }
  }
  const auto bound = api_.bind(request, options);
  if (!bound) return refuse(bound.error());
  return success(201);
}

Rest::Answer Rest::evict(const Call& call) {
  STOWAGE_TRY(write, write_options(call));
  STOWAGE_TRY(body, typed_body(call, api_.schema(), "Eviction"));
  const std::string_view named = text_at(body, "metadata.name");
  if (!named.empty() && named != call.name) {
    return refuse(bad_request("name in URL does not match name in Eviction object"));
  }
  DeleteOptions options;
  options.dry_run = write.dry_run;
  if (const json::object* given = object_at(body, "deleteOptions")) {
    read_delete_options(*given, options);
  }
  const auto removal = api_.evict(call.object(), options);
  if (!removal) return refuse(removal.error());
  return success(201);
}

Rest::Answer Rest::get_scale(const Call& call) {
  const ObjectPtr object = api_.store().get(call.resource->kind_id, call.object());
  if (object == nullptr) return refuse(not_found(*call.resource, call.name));
  return json_response(200, json::serialize(scale_of(*object)));
}

Rest::Answer Rest::replace_scale(const Call& call) {
  STOWAGE_TRY(options, write_options(call));
  STOWAGE_TRY(body, typed_body(call, api_.schema(), "Scale"));
  const Preconditions preconditions{std::string(text_at(body, "metadata.uid")),
                                    std::string(text_at(body, "metadata.resourceVersion"))};
  const std::int64_t replicas = int_at(body, "spec.replicas").value_or(0);
  STOWAGE_TRY(object, api_.set_scale(call.resource->kind_id, call.object(), replicas, preconditions,
                                     options));
  return json_response(200, json::serialize(scale_of(*object)));
}

Rest::Answer Rest::patch_scale(const Call& call) {
  STOWAGE_TRY(options, write_options(call));
  const Kind kind = call.resource->kind_id;
  const ObjectPtr object = api_.store().get(kind, call.object());
  if (object == nullptr) return refuse(not_found(*call.resource, call.name));
  auto patch = parse_json(call.body);
  if (!patch) return refuse(bad_request(patch.error().message));
  json::value scale = scale_of(*object);
  if (call.content_type == "application/json-patch+json") {
    STOWAGE_TRY_VOID(json_patch(scale, *patch));
  } else {
    merge_patch(scale, *patch);
  }
  const json::object* after = scale.if_object();
  const auto replicas = after == nullptr ? std::nullopt : int_at(*after, "spec.replicas");
  if (!replicas) return refuse(bad_request("the patch leaves no integer in spec.replicas"));
  const Preconditions preconditions{std::string(text_at(*after, "metadata.uid")),
                                    std::string(text_at(*after, "metadata.resourceVersion"))};
  STOWAGE_TRY(scaled, api_.set_scale(kind, call.object(), *replicas, preconditions, options));
  return json_response(200, json::serialize(scale_of(*scaled)));
}

// Every user may do everything in a local cluster.
Rest::Answer Rest::access_review(const net::HttpRequest& request) {
  auto body = read_review(request, api_.schema());
  if (!body) return error_response(body.error());
  (*body)["status"] = json::object{{"allowed", true}};
  return json_response(201, json::serialize(*body));
}

// A token is accepted as a user name; "user@node" is a user in a pod on that node.
Rest::Answer Rest::token_review(const net::HttpRequest& request) {
  auto body = read_review(request, api_.schema());
  if (!body) return error_response(body.error());
  const std::string_view token = text_at(*body, "spec.token");
  const std::size_t sign = token.rfind('@');
  json::object user{{"username", token.substr(0, sign)},
                    {"groups", json::array{"system:authenticated"}}};
  if (sign != std::string_view::npos) {
    user["extra"] = json::object{
        {"authentication.kubernetes.io/node-name", json::array{token.substr(sign + 1)}}};
  }
  json::object status{{"authenticated", !token.empty()}, {"user", std::move(user)}};
  if (const json::value* audiences = find_at(*body, "spec.audiences")) {
    status["audiences"] = *audiences;
  }
  (*body)["status"] = std::move(status);
  return json_response(201, json::serialize(*body));
}

}  // namespace stowage::local
