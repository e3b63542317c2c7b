#include "local/rest.h"

#include <utility>

#include <fmt/core.h>

#include "base/base64.h"
#include "local/openapi.h"
#include "local/render.h"

namespace stowage::local {
namespace {

ApiError too_large_version(std::uint64_t asked, std::uint64_t newest) {
  ApiError error;
  error.code = 504;
  error.reason = "Timeout";
  error.message =
      fmt::format("Timeout: Too large resource version: {}, current: {}", asked, newest);
  error.causes.push_back({"ResourceVersionTooLarge", "Too large resource version", ""});
  error.retry_after_seconds = 1;
  return error;
}

// The minimal version that the caller must see, or with match Exact the version it wants.
ApiResult<void> read_version(const Call& call, const Store& store, ListQuery& query) {
  STOWAGE_TRY(version, number_param(call, "resourceVersion"));
  const std::string_view match = call.target.query_value("resourceVersionMatch");
  if (!match.empty() && match != "Exact" && match != "NotOlderThan") {
    return refuse(
        bad_request(fmt::format("resourceVersionMatch: Unsupported value: \"{}\": "
                                "supported values: \"Exact\", \"NotOlderThan\"",
                                match)));
  }
  if (!match.empty() && call.target.query_value("resourceVersion").empty()) {
    return refuse(
        bad_request("resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden "
                    "unless resourceVersion is provided"));
  }
  if (version > store.version()) return refuse(too_large_version(version, store.version()));
  if (match == "Exact") {
    if (version == 0) {
      return refuse(
          bad_request("resourceVersionMatch: Forbidden: resourceVersionMatch \"Exact\" "
                      "is forbidden for resourceVersion \"0\""));
    }
    query.at_version = version;
  }
  return {};
}

// Version 0 means the state at the time of the next page.
std::string token_of(std::uint64_t version, const ObjectName& last) {
  return base::base64_encode(json::serialize(
      json::object{{"v", std::to_string(version)}, {"ns", last.ns}, {"name", last.name}}));
}

net::HttpResponse text_response(int status, std::string body) {
  net::HttpResponse response;
  response.status = status;
  response.headers.emplace_back("Content-Type", "text/plain; charset=utf-8");
  response.body = std::move(body);
  return response;
}

}  // namespace

std::string continue_token(const ListPage& page) {
  if (!page.more || page.items.empty()) return {};
  const ObjectName& last = page.items.back()->name;
  return base::base64_encode(json::serialize(
      json::object{{"v", std::to_string(page.version)}, {"ns", last.ns}, {"name", last.name}}));
}

ApiResult<void> read_continue_token(std::string_view token, ListQuery& query) {
  const auto bad = [] { return refuse(bad_request("continue key is not valid")); };
  const auto text = base::base64_decode(token, base::Base64Blanks::refuse);
  if (!text) return bad();
  const auto parsed = parse_json(*text);
  if (!parsed || !parsed->is_object()) return bad();
  const json::object& fields = parsed->get_object();
  const std::string_view version = text_at(fields, "v");
  if (version.empty() || version.size() > 19 ||
      version.find_first_not_of("0123456789") != std::string_view::npos) {
    return bad();
  }
  query.at_version = std::stoull(std::string(version));
  query.after = {std::string(text_at(fields, "ns")), std::string(text_at(fields, "name"))};
  return {};
}

net::HttpResponse Rest::answer(const net::HttpRequest& request) {
  const std::string_view path =
      std::string_view(request.target).substr(0, request.target.find('?'));
  if (auto document_answer = document(request, path)) return std::move(*document_answer);
  const auto call = parse_call(request);
  if (!call) return error_response(call.error());
  return answer(*call);
}

net::HttpResponse Rest::answer(const Call& call) {
  auto result = call.subresource.empty() ? route(call) : route_subresource(call);
  if (!result) return error_response(result.error());
  return std::move(*result);
}

// Documents that are not objects. An error means that the path is not one of them.
Rest::Answer Rest::document(const net::HttpRequest& request, std::string_view path) {
  if (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  if (path == "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews" ||
      path == "/apis/authorization.k8s.io/v1/subjectaccessreviews") {
    if (request.method != "POST") return error_response(method_not_allowed());
    return access_review(request);
  }
  if (path == "/apis/authentication.k8s.io/v1/tokenreviews") {
    if (request.method != "POST") return error_response(method_not_allowed());
    return token_review(request);
  }
  if (request.method != "GET" && request.method != "HEAD") return refuse(unknown_resource());
  if (path == "/healthz" || path == "/livez" || path == "/readyz") return text_response(200, "ok");
  if (path == "/version") return json_response(200, version_document(version_));
  if (path == "/openapi/v3") return json_response(200, openapi_index());
  constexpr std::string_view kOpenapi = "/openapi/v3/";
  if (path.starts_with(kOpenapi)) {
    const std::string_view group = path.substr(kOpenapi.size());
    auto made = openapi_.find(group);
    if (made == openapi_.end()) {
      auto text = openapi_document(api_.schema(), group);
      if (!text) return error_response(unknown_resource());
      made = openapi_.emplace(group, std::move(*text)).first;
    }
    return json_response(200, made->second);
  }
  if (auto found = discovery_document(path)) return json_response(200, std::move(*found));
  return refuse(unknown_resource());
}

Rest::Answer Rest::route(const Call& call) {
  const std::string_view method = call.method;
  if (call.name.empty()) {
    if (method == "GET" || method == "HEAD") return list(call);
    if (method == "POST") {
      if (call.resource->namespaced && call.ns.empty()) return refuse(method_not_allowed());
      return create(call);
    }
    if (method == "DELETE") return remove_all(call);
    return refuse(method_not_allowed());
  }
  if (method == "GET" || method == "HEAD") return get(call);
  if (method == "PUT") return replace(call, Part::main);
  if (method == "PATCH") return patch(call, Part::main);
  if (method == "DELETE") return remove(call);
  return refuse(method_not_allowed());
}

Rest::Answer Rest::route_subresource(const Call& call) {
  const std::string_view method = call.method;
  const bool read = method == "GET" || method == "HEAD";
  if (call.subresource == "status") {
    if (read) return get(call);
    if (method == "PUT") return replace(call, Part::status);
    if (method == "PATCH") return patch(call, Part::status);
  } else if (call.subresource == "scale") {
    if (read) return get_scale(call);
    if (method == "PUT") return replace_scale(call);
    if (method == "PATCH") return patch_scale(call);
  } else if (method == "POST") {
    if (call.subresource == "binding") return bind(call);
    if (call.subresource == "eviction") return evict(call);
  }
  return refuse(method_not_allowed());
}

Rest::Answer Rest::get(const Call& call) {
  ListQuery ignored;
  STOWAGE_TRY_VOID(read_version(call, api_.store(), ignored));
  const ObjectPtr object = api_.store().get(call.resource->kind_id, call.object());
  if (object == nullptr) return refuse(not_found(*call.resource, call.name));
  return json_response(200, render_object(*object, shape_of(call), api_.store().now()));
}

Rest::Answer Rest::list(const Call& call) {
  ListQuery query;
  STOWAGE_TRY_ASSIGN(query.filter, filter_of(call));
  STOWAGE_TRY(limit, number_param(call, "limit"));
  query.limit = static_cast<std::size_t>(limit);
  const std::string_view token = call.target.query_value("continue");
  if (token.empty()) {
    STOWAGE_TRY_VOID(read_version(call, api_.store(), query));
    // Reads that accept any state come from the API's cache, which has no pages.
    if (call.target.query_value("resourceVersion") == "0") query.limit = 0;
  } else {
    STOWAGE_TRY_VOID(read_continue_token(token, query));
  }
  auto page = api_.store().list(call.resource->kind_id, query);
  if (!page) {
    ApiError error = std::move(page.error());
    // Clients that accept pages of different states can continue with this.
    if (query.after) error.resume_at = token_of(0, *query.after);
    return refuse(std::move(error));
  }
  return json_response(200, render_list(call.resource->kind_id, *page, continue_token(*page),
                                        shape_of(call), api_.store().now()));
}

}  // namespace stowage::local
