#include "local/api_error.h"

#include <fmt/core.h>

#include "local/resources.h"

namespace stowage::local {
namespace {

// "pods" or "deployments.apps", as messages name a resource.
std::string full_name(const Resource& resource) {
  return resource.group.empty() ? std::string(resource.plural)
                                : fmt::format("{}.{}", resource.plural, resource.group);
}

ApiError about(const Resource& resource, std::string_view name, int code, std::string reason) {
  ApiError error = api_error(code, std::move(reason), "");
  error.group = resource.group;
  error.kind = resource.plural;
  error.name = name;
  return error;
}

}  // namespace

ApiError api_error(int code, std::string reason, std::string message) {
  ApiError error;
  error.code = code;
  error.reason = std::move(reason);
  error.message = std::move(message);
  return error;
}

ApiError bad_request(std::string message) {
  return api_error(400, "BadRequest", std::move(message));
}

ApiError not_found(const Resource& resource, std::string_view name) {
  ApiError error = about(resource, name, 404, "NotFound");
  error.message = fmt::format("{} \"{}\" not found", full_name(resource), name);
  return error;
}

ApiError already_exists(const Resource& resource, std::string_view name) {
  ApiError error = about(resource, name, 409, "AlreadyExists");
  error.message = fmt::format("{} \"{}\" already exists", full_name(resource), name);
  return error;
}

ApiError conflict(const Resource& resource, std::string_view name, std::string_view why) {
  ApiError error = about(resource, name, 409, "Conflict");
  error.message =
      fmt::format("Operation cannot be fulfilled on {} \"{}\": {}", full_name(resource), name, why);
  return error;
}

ApiError version_conflict(const Resource& resource, std::string_view name) {
  return conflict(resource, name,
                  "the object has been modified; please apply your changes to the latest version "
                  "and try again");
}

ApiError invalid(const Resource& resource, std::string_view name, std::vector<ErrorCause> causes) {
  ApiError error = about(resource, name, 422, "Invalid");
  error.kind = resource.kind;
  std::string all;
  for (const ErrorCause& cause : causes) {
    if (!all.empty()) all += ", ";
    all += fmt::format("{}: {}", cause.field, cause.message);
  }
  if (causes.size() > 1) all = "[" + all + "]";
  const std::string kind = resource.group.empty()
                               ? std::string(resource.kind)
                               : fmt::format("{}.{}", resource.kind, resource.group);
  error.message = fmt::format("{} \"{}\" is invalid: {}", kind, name, all);
  error.causes = std::move(causes);
  return error;
}

ApiError forbidden(const Resource& resource, std::string_view name, std::string_view why) {
  ApiError error = about(resource, name, 403, "Forbidden");
  error.message = fmt::format("{} \"{}\" is forbidden: {}", full_name(resource), name, why);
  return error;
}

ApiError expired(std::string message) { return api_error(410, "Expired", std::move(message)); }

}  // namespace stowage::local
