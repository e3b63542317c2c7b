// Answers without objects: discovery documents, and Status objects for errors. Pure.
#pragma once

#include <string>
#include <string_view>

#include "metricsapi/objects.h"
#include "net/http.h"

namespace stowage::metricsapi {

// A refused request. kubectl prints the message as it is.
struct ApiError {
  int code = 500;
  std::string reason;  // "NotFound"
  std::string message;
  std::string name = {};      // of the object, if any
  std::string resource = {};  // its plural
  int retry_after_seconds = 0;
  std::string allow = {};     // 405: the allowed methods
  bool unknown_path = false;  // add the original server's message
};

[[nodiscard]] ApiError bad_request(std::string message);
[[nodiscard]] ApiError not_found(Resource resource, std::string name);
[[nodiscard]] ApiError no_such_path(std::string_view path);
[[nodiscard]] ApiError method_not_allowed(std::string_view method, std::string allow);
[[nodiscard]] ApiError not_acceptable();
[[nodiscard]] ApiError unauthorised(std::string message);
[[nodiscard]] ApiError forbidden(std::string message);
[[nodiscard]] ApiError expired(std::string message);
// 503 and 429: worth another attempt.
[[nodiscard]] ApiError later(std::string message);
[[nodiscard]] ApiError too_many(std::string message);

[[nodiscard]] std::string status_json(const ApiError& error);
[[nodiscard]] net::HttpResponse refusal(const ApiError& error);
[[nodiscard]] net::HttpResponse json_answer(std::string body);
[[nodiscard]] net::HttpResponse text_answer(int status, std::string text);

// /apis, /apis/<group>, /apis/<group>/<version>
[[nodiscard]] std::string api_group_list();
[[nodiscard]] std::string api_group();
[[nodiscard]] std::string api_resource_list();

}  // namespace stowage::metricsapi
