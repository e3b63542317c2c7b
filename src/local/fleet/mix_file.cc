#include "local/fleet/mix_file.h"

#include <functional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include "base/file.h"
#include "base/nearest.h"
#include "base/number.h"
#include "base/quantity.h"
#include "local/names.h"

namespace stowage::local {
namespace {

constexpr std::int64_t kCoresMax = 4096;
constexpr std::int64_t kMemoryMibMax = 1LL << 30U;  // a pebibyte
constexpr std::int64_t kMib = 1LL << 20U;

const std::vector<std::string>& root_keys() {
  static const std::vector<std::string> kKeys{"nodes"};
  return kKeys;
}
const std::vector<std::string>& group_keys() {
  static const std::vector<std::string> kKeys{"count", "name",   "gpus",   "model",
                                              "cpu",   "memory", "labels", "taints"};
  return kKeys;
}
const std::vector<std::string>& taint_keys() {
  static const std::vector<std::string> kKeys{"key", "value", "effect"};
  return kKeys;
}

class MixReader {
 public:
  explicit MixReader(std::string file) : file_(std::move(file)) {}

  Result<std::vector<NodeGroup>> read(const YAML::Node& root) {
    std::vector<NodeGroup> groups;
    STOWAGE_TRY_VOID(each_key(root, "", root_keys(), [&](const auto&, const YAML::Node& list) {
      return read_groups(list, groups);
    }));
    if (groups.empty())
      return fail(fmt::format("{}: the list \"nodes\" is missing or empty", file_));
    auto total = count_nodes(groups);
    if (!total) return fail(fmt::format("{}: {}", file_, total.error().message));
    return groups;
  }

 private:
  using OnKey = std::function<Status(const std::string& key, const YAML::Node& value)>;

  [[nodiscard]] tl::unexpected<Error> wrong(const YAML::Node& at, const std::string& path,
                                            const std::string& trouble) const {
    const YAML::Mark mark = at.Mark();
    const std::string line = mark.is_null() ? "" : fmt::format(":{}", mark.line + 1);
    return fail(fmt::format("{}{}: {} {}", file_, line, path.empty() ? "the file" : path, trouble));
  }

  // Calls for each key of a mapping; every key must be in `known`, unless `known` is empty.
  [[nodiscard]] Status each_key(const YAML::Node& map, const std::string& path,
                                const std::vector<std::string>& known, const OnKey& on_key) const {
    if (!map.IsMap()) return wrong(map, path, "must be a mapping (key: value)");
    std::set<std::string> seen;
    for (const auto& entry : map) {
      if (!entry.first.IsScalar())
        return wrong(entry.first, path, "has a key that is not a string");
      const std::string key = entry.first.Scalar();
      const std::string full = path.empty() ? key : fmt::format("{}.{}", path, key);
      if (!seen.insert(key).second) return wrong(entry.first, full, "is given twice");
      if (!known.empty() && std::find(known.begin(), known.end(), key) == known.end()) {
        const std::string near = base::nearest(key, known);
        return wrong(entry.first, full,
                     near.empty() ? fmt::format("is unknown; known are {}", fmt::join(known, ", "))
                                  : fmt::format("is unknown; did you mean {}?", near));
      }
      STOWAGE_TRY_VOID(on_key(key, entry.second));
    }
    return {};
  }

  [[nodiscard]] Status each_item(
      const YAML::Node& list, const std::string& path,
      const std::function<Status(const YAML::Node&, const std::string&)>& on_item) const {
    if (!list.IsSequence()) return wrong(list, path, "must be a list");
    std::size_t index = 0;
    for (const YAML::Node& item : list) {
      STOWAGE_TRY_VOID(on_item(item, fmt::format("{}[{}]", path, index++)));
    }
    return {};
  }

  [[nodiscard]] Result<std::string> text(const YAML::Node& value, const std::string& path) const {
    if (!value.IsScalar()) return wrong(value, path, "must be a text");
    return value.Scalar();
  }

  struct Range {
    std::int64_t least = 0;
    std::int64_t most = 0;
  };
  [[nodiscard]] Result<std::int64_t> number(const YAML::Node& value, const std::string& path,
                                            Range range) const {
    STOWAGE_TRY(word, text(value, path));
    const auto result = base::parse_number<std::int64_t>(word);
    if (!result || *result < range.least || *result > range.most) {
      return wrong(value, path,
                   fmt::format("is \"{}\": write a whole number from {} to {}", word, range.least,
                               range.most));
    }
    return *result;
  }

  [[nodiscard]] Result<std::int64_t> memory_mib(const YAML::Node& value,
                                                const std::string& path) const {
    STOWAGE_TRY(word, text(value, path));
    const auto quantity = base::Quantity::parse(word);
    const auto bytes = quantity ? quantity->units() : Result<std::int64_t>(0);
    if (!bytes || *bytes < kMib || *bytes / kMib > kMemoryMibMax) {
      return wrong(value, path,
                   fmt::format("is \"{}\": write an amount such as 512Gi or 1Ti", word));
    }
    return *bytes / kMib;
  }

  Status read_groups(const YAML::Node& list, std::vector<NodeGroup>& groups) {
    return each_item(list, "nodes", [&](const YAML::Node& item, const std::string& path) -> Status {
      NodeGroup group;
      STOWAGE_TRY_VOID(read_group(item, path, group));
      groups.push_back(std::move(group));
      return {};
    });
  }

