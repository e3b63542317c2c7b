#include "local/selectors.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include <fmt/format.h>

#include "base/number.h"
#include "base/text.h"
#include "local/names.h"

namespace stowage::local {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

bool holds(const LabelRequirement& requirement, const Labels& labels) {
  using Op = LabelRequirement::Op;
  const std::string* value = find_label(labels, requirement.key);
  const auto& values = requirement.values;
  const auto among = [&] {
    return std::find(values.begin(), values.end(), *value) != values.end();
  };
  switch (requirement.op) {
    case Op::in: return value != nullptr && among();
    case Op::not_in: return value == nullptr || !among();
    case Op::exists: return value != nullptr;
    case Op::absent: return value == nullptr;
    case Op::greater:
    case Op::less: break;
  }
  if (value == nullptr || values.empty()) return false;
  const auto have = base::parse_number<std::int64_t>(*value);
  const auto bound = base::parse_number<std::int64_t>(values.front());
  if (!have || !bound) return false;
  return requirement.op == Op::greater ? *have > *bound : *have < *bound;
}

// Reads "key", "!key", "key=value", "key in (a,b)" and so on, separated by commas.
class LabelParser {
 public:
  explicit LabelParser(std::string_view text) : text_(text) {}

  ApiResult<LabelSelector> parse() {
    LabelSelector selector;
    skip_blanks();
    while (at_ < text_.size()) {
      LabelRequirement requirement;
      if (auto problem = parse_requirement(requirement)) return refuse(std::move(*problem));
      selector.all.push_back(std::move(requirement));
      skip_blanks();
      if (at_ == text_.size()) break;
      if (text_[at_] != ',') return refuse(odd("expected: ',' or the end"));
      ++at_;
      skip_blanks();
      if (at_ == text_.size()) return refuse(odd("expected: a requirement after ','"));
    }
    return selector;
  }

 private:
  void skip_blanks() {
    while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
  }
  std::string_view word() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && !is_blank(text_[at_]) &&
           std::string_view("=!<>(),").find(text_[at_]) == std::string_view::npos) {
      ++at_;
    }
    return text_.substr(begin, at_ - begin);
  }
  bool take(std::string_view token) {
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }
  [[nodiscard]] ApiError odd(std::string_view what) const {
    const std::string_view rest = text_.substr(at_);
    return bad_request(fmt::format("unable to parse requirement: found '{}', {}",
                                   rest.substr(0, rest.find(',')), what));
  }

  std::optional<ApiError> parse_requirement(LabelRequirement& out) {
    using Op = LabelRequirement::Op;
    const bool negated = take("!");
    skip_blanks();
    out.key = word();
    if (auto problem = label_key_problem(out.key)) {
      return bad_request(fmt::format(
          "unable to parse requirement: <nil>: Invalid value: \"{}\": {}", out.key, *problem));
    }
    skip_blanks();
    if (negated) {
      out.op = Op::absent;
      return std::nullopt;
    }
    if (at_ == text_.size() || text_[at_] == ',') {
      out.op = Op::exists;
      return std::nullopt;
    }
    if (take("==") || take("=")) return parse_one(out, Op::in);
    if (take("!=")) return parse_one(out, Op::not_in);
    if (take(">")) return parse_one(out, Op::greater);
    if (take("<")) return parse_one(out, Op::less);
    const std::string_view name = word();
    if (name == "in") return parse_set(out, Op::in);
    if (name == "notin") return parse_set(out, Op::not_in);
    at_ -= name.size();
    return odd("expected: in, notin, =, ==, !=, gt, lt");
  }

  std::optional<ApiError> parse_one(LabelRequirement& out, LabelRequirement::Op op) {
    out.op = op;
    skip_blanks();
    return add_value(out);
  }

  std::optional<ApiError> parse_set(LabelRequirement& out, LabelRequirement::Op op) {
    out.op = op;
    skip_blanks();
    if (!take("(")) return odd("expected: '('");
    while (true) {
      skip_blanks();
      if (auto problem = add_value(out)) return problem;
      skip_blanks();
      if (take(")")) return std::nullopt;
      if (!take(",")) return odd("expected: ',' or ')'");
    }
  }

  std::optional<ApiError> add_value(LabelRequirement& out) {
    using Op = LabelRequirement::Op;
    std::string value(word());
    if (auto problem = label_value_problem(value)) {
      return bad_request(
          fmt::format("unable to parse requirement: values[{}][{}]: Invalid value: "
                      "\"{}\": {}",
                      out.values.size(), out.key, value, *problem));
    }
    if ((out.op == Op::greater || out.op == Op::less) && !base::parse_number<std::int64_t>(value)) {
      return bad_request(
          fmt::format("unable to parse requirement: values[0][{}]: Invalid value: "
                      "\"{}\": for 'Gt', 'Lt' operators, the value must be an "
                      "integer",
                      out.key, value));
    }
    out.values.push_back(std::move(value));
    return std::nullopt;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

// One term of a field selector; a backslash escapes ',', '=' and itself.
struct FieldTerm {
  std::string path;
  std::string value;
  bool equal = true;
};

ApiResult<FieldTerm> parse_term(std::string_view text) {
  const auto bad = [&] {
    return refuse(bad_request(
        fmt::format("invalid field selector: '{}'; can't understand '{}'", text, text)));
  };
  FieldTerm term;
  std::size_t at = text.find_first_of("=!");
  if (at == std::string_view::npos || at == 0) return bad();
  term.path = base::trim(text.substr(0, at));
  if (text[at] == '!') {
    term.equal = false;
    ++at;
    if (at == text.size() || text[at] != '=') return bad();
  } else if (text.substr(at, 2) == "==") {
    ++at;
  }
  for (++at; at < text.size(); ++at) {
    if (text[at] == '\\') {
      if (++at == text.size() ||
          std::string_view("\\,=").find(text[at]) == std::string_view::npos) {
        return bad();
      }
    } else if (text[at] == '=' || text[at] == ',') {
      return bad();
    }
    term.value += text[at];
  }
  return term;
}

std::size_t end_of_term(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == ',') {
      return i;
    }
  }
  return text.size();
}

