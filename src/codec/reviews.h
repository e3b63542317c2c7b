// Questions to the API server about who somebody is and what they may do: TokenReview and
// SubjectAccessReview.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace stowage::codec {

struct Somebody {
  std::string user;
  std::string uid;
  std::vector<std::string> groups;
  std::map<std::string, std::vector<std::string>> extra;
  friend bool operator==(const Somebody&, const Somebody&) = default;
};

// Who does the token belong to? It has to be made for `audience`; empty: for the API server.
[[nodiscard]] std::string token_review(std::string_view token, std::string_view audience = {});
struct TokenVerdict {
  bool known = false;
  Somebody who;
  std::vector<std::string> audiences;  // of those that were asked for
  std::string error;
};
[[nodiscard]] Result<TokenVerdict> read_token_review(std::string_view json);

// Something that one may do: to a path, such as get /debug/state, or to a resource of an API.
struct Access {
  std::string verb;
  std::string path;  // empty: the resource
  std::string group;
  std::string version;
  std::string resource;
  std::string subresource;
  std::string ns;
  std::string name;
  friend bool operator==(const Access&, const Access&) = default;
};
// May they do that?
[[nodiscard]] std::string access_review(const Somebody& who, const Access& access);
struct AccessVerdict {
  bool allowed = false;
  std::string reason;
};
[[nodiscard]] Result<AccessVerdict> read_access_review(std::string_view json);

}  // namespace stowage::codec