  Status read_group(const YAML::Node& map, const std::string& path, NodeGroup& group) {
    bool has_model = false;
    bool has_gpus = false;
    STOWAGE_TRY_VOID(
        each_key(map, path, group_keys(), [&](const std::string& key, const YAML::Node& v) {
          has_model = has_model || key == "model";
          has_gpus = has_gpus || key == "gpus";
          return read_key(key, v, path + "." + key, group);
        }));
    if (has_model && !has_gpus) {
      return wrong(map, path, "has a model but no number of cards: add gpus");
    }
    if (group.gpus > 0 && !has_model) {
      return wrong(map, path, "has cards but no model: add model, such as A100-80GB");
    }
    return {};
  }

  Status read_key(const std::string& key, const YAML::Node& value, const std::string& path,
                  NodeGroup& group) {
    if (key == "labels") return read_labels(value, path, group);
    if (key == "taints") return read_taints(value, path, group);
    if (key == "count") {
      STOWAGE_TRY(count, number(value, path, {1, kNodesMax}));
      group.count = static_cast<std::int32_t>(count);
    } else if (key == "gpus") {
      STOWAGE_TRY(gpus, number(value, path, {0, kCardsPerNodeMax}));
      group.gpus = static_cast<std::int32_t>(gpus);
    } else if (key == "cpu") {
      STOWAGE_TRY_ASSIGN(group.cpu, number(value, path, {1, kCoresMax}));
    } else if (key == "memory") {
      STOWAGE_TRY_ASSIGN(group.memory_mib, memory_mib(value, path));
    } else if (key == "name") {
      STOWAGE_TRY(name, text(value, path));
      // Leaves space for the number of the node.
      if (name.size() > 50 || dns_label_problem(name)) {
        return wrong(
            value, path,
            fmt::format("is \"{}\": write at most 50 lower case letters, digits and -", name));
      }
      group.name = name;
    } else {
      STOWAGE_TRY(name, text(value, path));
      auto model = find_card_model(name);
      if (!model) return wrong(value, path, "is wrong: " + model.error().message);
      group.model = *std::move(model);
    }
    return {};
  }

  Status read_labels(const YAML::Node& map, const std::string& path, NodeGroup& group) {
    return each_key(map, path, {}, [&](const std::string& key, const YAML::Node& v) -> Status {
      STOWAGE_TRY(value, text(v, path + "." + key));
      const auto problem = label_key_problem(key);
      if (problem) return wrong(v, path, fmt::format("has a bad key \"{}\": {}", key, *problem));
      const auto bad = label_value_problem(value);
      if (bad) return wrong(v, path + "." + key, fmt::format("is \"{}\": {}", value, *bad));
      group.labels.emplace_back(key, value);
      return {};
    });
  }

  Status read_taints(const YAML::Node& list, const std::string& path, NodeGroup& group) {
    return each_item(list, path, [&](const YAML::Node& item, const std::string& at) -> Status {
      NodeTaint taint;
      STOWAGE_TRY_VOID(each_key(
          item, at, taint_keys(), [&](const std::string& key, const YAML::Node& v) -> Status {
            STOWAGE_TRY(word, text(v, at + "." + key));
            (key == "key" ? taint.key : key == "value" ? taint.value : taint.effect) = word;
            return {};
          }));
      if (label_key_problem(taint.key) || label_value_problem(taint.value)) {
        return wrong(
            item, at,
            fmt::format("is \"{}={}\", which is not a valid taint", taint.key, taint.value));
      }
      if (taint.effect != "NoSchedule" && taint.effect != "PreferNoSchedule" &&
          taint.effect != "NoExecute") {
        return wrong(item, at + ".effect",
                     fmt::format("is \"{}\": write NoSchedule, PreferNoSchedule or NoExecute",
                                 taint.effect));
      }
      group.taints.push_back(std::move(taint));
      return {};
    });
  }

  std::string file_;
};

}  // namespace

Result<std::vector<NodeGroup>> parse_mix(const std::string& file, const std::string& text) {
  try {
    const YAML::Node document = YAML::Load(text);
    if (!document.IsDefined() || document.IsNull()) {
      return fail(fmt::format("{}: it is empty; write a list \"nodes\"", file));
    }
    if (text.find("\n---", 1) != std::string::npos) {
      return fail(fmt::format("{}: it has several documents", file));
    }
    return MixReader(file).read(document);
  } catch (const YAML::Exception& error) {
    const std::string line = error.mark.is_null() ? "" : fmt::format(":{}", error.mark.line + 1);
    return fail(fmt::format("{}{}: not YAML: {}", file, line, error.msg));
  }
}

Result<std::vector<NodeGroup>> read_mix_file(const std::string& file) {
  STOWAGE_TRY(text, base::read_file(file));
  return parse_mix(file, text);
}

std::vector<std::string> mix_file_keys() {
  std::vector<std::string> keys;
  for (const std::string& root : root_keys()) {
    for (const std::string& key : group_keys()) {
      if (key != "taints") {
        keys.push_back(fmt::format("{}[].{}", root, key));
        continue;
      }
      for (const std::string& inner : taint_keys()) {
        keys.push_back(fmt::format("{}[].{}[].{}", root, key, inner));
      }
    }
  }
  return keys;
}

}  // namespace stowage::local
