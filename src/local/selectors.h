// Label and field selectors in the text form of the API ("app in (a,b),!old", "spec.nodeName=n1").
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "local/api_error.h"
#include "local/json.h"
#include "local/resources.h"

namespace stowage::local {

using Labels = std::vector<std::pair<std::string, std::string>>;  // sorted by key, keys unique

[[nodiscard]] const std::string* find_label(const Labels& labels, std::string_view key);

struct LabelRequirement {
  enum class Op : std::uint8_t { in, not_in, exists, absent, greater, less };
  std::string key;
  Op op = Op::exists;
  std::vector<std::string> values;  // greater and less: one whole number
  friend bool operator==(const LabelRequirement&, const LabelRequirement&) = default;
};

// All requirements must hold; an empty selector matches everything.
struct LabelSelector {
  std::vector<LabelRequirement> all;

  [[nodiscard]] bool matches(const Labels& labels) const;
  friend bool operator==(const LabelSelector&, const LabelSelector&) = default;
};
[[nodiscard]] ApiResult<LabelSelector> parse_label_selector(std::string_view text);

// The selector of a spec ({matchLabels, matchExpressions}); unset if it has an unknown operator.
// Callers must handle a null or absent selector: here it matches everything.
[[nodiscard]] std::optional<LabelSelector> selector_of(const json::object& selector);
// The text form: "a=b,c in (d,e)"; "<none>" if it matches everything.
[[nodiscard]] std::string selector_text(const LabelSelector& selector);

struct FieldRequirement {
  static constexpr std::size_t kName = static_cast<std::size_t>(-1);       // metadata.name
  static constexpr std::size_t kNamespace = static_cast<std::size_t>(-2);  // metadata.namespace
  std::size_t field = kName;  // an index into Resource::fields
  bool equal = true;
  std::string value;
  friend bool operator==(const FieldRequirement&, const FieldRequirement&) = default;
};

struct FieldSelector {
  std::vector<FieldRequirement> all;
  friend bool operator==(const FieldSelector&, const FieldSelector&) = default;
};
// The error names a path that the resource does not support.
[[nodiscard]] ApiResult<FieldSelector> parse_field_selector(const Resource& resource,
                                                            std::string_view text);

}  // namespace stowage::local
