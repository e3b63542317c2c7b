// Reads values of a card file from a strict YAML mapping, limited in length and number. Errors name
// the line and the key; the first one counts.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "yaml/strict_map.h"

namespace stowage::gpu {

class YamlFields {
 public:
  // Reads the text, which must be one mapping, and returns the first error. An empty text is an
  // empty mapping. Never throws.
  [[nodiscard]] static Status read(std::string_view text, const std::string& file,
                                   const std::function<void(YamlFields&)>& take);
  // All keys that this function reads (yaml::StrictMap::keys_of).
  [[nodiscard]] static std::vector<yaml::StrictMap::Key> keys_of(
      const std::function<void(YamlFields&)>& take);

  // Each call marks the key as known. Unset: the key is absent or its value is wrong.
  [[nodiscard]] bool has(const std::string& key) { return map_.has(key); }
  std::optional<std::string> text(const std::string& key);
  std::optional<bool> flag(const std::string& key);
  struct Range {
    std::int64_t least = 0;
    std::int64_t most = 0;
  };
  std::optional<std::int64_t> whole(const std::string& key, Range range);
  // A decimal number with at most `digits` digits after the point: "72.5" is 725 with one.
  std::optional<std::int64_t> decimal(const std::string& key, int digits, Range range);
  // The mappings of a list.
  struct List {
    std::size_t most = 0;
    std::function<void(YamlFields&)> take;
  };
  void list(const std::string& key, const List& list);
  // A list of lists of three integers.
  std::vector<std::vector<std::int64_t>> triples(const std::string& key, std::size_t most);

  // Reports an error in the value of this key, or in the mapping if it has no such key.
  void refuse(const std::string& key, const std::string& why) { map_.refuse(key, why); }

 private:
  explicit YamlFields(yaml::StrictMap& map) : map_(map) {}

  yaml::StrictMap& map_;
};

}  // namespace stowage::gpu
