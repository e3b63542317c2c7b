// A failed call of the Kubernetes API: what becomes a Status object on the wire.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace stowage::local {

struct ErrorCause {
  std::string reason;  // "FieldValueInvalid"
  std::string message;
  std::string field;  // "spec.containers[0].name"
  friend bool operator==(const ErrorCause&, const ErrorCause&) = default;
};

struct ApiError {
  int code = 500;
  std::string reason = "InternalError";
  std::string message;
  // details: which object the message is about; empty if none
  std::string group;
  std::string kind;  // the resource ("pods"), or the kind ("Pod") for Invalid
  std::string name;
  std::vector<ErrorCause> causes;
  int retry_after_seconds = 0;
  std::string resume_at;  // metadata.continue of an expired list
  friend bool operator==(const ApiError&, const ApiError&) = default;
};

template <typename T>
using ApiResult = tl::expected<T, ApiError>;

[[nodiscard]] inline tl::unexpected<ApiError> refuse(ApiError error) {
  return tl::unexpected<ApiError>(std::move(error));
}

struct Resource;

[[nodiscard]] ApiError api_error(int code, std::string reason, std::string message);
[[nodiscard]] ApiError bad_request(std::string message);
[[nodiscard]] ApiError not_found(const Resource& resource, std::string_view name);
[[nodiscard]] ApiError already_exists(const Resource& resource, std::string_view name);
[[nodiscard]] ApiError conflict(const Resource& resource, std::string_view name,
                                std::string_view why);
[[nodiscard]] ApiError version_conflict(const Resource& resource, std::string_view name);
[[nodiscard]] ApiError forbidden(const Resource& resource, std::string_view name,
                                 std::string_view why);
[[nodiscard]] ApiError invalid(const Resource& resource, std::string_view name,
                               std::vector<ErrorCause> causes);
[[nodiscard]] ApiError expired(std::string message);

}  // namespace stowage::local
