#include "local/names.h"

#include <algorithm>

namespace stowage::local {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_alnum_lower(char c) { return is_digit(c) || is_lower(c); }
bool is_alnum(char c) { return is_alnum_lower(c) || is_upper(c); }

bool is_dns_label(std::string_view name) {
  return !name.empty() && is_alnum_lower(name.front()) && is_alnum_lower(name.back()) &&
         std::all_of(name.begin(), name.end(),
                     [](char c) { return is_alnum_lower(c) || c == '-'; });
}

bool is_qualified_part(std::string_view name) {
  return !name.empty() && is_alnum(name.front()) && is_alnum(name.back()) &&
         std::all_of(name.begin(), name.end(),
                     [](char c) { return is_alnum(c) || c == '-' || c == '_' || c == '.'; });
}

constexpr std::string_view kLabelWords =
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used "
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
constexpr std::string_view kSubdomainWords =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "
    "for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
constexpr std::string_view kQualifiedWords =
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end "
    "with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
constexpr std::string_view kValueWords =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or "
    "'12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

}  // namespace

std::optional<std::string> dns_label_problem(std::string_view name) {
  if (name.size() > 63) return "must be no more than 63 characters";
  if (!is_dns_label(name)) return std::string(kLabelWords);
  return std::nullopt;
}

std::optional<std::string> dns_subdomain_problem(std::string_view name) {
  if (name.size() > 253) return "must be no more than 253 characters";
  std::string_view rest = name;
  while (true) {
    const std::size_t dot = rest.find('.');
    if (!is_dns_label(rest.substr(0, dot))) return std::string(kSubdomainWords);
    if (dot == std::string_view::npos) return std::nullopt;
    rest.remove_prefix(dot + 1);
  }
}

std::optional<std::string> path_segment_problem(std::string_view name) {
  if (name == "." || name == "..") return "may not be '" + std::string(name) + "'";
  if (name.find('/') != std::string_view::npos) return "may not contain '/'";
  if (name.find('%') != std::string_view::npos) return "may not contain '%'";
  if (name.empty() || name.size() > 253) return "must be no more than 253 characters";
  return std::nullopt;
}

std::optional<std::string> label_key_problem(std::string_view key) {
  const std::size_t slash = key.find('/');
  std::string_view name = key;
  if (slash != std::string_view::npos) {
    const std::string_view prefix = key.substr(0, slash);
    name = key.substr(slash + 1);
    if (prefix.empty()) return "prefix part must be non-empty";
    if (auto problem = dns_subdomain_problem(prefix)) return "prefix part " + *problem;
  }
  if (name.empty()) return "name part must be non-empty";
  if (name.size() > 63) return "name part must be no more than 63 characters";
  if (!is_qualified_part(name)) return std::string(kQualifiedWords);
  return std::nullopt;
}

std::optional<std::string> label_value_problem(std::string_view value) {
  if (value.size() > 63) return "must be no more than 63 characters";
  if (!value.empty() && !is_qualified_part(value)) return std::string(kValueWords);
  return std::nullopt;
}

}  // namespace stowage::local