std::optional<std::size_t> selectable(const Resource& resource, std::string_view path) {
  if (path == "metadata.name") return FieldRequirement::kName;
  if (path == "metadata.namespace" && resource.namespaced) return FieldRequirement::kNamespace;
  if (resource.kind_id == Kind::event) {
    if (path.starts_with("regarding.")) {
      return resource.field_index("involvedObject" + std::string(path.substr(9)));
    }
    if (path == "reportingController") path = "reportingComponent";
  }
  return resource.field_index(path);
}

}  // namespace

const std::string* find_label(const Labels& labels, std::string_view key) {
  const auto at =
      std::lower_bound(labels.begin(), labels.end(), key,
                       [](const auto& label, std::string_view k) { return label.first < k; });
  return at != labels.end() && at->first == key ? &at->second : nullptr;
}

bool LabelSelector::matches(const Labels& labels) const {
  return std::all_of(all.begin(), all.end(),
                     [&](const LabelRequirement& one) { return holds(one, labels); });
}

ApiResult<LabelSelector> parse_label_selector(std::string_view text) {
  return LabelParser(text).parse();
}

ApiResult<FieldSelector> parse_field_selector(const Resource& resource, std::string_view text) {
  FieldSelector selector;
  while (!text.empty()) {
    const std::size_t end = end_of_term(text);
    const std::string_view one = base::trim(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (one.empty()) continue;
    STOWAGE_TRY(term, parse_term(one));
    const auto field = selectable(resource, term.path);
    if (!field) return refuse(bad_request("field label not supported: " + term.path));
    selector.all.push_back({*field, term.equal, std::move(term.value)});
  }
  return selector;
}

std::optional<LabelSelector> selector_of(const json::object& selector) {
  using Op = LabelRequirement::Op;
  LabelSelector result;
  if (const json::object* labels = object_at(selector, "matchLabels")) {
    for (const auto& label : *labels) {
      result.all.push_back(
          {std::string(label.key()), Op::in, {std::string(text_of(label.value()))}});
    }
  }
  const json::array* rules = array_at(selector, "matchExpressions");
  if (rules == nullptr) return result;
  for (const json::value& element : *rules) {
    const json::object* rule = element.if_object();
    if (rule == nullptr) return std::nullopt;
    LabelRequirement requirement;
    requirement.key = text_at(*rule, "key");
    const std::string_view op = text_at(*rule, "operator");
    if (op == "In") {
      requirement.op = Op::in;
    } else if (op == "NotIn") {
      requirement.op = Op::not_in;
    } else if (op == "Exists") {
      requirement.op = Op::exists;
    } else if (op == "DoesNotExist") {
      requirement.op = Op::absent;
    } else {
      return std::nullopt;
    }
    if (const json::array* values = array_at(*rule, "values")) {
      for (const json::value& value : *values) requirement.values.emplace_back(text_of(value));
    }
    result.all.push_back(std::move(requirement));
  }
  return result;
}

std::string selector_text(const LabelSelector& selector) {
  using Op = LabelRequirement::Op;
  if (selector.all.empty()) return "<none>";
  std::vector<std::string> parts;
  for (const LabelRequirement& one : selector.all) {
    const std::string values = fmt::format("{}", fmt::join(one.values, ","));
    switch (one.op) {
      case Op::in:
        parts.push_back(one.values.size() == 1 ? one.key + "=" + values
                                               : fmt::format("{} in ({})", one.key, values));
        break;
      case Op::not_in: parts.push_back(fmt::format("{} notin ({})", one.key, values)); break;
      case Op::exists: parts.push_back(one.key); break;
      case Op::absent: parts.push_back(fmt::format("!{}", one.key)); break;
      case Op::greater: parts.push_back(fmt::format("{}>{}", one.key, values)); break;
      case Op::less: parts.push_back(fmt::format("{}<{}", one.key, values)); break;
    }
  }
  std::sort(parts.begin(), parts.end());
  return fmt::format("{}", fmt::join(parts, ","));
}

}  // namespace stowage::local
