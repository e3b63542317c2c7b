// Strict reading of the mappings of a YAML file: what is wrong is said with the line and the key,
// and the first such thing counts. Only for the .cc files of this folder that read YAML.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace stowage::gpu {

class YamlFields {
 public:
  struct Node;  // of the library

  // Reads the one mapping that the text is, and says what is wrong with it. An empty text is an
  // empty mapping. Never throws.
  [[nodiscard]] static Status read(std::string_view text, const std::string& file,
                                   const std::function<void(YamlFields&)>& take);

  YamlFields(const YamlFields&) = delete;
  YamlFields& operator=(const YamlFields&) = delete;

  // Each knows the key from then on. Unset: the key is not there, or wrong.
  [[nodiscard]] bool has(const std::string& key);
  std::optional<std::string> text(const std::string& key);
  std::optional<bool> flag(const std::string& key);
  struct Range {
    std::int64_t least = 0;
    std::int64_t most = 0;
  };
  std::optional<std::int64_t> whole(const std::string& key, Range range);
  // A number with a point, of which at most so many digits count: "72.5" is 725 with one.
  std::optional<std::int64_t> decimal(const std::string& key, int digits, Range range);
  // The mappings of a list.
  struct List {
    std::size_t most = 0;
    std::function<void(YamlFields&)> take;
  };
  void list(const std::string& key, const List& list);
  // A list of lists of three whole numbers.
  std::vector<std::vector<std::int64_t>> triples(const std::string& key, std::size_t most);

  // Something is wrong with the value of this key, or with the mapping if it has no such key.
  void refuse(const std::string& key, const std::string& why);

 private:
  struct Shared;
  YamlFields(const Node& node, Shared& shared, std::string path);
  ~YamlFields();
  void problem(const Node& at, const std::string& key, const std::string& why);
  [[nodiscard]] std::optional<Node> child(const std::string& key);
  [[nodiscard]] std::string path_of(const std::string& key) const;
  std::optional<std::string> scalar(const std::string& key, const char* wanted);
  void check_keys();

  std::unique_ptr<Node> node_;
  Shared& shared_;
  std::string path_;  // "cards[0]"
  std::vector<std::string> known_;
};

}  // namespace stowage::gpu
