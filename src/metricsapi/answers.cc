#include "metricsapi/answers.h"

#include <utility>

#include <fmt/format.h>

#include "base/json_writer.h"

namespace stowage::metricsapi {
namespace {

using base::JsonWriter;

constexpr std::size_t kShownMax = 128;  // limit for quoted input

void put_group(JsonWriter& json) {
  const auto version = [&] {
    json.begin_object();
    json.key("groupVersion").value(kGroupVersion).key("version").value(kVersion);
    json.end_object();
  };
  json.key("name").value(kGroup);
  json.key("versions").begin_array();
  version();
  json.end_array();
  json.key("preferredVersion");
  version();
}

void put_resource(JsonWriter& json, Resource resource, std::string_view singular,
                  std::string_view short_name) {
  json.begin_object();
  json.key("name").value(plural(resource)).key("singularName").value(singular);
  json.key("namespaced").boolean(false).key("kind").value(kind_of(resource));
  json.key("verbs").begin_array();
  json.value("get").value("list").value("watch").end_array();
  json.key("shortNames").begin_array().value(short_name).end_array();
  json.end_object();
}

}  // namespace

ApiError bad_request(std::string message) {
  return {.code = 400, .reason = "BadRequest", .message = std::move(message)};
}

ApiError not_found(Resource resource, std::string name) {
  name.resize(std::min(name.size(), kShownMax));
  std::string message = fmt::format("{}.{} \"{}\" not found", plural(resource), kGroup, name);
  return {.code = 404,
          .reason = "NotFound",
          .message = std::move(message),
          .name = std::move(name),
          .resource = std::string(plural(resource))};
}

ApiError no_such_path(std::string_view path) {
  return {.code = 404,
          .reason = "NotFound",
          .message = fmt::format("there is nothing at {}", path.substr(0, kShownMax)),
          .unknown_path = true};
}

ApiError method_not_allowed(std::string_view method, std::string allow) {
  return {
      .code = 405,
      .reason = "MethodNotAllowed",
      .message = fmt::format("{} is not allowed here, only {}", method.substr(0, kShownMax), allow),
      .allow = std::move(allow)};
}

ApiError not_acceptable() {
  return {.code = 406,
          .reason = "NotAcceptable",
          .message = "only application/json is supported, plain or as a Table of meta.k8s.io/v1"};
}

ApiError unauthorised(std::string message) {
  return {.code = 401, .reason = "Unauthorized", .message = std::move(message)};
}

ApiError forbidden(std::string message) {
  return {.code = 403, .reason = "Forbidden", .message = std::move(message)};
}

ApiError expired(std::string message) {
  return {.code = 410, .reason = "Expired", .message = std::move(message)};
}

ApiError later(std::string message) {
  return {.code = 503,
          .reason = "ServiceUnavailable",
          .message = std::move(message),
          .retry_after_seconds = 1};
}

ApiError too_many(std::string message) {
  return {.code = 429,
          .reason = "TooManyRequests",
          .message = std::move(message),
          .retry_after_seconds = 5};
}

std::string status_json(const ApiError& error) {
  JsonWriter json(JsonWriter::Style::compact);
  json.begin_object();
  json.key("kind").value("Status").key("apiVersion").value("v1");
  json.key("metadata").begin_object().end_object();
  json.key("status").value("Failure").key("message").value(error.message);
  json.key("reason").value(error.reason);
  if (!error.resource.empty() || error.retry_after_seconds > 0) {
    json.key("details").begin_object();
    if (!error.resource.empty()) {
      if (!error.name.empty()) json.key("name").value(error.name);
      json.key("group").value(kGroup).key("kind").value(error.resource);
    }
    if (error.retry_after_seconds > 0) {
      json.key("retryAfterSeconds").value(error.retry_after_seconds);
    }
    json.end_object();
  }
  json.key("code").value(error.code);
  if (error.unknown_path) json.key("msg").value("api not found");
  json.end_object();
  return json.take();
}

net::HttpResponse refusal(const ApiError& error) {
  net::HttpResponse response = json_answer(status_json(error));
  response.status = error.code;
  if (!error.allow.empty()) response.headers.emplace_back("Allow", error.allow);
  if (error.retry_after_seconds > 0) {
    response.headers.emplace_back("Retry-After", std::to_string(error.retry_after_seconds));
  }
  return response;
}

net::HttpResponse json_answer(std::string body) {
  return {
      .status = 200, .headers = {{"Content-Type", "application/json"}}, .body = std::move(body)};
}

net::HttpResponse text_answer(int status, std::string text) {
  return {.status = status,
          .headers = {{"Content-Type", "text/plain; charset=utf-8"}},
          .body = std::move(text)};
}

std::string api_group_list() {
  JsonWriter json(JsonWriter::Style::compact);
  json.begin_object();
  json.key("kind").value("APIGroupList").key("apiVersion").value("v1");
  json.key("groups").begin_array().begin_object();
  put_group(json);
  json.end_object().end_array().end_object();
  return json.take();
}

std::string api_group() {
  JsonWriter json(JsonWriter::Style::compact);
  json.begin_object();
  json.key("kind").value("APIGroup").key("apiVersion").value("v1");
  put_group(json);
  json.end_object();
  return json.take();
}

std::string api_resource_list() {
  JsonWriter json(JsonWriter::Style::compact);
  json.begin_object();
  json.key("kind").value("APIResourceList").key("apiVersion").value("v1");
  json.key("groupVersion").value(kGroupVersion);
  json.key("resources").begin_array();
  put_resource(json, Resource::pod_resources, "podresource", "podres");
  put_resource(json, Resource::gpu_infos, "gpuinfo", "gpui");
  json.end_array().end_object();
  return json.take();
}

}  // namespace stowage::metricsapi
