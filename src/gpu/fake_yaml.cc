#include "gpu/fake_yaml.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include "base/nearest.h"

namespace stowage::gpu {

struct YamlFields::Node {
  YAML::Node yaml;
  YAML::Mark mark = yaml.Mark();
};

struct YamlFields::Shared {
  std::string file;
  std::string error;
  std::size_t mappings = 0;  // read so far
};

namespace {

constexpr std::size_t kShown = 64;        // of a value in a message
constexpr std::size_t kMostWord = 256;    // of a value at all
constexpr std::size_t kMostKeyHint = 64;  // a longer key is no misspelt one
// In the whole file. Aliases make many entries of few bytes.
constexpr std::size_t kMostMappings = 10'000;

std::string shown(const std::string& text) {
  return text.size() <= kShown ? text : text.substr(0, kShown) + "...";
}

std::string kind_of(const YAML::Node& node) {
  switch (node.Type()) {
    case YAML::NodeType::Undefined:
    case YAML::NodeType::Null: return "nothing";
    case YAML::NodeType::Scalar: return fmt::format("\"{}\"", shown(node.Scalar()));
    case YAML::NodeType::Sequence: return "a list";
    case YAML::NodeType::Map: return "a mapping";
  }
  return "something else";
}

std::string place(const std::string& file, const YAML::Mark& mark) {
  return mark.is_null() ? file : fmt::format("{}:{}", file, mark.line + 1);
}

// Looks at nothing.
class Blind final : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t,
                const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}
};

// Loading all of them would not end for a text such as ",", which never gets shorter.
bool has_several_documents(const std::string& text) {
  std::istringstream in(text);
  YAML::Parser parser(in);
  Blind blind;
  return parser.HandleNextDocument(blind) && parser.HandleNextDocument(blind);
}

std::optional<std::int64_t> to_whole(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// Digits, a point and up to so many further digits, without the point.
std::optional<std::int64_t> to_decimal(std::string_view text, int digits) {
  constexpr std::size_t kMostDigits = 12;
  const std::size_t point = text.find('.');
  const std::string_view before = text.substr(0, point);
  std::string after(point == std::string_view::npos ? "" : text.substr(point + 1));
  const bool fits = !before.empty() && before.size() <= kMostDigits &&
                    after.size() <= static_cast<std::size_t>(digits) &&
                    (point == std::string_view::npos || !after.empty());
  if (!fits) return std::nullopt;
  after.resize(static_cast<std::size_t>(digits), '0');
  const std::string all = std::string(before) + after;
  const bool only_digits =
      std::all_of(all.begin(), all.end(), [](char c) { return c >= '0' && c <= '9'; });
  return only_digits ? to_whole(all) : std::nullopt;
}

std::string with_point(std::int64_t number, int digits) {
  std::int64_t unit = 1;
  for (int i = 0; i < digits; ++i) unit *= 10;
  return number % unit == 0 ? fmt::format("{}", number / unit)
                            : fmt::format("{}.{:0{}}", number / unit, number % unit, digits);
}

}  // namespace

YamlFields::YamlFields(const Node& node, Shared& shared, std::string path)
    : node_(std::make_unique<Node>(node)), shared_(shared), path_(std::move(path)) {}
YamlFields::~YamlFields() = default;

Status YamlFields::read(std::string_view text, const std::string& file,
                        const std::function<void(YamlFields&)>& take) {
  Shared shared{.file = file};
  try {
    if (has_several_documents(std::string(text))) {
      return fail(file + ": more than one YAML document");
    }
    const YAML::Node root = YAML::Load(std::string(text));
    if (!root.IsMap() && !root.IsNull()) {
      return fail(fmt::format("{}: expected a mapping of keys, found {}", file, kind_of(root)));
    }
    YamlFields fields({root}, shared, "");
    take(fields);
    fields.check_keys();
  } catch (const YAML::Exception& e) {
    return fail(fmt::format("{}: {}", place(file, e.mark), shown(e.msg)));
  }
  if (!shared.error.empty()) return fail(shared.error);
  return {};
}

std::string YamlFields::path_of(const std::string& key) const {
  return path_.empty() ? key : path_ + "." + key;
}

void YamlFields::problem(const Node& at, const std::string& key, const std::string& why) {
  if (!shared_.error.empty()) return;
  shared_.error = fmt::format("{}: {}: {}", place(shared_.file, at.mark), path_of(shown(key)), why);
}

std::optional<YamlFields::Node> YamlFields::child(const std::string& key) {
  if (std::find(known_.begin(), known_.end(), key) == known_.end()) known_.push_back(key);
  if (!node_->yaml.IsMap()) return std::nullopt;
  for (const auto& entry : node_->yaml) {
    if (!entry.first.IsScalar() || entry.first.Scalar() != key) continue;
    // The library puts a value that is not there where it has noticed that.
    const YAML::Node& place = entry.second.IsNull() ? entry.first : entry.second;
    return Node{entry.second, place.Mark()};
  }
  return std::nullopt;
}

void YamlFields::refuse(const std::string& key, const std::string& why) {
  const auto node = child(key);
  problem(node ? *node : *node_, key, why);
}

