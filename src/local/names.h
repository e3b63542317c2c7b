// The rules for names, labels and annotations of the API. Each function returns what is wrong, in
// the API's words, or nothing.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace stowage::local {

[[nodiscard]] std::optional<std::string> dns_label_problem(std::string_view name);
[[nodiscard]] std::optional<std::string> dns_subdomain_problem(std::string_view name);
[[nodiscard]] std::optional<std::string> path_segment_problem(std::string_view name);
[[nodiscard]] std::optional<std::string> label_key_problem(std::string_view key);
[[nodiscard]] std::optional<std::string> label_value_problem(std::string_view value);

}  // namespace stowage::local
