// Strict reading of one YAML mapping: every key is known, of the right type and within its range,
// or the error says where and what to write. The first error sticks; later reads do nothing.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace stowage::controller {

class YamlMap {
 public:
  struct Node;  // of the library

  // The whole text as one mapping. An empty text is an empty mapping.
  [[nodiscard]] static Result<YamlMap> parse(std::string_view text, const std::string& file);

  ~YamlMap();
  YamlMap(YamlMap&&) noexcept;
  YamlMap& operator=(YamlMap&&) noexcept;

  struct Range {
    double min = 0;
    double max = 0;
  };
  struct DurationRange {
    std::chrono::nanoseconds min{};
    std::chrono::nanoseconds max{};
  };
  // Each reads the key if it is there, and notes it as known.
  void text(const std::string& key, std::string& value);
  void texts(const std::string& key, std::vector<std::string>& values);  // a list of them
  void boolean(const std::string& key, bool& value);
  void number(const std::string& key, const Range& range, double& value);
  void whole(const std::string& key, const Range& range, std::uint32_t& value);
  // "50ms", "60s", "10m", "1h"; a number alone is refused, unless it is 0.
  void duration(const std::string& key, const DurationRange& range,
                std::chrono::nanoseconds& value);
  void map(const std::string& key, const std::function<void(YamlMap&)>& read);
  void list(const std::string& key, const std::function<void(YamlMap&)>& read);
  [[nodiscard]] bool has(const std::string& key);  // known from now on

  // An error of the caller's own about this key: "file:line: key: why".
  void refuse(const std::string& key, const std::string& why);
  // Unknown keys and everything noted before. Call last.
  [[nodiscard]] Status finish();

 private:
  struct Shared;
  YamlMap(std::unique_ptr<Node> node, std::shared_ptr<Shared> shared, std::string path);
  void problem(const Node& at, const std::string& key, const std::string& why);
  [[nodiscard]] std::unique_ptr<Node> child(const std::string& key);
  [[nodiscard]] std::string path_of(const std::string& key) const;

  std::unique_ptr<Node> node_;
  std::shared_ptr<Shared> shared_;  // file name and first error, of the whole document
  std::string path_;                // "profiles[0]"
  std::vector<std::string> known_;
};

// As duration() reads and problems name them; unset if the text is none.
[[nodiscard]] std::optional<std::chrono::nanoseconds> parse_duration(std::string_view text);
[[nodiscard]] std::string to_text(std::chrono::nanoseconds duration);

}  // namespace stowage::controller