bool YamlFields::has(const std::string& key) { return child(key).has_value(); }

std::optional<std::string> YamlFields::scalar(const std::string& key, const char* wanted) {
  const auto node = child(key);
  if (!node) return std::nullopt;
  const bool good = node->yaml.IsScalar() && !node->yaml.Scalar().empty() &&
                    node->yaml.Scalar().size() <= kMostWord;
  if (good) return node->yaml.Scalar();
  problem(*node, key, fmt::format("expected {}, found {}", wanted, kind_of(node->yaml)));
  return std::nullopt;
}

std::optional<std::string> YamlFields::text(const std::string& key) {
  auto word = scalar(key, "a text");
  if (!word) return std::nullopt;
  const bool prints =
      std::all_of(word->begin(), word->end(), [](char c) { return c >= ' ' && c <= '~'; });
  if (prints) return word;
  refuse(key, "expected a text of letters, digits and signs on one line");
  return std::nullopt;
}

std::optional<bool> YamlFields::flag(const std::string& key) {
  const auto word = scalar(key, "true or false");
  if (!word) return std::nullopt;
  if (*word == "true") return true;
  if (*word == "false") return false;
  refuse(key, fmt::format("expected true or false, found \"{}\"", shown(*word)));
  return std::nullopt;
}

std::optional<std::int64_t> YamlFields::whole(const std::string& key, Range range) {
  const auto word = scalar(key, "a whole number");
  if (!word) return std::nullopt;
  const auto number = to_whole(*word);
  if (number && *number >= range.least && *number <= range.most) return number;
  refuse(key, fmt::format("expected a whole number from {} to {}, found \"{}\"", range.least,
                          range.most, shown(*word)));
  return std::nullopt;
}

std::optional<std::int64_t> YamlFields::decimal(const std::string& key, int digits, Range range) {
  const auto word = scalar(key, "a number");
  if (!word) return std::nullopt;
  const auto number = to_decimal(*word, digits);
  if (number && *number >= range.least && *number <= range.most) return number;
  refuse(key, fmt::format("expected a number from {} to {} with at most {} decimals, found \"{}\"",
                          with_point(range.least, digits), with_point(range.most, digits), digits,
                          shown(*word)));
  return std::nullopt;
}

void YamlFields::list(const std::string& key, const List& list) {
  const auto node = child(key);
  if (!node) return;
  if (!node->yaml.IsSequence()) {
    return problem(*node, key, "expected a list, found " + kind_of(node->yaml));
  }
  if (node->yaml.size() > list.most) {
    return problem(*node, key, fmt::format("more than {} entries", list.most));
  }
  std::size_t number = 0;
  for (const auto& entry : node->yaml) {
    const std::string name = fmt::format("{}[{}]", key, number++);
    if (!entry.IsMap()) {
      return problem({entry}, name, "expected a mapping of keys, found " + kind_of(entry));
    }
    if (++shared_.mappings > kMostMappings) {
      return problem({entry}, name, fmt::format("more than {} entries in all", kMostMappings));
    }
    YamlFields inner({entry}, shared_, path_of(name));
    list.take(inner);
    inner.check_keys();
  }
}

std::vector<std::vector<std::int64_t>> YamlFields::triples(const std::string& key,
                                                           std::size_t most) {
  const auto node = child(key);
  if (!node) return {};
  std::vector<std::vector<std::int64_t>> all;
  bool good = node->yaml.IsSequence() && node->yaml.size() <= most;
  if (good) {
    for (const auto& entry : node->yaml) {
      std::vector<std::int64_t> numbers;
      good = good && entry.IsSequence() && entry.size() == 3;
      for (std::size_t i = 0; good && i < 3; ++i) {
        const YAML::Node item = entry[i];
        const auto number = item.IsScalar() ? to_whole(item.Scalar()) : std::nullopt;
        good = number.has_value();
        numbers.push_back(number.value_or(0));
      }
      all.push_back(std::move(numbers));
    }
  }
  if (good) return all;
  problem(
      *node, key,
      fmt::format("expected at most {} lists of three whole numbers, such as [0, 1, 100]", most));
  return {};
}

void YamlFields::check_keys() {
  if (!node_->yaml.IsMap()) return;
  std::set<std::string> seen;
  for (const auto& entry : node_->yaml) {
    if (!shared_.error.empty()) return;
    const Node at{entry.first};
    if (!entry.first.IsScalar()) {
      problem(at, "?", "a key must be a text");
      continue;
    }
    const std::string& key = entry.first.Scalar();
    if (!seen.insert(key).second) problem(at, key, "the key is there twice");
    if (std::find(known_.begin(), known_.end(), key) != known_.end()) continue;
    const std::string hint = key.size() <= kMostKeyHint ? base::nearest(key, known_) : "";
    problem(at, key,
            hint.empty() ? fmt::format("unknown key; known are {}", fmt::join(known_, ", "))
                         : fmt::format("unknown key; did you mean \"{}\"?", hint));
  }
}

}  // namespace stowage::gpu
