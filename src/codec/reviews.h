// Requests to the API server for authentication and authorization: TokenReview and
// SubjectAccessReview.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace stowage::codec {

struct UserInfo {
  std::string user;
  std::string uid;
  std::vector<std::string> groups;
  std::map<std::string, std::vector<std::string>> extra;
  friend bool operator==(const UserInfo&, const UserInfo&) = default;
};

// Asks for the user of a token. It must be issued for `audience`; empty: for the API server.
[[nodiscard]] std::string token_review(std::string_view token, std::string_view audience = {});
struct TokenVerdict {
  bool known = false;
  UserInfo who;
  std::vector<std::string> audiences;  // those of the requested ones that match
  std::string error;
};
[[nodiscard]] Result<TokenVerdict> read_token_review(std::string_view json);

// An action: on a path, such as get /debug/state, or on an API resource.
struct Access {
  std::string verb;
  std::string path;  // empty: a resource
  std::string group;
  std::string version;
  std::string resource;
  std::string subresource;
  std::string ns;
  std::string name;
  friend bool operator==(const Access&, const Access&) = default;
};
// Asks whether the user may do that.
[[nodiscard]] std::string access_review(const UserInfo& who, const Access& access);
struct AccessVerdict {
  bool allowed = false;
  std::string reason;
};
[[nodiscard]] Result<AccessVerdict> read_access_review(std::string_view json);

}  // namespace stowage::codec
