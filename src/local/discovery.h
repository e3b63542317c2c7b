// The discovery documents: versions, groups, resources.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "local/resources.h"

namespace stowage::local {

struct ServerVersion {
  std::string major = "1";
  std::string minor = "34";
  std::string git_version = "v1.34.0+stowage-local";
};

[[nodiscard]] std::string version_document(const ServerVersion& version);

// The document at "/api", "/apis", "/api/v1", "/apis/<group>" or "/apis/<group>/<version>"; unset
// if none exists.
[[nodiscard]] std::optional<std::string> discovery_document(std::string_view path);

// The names of all groups but the core group, including groups without objects.
[[nodiscard]] std::span<const std::string_view> all_groups();

}  // namespace stowage::local
