#include "yaml/strict_map.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <set>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include "base/nearest.h"

namespace stowage::yaml {

struct StrictMap::Node {
  YAML::Node yaml;
  YAML::Mark mark = yaml.Mark();
};

struct StrictMap::Shared {
  Source source;
  std::string error;
  std::size_t mappings = 0;  // entries of lists read so far
  std::vector<std::string> warnings;
  std::optional<std::vector<Key>> keys;  // set: keys are only listed
};

namespace {

struct Unit {
  std::string_view name;
  std::int64_t nanos;
};
constexpr std::array<Unit, 4> kUnits{
    {{"h", 3'600'000'000'000}, {"m", 60'000'000'000}, {"s", 1'000'000'000}, {"ms", 1'000'000}}};

std::string shown(const std::string& text, std::size_t most) {
  return text.size() <= most ? text : text.substr(0, most) + "...";
}

std::string kind_of_node(const YAML::Node& node, std::size_t most) {
  switch (node.Type()) {
    case YAML::NodeType::Undefined:
    case YAML::NodeType::Null: return "nothing";
    case YAML::NodeType::Scalar: return fmt::format("\"{}\"", shown(node.Scalar(), most));
    case YAML::NodeType::Sequence: return "a list";
    case YAML::NodeType::Map: return "a mapping";
  }
  return "something else";
}

// Ignores all events.
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

// Loading all documents would not terminate for a text such as ",", which never gets shorter.
bool has_several_documents(const std::string& text) {
  std::istringstream in(text);
  YAML::Parser parser(in);
  Blind blind;
  return parser.HandleNextDocument(blind) && parser.HandleNextDocument(blind);
}

std::string place(const std::string& file, const YAML::Mark& mark) {
  return mark.is_null() ? file : fmt::format("{}:{}", file, mark.line + 1);
}

}  // namespace

StrictMap::StrictMap(std::unique_ptr<Node> node, std::shared_ptr<Shared> shared, std::string path)
    : node_(std::move(node)), shared_(std::move(shared)), path_(std::move(path)) {}
StrictMap::~StrictMap() = default;
StrictMap::StrictMap(StrictMap&&) noexcept = default;
StrictMap& StrictMap::operator=(StrictMap&&) noexcept = default;

Result<StrictMap> StrictMap::parse(std::string_view text, Source source) {
  const std::string file = source.file;
  const std::size_t most = source.limits.shown;
  auto shared = std::make_shared<Shared>(Shared{.source = std::move(source)});
  try {
    if (has_several_documents(std::string(text))) {
      return fail(file + ": more than one YAML document");
    }
    YAML::Node root = YAML::Load(std::string(text));
    if (!root.IsMap() && !root.IsNull()) {
      return fail(
          fmt::format("{}: expected a mapping of keys, found {}", file, kind_of_node(root, most)));
    }
    return StrictMap(std::make_unique<Node>(Node{root}), shared, "");
  } catch (const YAML::Exception& e) {
    return fail(fmt::format("{}: {}", place(file, e.mark), shown(e.msg, most)));
  }
}

std::string StrictMap::kind_of(const Node& node) const {
  return kind_of_node(node.yaml, shared_->source.limits.shown);
}

// As the document names the key: "old[0]" for the first entry of a renamed list.
std::string StrictMap::path_of(const std::string& key) const {
  const std::size_t bracket = std::min(key.find('['), key.size());
  const auto old = old_names_.find(key.substr(0, bracket));
  const std::string written = old == old_names_.end() ? key : old->second + key.substr(bracket);
  return path_.empty() ? written : path_ + "." + written;
}

void StrictMap::problem(const Node& at, const std::string& key, const std::string& why) {
  if (!shared_->error.empty()) return;
  shared_->error = fmt::format("{}: {}: {}", place(shared_->source.file, at.mark),
                               path_of(shown(key, shared_->source.limits.shown)), why);
}

void StrictMap::refuse(const std::string& key, const std::string& why) {
  const auto node = child(key);
  problem(node ? *node : *node_, key, why);
}

std::unique_ptr<StrictMap::Node> StrictMap::child(const std::string& key) {
  if (std::find(known_.begin(), known_.end(), key) == known_.end()) known_.push_back(key);
  const auto old = old_names_.find(key);
  return find(old == old_names_.end() ? key : old->second);
}

std::unique_ptr<StrictMap::Node> StrictMap::find(const std::string& key) const {
  if (!node_->yaml.IsMap()) return nullptr;
  for (const auto& entry : node_->yaml) {
    if (!entry.first.IsScalar() || entry.first.Scalar() != key) continue;
    const bool at_key = shared_->source.null_at_key && entry.second.IsNull();
    return std::make_unique<Node>(Node{entry.second, (at_key ? entry.first : entry.second).Mark()});
  }
  return nullptr;
}

std::optional<std::chrono::nanoseconds> parse_duration(std::string_view text) {
  std::int64_t count = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || count < 0 || count > 1'000'000'000) return std::nullopt;
  const std::string_view unit = text.substr(static_cast<std::size_t>(stop - text.data()));
  if (unit.empty() && count == 0) return std::chrono::nanoseconds{0};
  for (const Unit& known : kUnits) {
    if (known.name != unit) continue;
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
    if (count > kMost / known.nanos) return std::nullopt;
    return std::chrono::nanoseconds{count * known.nanos};
  }
  return std::nullopt;
}

std::string to_text(std::chrono::nanoseconds duration) {
  for (const Unit& unit : kUnits) {
    if (duration.count() != 0 && duration.count() % unit.nanos == 0) {
      return fmt::format("{}{}", duration.count() / unit.nanos, unit.name);
    }
  }
  return duration.count() == 0 ? "0s" : fmt::format("{}ns", duration.count());
}

std::vector<StrictMap::Key> StrictMap::keys_of(const std::function<void(StrictMap&)>& read) {
  auto shared = std::make_shared<Shared>();
  shared->keys.emplace();
  StrictMap root(std::make_unique<Node>(), shared, "");
  read(root);
  return *std::move(shared->keys);
}

void StrictMap::note(const std::string& key, const char* type) {
  if (!shared_->keys) return;
  const Key noted{.path = path_of(key), .type = type, .now = {}};
  auto& keys = *shared_->keys;
  if (std::find(keys.begin(), keys.end(), noted) == keys.end()) keys.push_back(noted);
}

// For keys_of(): reads a document in which every mapping exists.
void StrictMap::enter(const std::string& key, const std::function<void(StrictMap&)>& read) {
  StrictMap inner(std::make_unique<Node>(), shared_, path_of(key));
  read(inner);
}

void StrictMap::renamed(const Renamed& key) {
  if (shared_->keys) {
    shared_->keys->push_back({.path = path_of(key.old), .type = {}, .now = path_of(key.now)});
    return;
  }
  const auto old = find(key.old);
  if (!old) return;
  known_.push_back(key.old);
  if (find(key.now)) {
    return problem(
        *old, key.old,
        fmt::format("the old name of {}, which is set as well; remove one of them", key.now));
  }
  shared_->warnings.push_back(fmt::format("{}: {}: deprecated; use {}",
                                          place(shared_->source.file, old->mark), path_of(key.old),
                                          path_of(key.now)));
  old_names_[key.now] = key.old;
}

std::vector<std::string> StrictMap::warnings() const { return shared_->warnings; }

bool StrictMap::has(const std::string& key) {
  return shared_->keys.has_value() || child(key) != nullptr;
}

void StrictMap::text(const std::string& key, std::string& value) {
  note(key, "text");
  const auto node = child(key);
  if (!node) return;
  if (!node->yaml.IsScalar() || node->yaml.Scalar().empty()) {
    return problem(*node, key, "expected a text, found " + kind_of(*node));
  }
  value = node->yaml.Scalar();
}

void StrictMap::texts(const std::string& key, std::vector<std::string>& values) {
  note(key, "list of texts");
  const auto node = child(key);
  if (!node) return;
  if (!node->yaml.IsSequence()) {
    return problem(*node, key, "expected a list, found " + kind_of(*node));
  }
  values.clear();
  for (const auto& entry : node->yaml) {
    if (!entry.IsScalar() || entry.Scalar().empty()) {
      return problem({entry}, fmt::format("{}[{}]", key, values.size()),
                     "expected a text, found " + kind_of({entry}));
    }
    values.push_back(entry.Scalar());
  }
}

void StrictMap::boolean(const std::string& key, bool& value) {
  note(key, "boolean");
  const auto node = child(key);
  if (!node) return;
  const bool scalar = node->yaml.IsScalar();
  if (scalar && node->yaml.Scalar() == "true") {
    value = true;
  } else if (scalar && node->yaml.Scalar() == "false") {
    value = false;
  } else {
    problem(*node, key, "expected true or false, found " + kind_of(*node));
  }
}

void StrictMap::number(const std::string& key, const Range& range, double& value) {
  note(key, "number");
  const auto node = child(key);
  if (!node) return;
  double read = 0;
  const bool fine = node->yaml.IsScalar() && YAML::convert<double>::decode(node->yaml, read) &&
                    std::isfinite(read) && read >= range.min && read <= range.max;
  if (!fine) {
    return problem(*node, key,
                   fmt::format("expected a number from {} to {}, found {}", range.min, range.max,
                               kind_of(*node)));
  }
  value = read;
}

void StrictMap::whole(const std::string& key, const Range& range, std::uint32_t& value) {
  if (shared_->keys) return note(key, "whole number");
  double read = value;
  const bool before = shared_->error.empty();
  number(key, range, read);
  if (before && shared_->error.empty() && read != std::floor(read)) {
    return refuse(key, fmt::format("expected a whole number, found {}", read));
  }
  value = static_cast<std::uint32_t>(read);
}

void StrictMap::duration(const std::string& key, const DurationRange& range,
                         std::chrono::nanoseconds& value) {
  note(key, "duration");
  const auto node = child(key);
  if (!node) return;
  const auto read = node->yaml.IsScalar() ? parse_duration(node->yaml.Scalar()) : std::nullopt;
  if (!read || *read < range.min || *read > range.max) {
    return problem(*node, key,
                   fmt::format("expected a time from {} to {}, e.g. 50ms, 60s, 10m or 1h, found {}",
                               to_text(range.min), to_text(range.max), kind_of(*node)));
  }
  value = *read;
}

void StrictMap::map(const std::string& key, const std::function<void(StrictMap&)>& read) {
  if (shared_->keys) return enter(key, read);
  auto node = child(key);
  if (!node) return;
  if (!node->yaml.IsMap()) {
    return problem(*node, key, "expected a mapping of keys, found " + kind_of(*node));
  }
  StrictMap inner(std::move(node), shared_, path_of(key));
  read(inner);
  (void)inner.finish();
}

void StrictMap::list(const std::string& key, const std::function<void(StrictMap&)>& read,
                     std::size_t most) {
  if (shared_->keys) return enter(key + "[]", read);
  const auto node = child(key);
  if (!node) return;
  if (!node->yaml.IsSequence()) {
    return problem(*node, key, "expected a list, found " + kind_of(*node));
  }
  if (node->yaml.size() > most) {
    return problem(*node, key, fmt::format("more than {} entries", most));
  }
  const std::size_t in_all = shared_->source.limits.mappings;
  std::size_t number = 0;
  for (const auto& entry : node->yaml) {
    const std::string name = fmt::format("{}[{}]", key, number++);
    auto element = std::make_unique<Node>(Node{entry});
    if (!entry.IsMap()) {
      return problem(*element, name, "expected a mapping of keys, found " + kind_of(*element));
    }
    if (++shared_->mappings > in_all) {
      return problem(*element, name, fmt::format("more than {} entries in all", in_all));
    }
    StrictMap inner(std::move(element), shared_, path_of(name));
    read(inner);
    (void)inner.finish();
  }
}

std::optional<std::string> StrictMap::word(const std::string& key, const char* wanted) {
  note(key, wanted);
  const auto node = child(key);
  if (!node) return std::nullopt;
  const bool good = node->yaml.IsScalar() && !node->yaml.Scalar().empty() &&
                    node->yaml.Scalar().size() <= shared_->source.limits.word;
  if (good) return node->yaml.Scalar();
  problem(*node, key, fmt::format("expected {}, found {}", wanted, kind_of(*node)));
  return std::nullopt;
}

std::optional<StrictMap::Rows> StrictMap::rows(const std::string& key, RowsShape shape) {
  note(key, "list of lists");
  const auto node = child(key);
  if (!node || !node->yaml.IsSequence() || node->yaml.size() > shape.rows_max) return std::nullopt;
  Rows all;
  for (const auto& entry : node->yaml) {
    if (!entry.IsSequence() || entry.size() != shape.columns) return std::nullopt;
    std::vector<std::string>& row = all.emplace_back();
    for (const auto& item : entry) {
      if (!item.IsScalar()) return std::nullopt;
      row.push_back(item.Scalar());
    }
  }
  return all;
}

Status StrictMap::finish() {
  std::set<std::string> seen;
  if (node_->yaml.IsMap()) {
    for (const auto& entry : node_->yaml) {
      const Node at{entry.first};
      if (!entry.first.IsScalar()) {
        problem(at, "?", "a key must be a text");
        continue;
      }
      const std::string& key = entry.first.Scalar();
      if (!seen.insert(key).second) problem(at, key, "the key appears twice");
      if (std::find(known_.begin(), known_.end(), key) != known_.end()) continue;
      const bool misspelt = key.size() <= shared_->source.limits.key_hint;
      const std::string hint = misspelt ? base::nearest(key, known_) : "";
      problem(at, key,
              hint.empty() ? fmt::format("unknown key; known are {}", fmt::join(known_, ", "))
                           : fmt::format("unknown key; did you mean \"{}\"?", hint));
    }
  }
  if (!shared_->error.empty()) return fail(shared_->error);
  return {};
}

}  // namespace stowage::yaml
