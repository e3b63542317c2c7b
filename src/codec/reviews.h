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

[[nodiscard]] std::string token_review(std::string_view token);
struct TokenVerdict {
  bool known = false;
  Somebody who;
  std::string error;
};
[[nodiscard]] Result<TokenVerdict> read_token_review(std::string_view json);

// May they do that to this path, such as get /debug/state?
[[nodiscard]] std::string path_review(const Somebody& who, std::string_view verb,
                                      std::string_view path);
struct AccessVerdict {
  bool allowed = false;
  std::string reason;
};
[[nodiscard]] Result<AccessVerdict> read_access_review(std::string_view json);

}  // namespace stowage::codec
