// Strict reading of one YAML mapping: every key is known, of the right type and within its range,
// or the error says file, line and key, and what to write. The first error sticks; later reads do
// nothing. Does not throw.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace stowage::yaml {

class StrictMap {
 public:
  struct Node;  // of the library

  // Of texts that come from anyone. Unlimited unless they are set.
  struct Limits {
    static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
    std::size_t shown = kNone;     // characters of a key or value in an error; dots for the rest
    std::size_t key_hint = kNone;  // a longer key is no misspelt one
    std::size_t word = kNone;      // characters of a value that word() takes
    std::size_t mappings = kNone;  // in lists, in all: aliases make many entries of few bytes
  };
  // The whole text as one mapping. An empty text is an empty mapping. `null_at_key`: an error about
  // a value that is not there names the line of its key; the library puts such a value where it has
  // noticed that it is missing, which may be a line further down.
  struct Source {
    std::string file;  // for errors
    Limits limits;
    bool null_at_key = false;
  };
  [[nodiscard]] static Result<StrictMap> parse(std::string_view text, Source source);

  ~StrictMap();
  StrictMap(StrictMap&&) noexcept;
  StrictMap& operator=(StrictMap&&) noexcept;

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
  void map(const std::string& key, const std::function<void(StrictMap&)>& read);
  // A list of mappings, at most so many.
  void list(const std::string& key, const std::function<void(StrictMap&)>& read,
            std::size_t most = Limits::kNone);
  // Any scalar that is not empty. Unset: the key is not there, or wrong: "expected <wanted>".
  std::optional<std::string> word(const std::string& key, const char* wanted);
  // A list of lists of so many scalars. Unset: it is something else, or has more lists.
  using Rows = std::vector<std::vector<std::string>>;
  struct RowsShape {
    std::size_t rows_max = 0;
    std::size_t columns = 0;
  };
  std::optional<Rows> rows(const std::string& key, RowsShape shape);
  [[nodiscard]] bool has(const std::string& key);  // known from now on

  // An error of the caller's own about this key, or the mapping where it has none: "file:line: key:
  // why".
  void refuse(const std::string& key, const std::string& why);
  // Unknown keys and everything noted before. Call last.
  [[nodiscard]] Status finish();

 private:
  struct Shared;
  StrictMap(std::unique_ptr<Node> node, std::shared_ptr<Shared> shared, std::string path);
  void problem(const Node& at, const std::string& key, const std::string& why);
  [[nodiscard]] std::string kind_of(const Node& node) const;
  [[nodiscard]] std::unique_ptr<Node> child(const std::string& key);
  [[nodiscard]] std::string path_of(const std::string& key) const;

  std::unique_ptr<Node> node_;
  std::shared_ptr<Shared> shared_;  // source and first error, of the whole document
  std::string path_;                // "profiles[0]"
  std::vector<std::string> known_;
};

// As duration() reads and problems name them; unset if the text is none.
[[nodiscard]] std::optional<std::chrono::nanoseconds> parse_duration(std::string_view text);
[[nodiscard]] std::string to_text(std::chrono::nanoseconds duration);

}  // namespace stowage::yaml
