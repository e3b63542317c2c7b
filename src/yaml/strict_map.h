// Strict reading of one YAML mapping: every key must be known, have the right type and be within
// its range. Otherwise the error gives file, line and key, and what to write. The first error is
// kept; later reads do nothing. Does not throw.
#pragma once

#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace stowage::yaml {

class StrictMap {
 public:
  struct Node;  // wraps the library's node

  // Limits for untrusted texts. Unlimited by default.
  struct Limits {
    static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
    std::size_t shown =
        kNone;  // characters of a key or value in an error; the rest is replaced by dots
    std::size_t key_hint = kNone;  // a longer key gets no spelling suggestion
    std::size_t word = kNone;      // most characters of a value for word()
    std::size_t mappings =
        kNone;  // in all lists together: aliases can create many entries from few bytes
  };
  // The whole text as one mapping. An empty text is an empty mapping. `null_at_key`: an error about
  // a missing value gives the line of its key. The library's position of such a value may be a line
  // further down.
  struct Source {
    std::string file;  // for errors
    Limits limits;
    bool null_at_key = false;
  };
  [[nodiscard]] static Result<StrictMap> parse(std::string_view text, Source source);

  // A key that a reader reads, e.g. "profiles[].picker.timeout" with the type "duration".
  struct Key {
    std::string path;
    std::string type;
    std::string now;  // for a deprecated name: the path to use
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  // All keys that this function reads, in order. It is called with a document in which every
  // mapping and list exists, with one entry, and no other key does. Errors that it reports are
  // ignored.
  [[nodiscard]] static std::vector<Key> keys_of(const std::function<void(StrictMap&)>& read);

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
  // Each reads the key if it is present, and marks it as known.
  void text(const std::string& key, std::string& value);
  void texts(const std::string& key, std::vector<std::string>& values);  // a list of texts
  void boolean(const std::string& key, bool& value);
  void number(const std::string& key, const Range& range, double& value);
  void whole(const std::string& key, const Range& range, std::uint32_t& value);
  // "50ms", "60s", "10m", "1h"; a plain number is an error, except 0.
  void duration(const std::string& key, const DurationRange& range,
                std::chrono::nanoseconds& value);
  void map(const std::string& key, const std::function<void(StrictMap&)>& read);
  // A list of mappings, limited in length.
  void list(const std::string& key, const std::function<void(StrictMap&)>& read,
            std::size_t most = Limits::kNone);
  // Any non-empty scalar. Unset: the key is missing or invalid: "expected <wanted>".
  std::optional<std::string> word(const std::string& key, const char* wanted);
  // A list of lists with this many scalars each. Unset: it is something else, or has more lists.
  using Rows = std::vector<std::vector<std::string>>;
  struct RowsShape {
    std::size_t rows_max = 0;
    std::size_t columns = 0;
  };
  std::optional<Rows> rows(const std::string& key, RowsShape shape);
  [[nodiscard]] bool has(const std::string& key);  // marks the key as known
  // Allows the old name of this key in documents, but not both names. A reader reads only the new
  // name; warnings() reports both if the old one is present.
  struct Renamed {
    std::string old;
    std::string now;
  };
  void renamed(const Renamed& key);

  // Reports the caller's own error about this key, or about the mapping if the key is missing:
  // "file:line: key: why".
  void refuse(const std::string& key, const std::string& why);
  // Reports unknown keys and all earlier errors. Call it last.
  [[nodiscard]] Status finish();
  // For the whole document so far: "file:line: old.path: deprecated; use new.path".
  [[nodiscard]] std::vector<std::string> warnings() const;

 private:
  struct Shared;
  StrictMap(std::unique_ptr<Node> node, std::shared_ptr<Shared> shared, std::string path);
  void problem(const Node& at, const std::string& key, const std::string& why);
  [[nodiscard]] std::string kind_of(const Node& node) const;
  [[nodiscard]] std::unique_ptr<Node> child(const std::string& key);
  [[nodiscard]] std::unique_ptr<Node> find(const std::string& key) const;
  void note(const std::string& key, const char* type);
  void enter(const std::string& key, const std::function<void(StrictMap&)>& read);
  [[nodiscard]] std::string path_of(const std::string& key) const;

  std::unique_ptr<Node> node_;
  std::shared_ptr<Shared> shared_;  // source and first error of the whole document
  std::string path_;                // "profiles[0]"
  std::vector<std::string> known_;
  std::map<std::string, std::string> old_names_;  // by new name
};

// Durations as duration() reads them and error messages show them; unset if the text is invalid.
[[nodiscard]] std::optional<std::chrono::nanoseconds> parse_duration(std::string_view text);
[[nodiscard]] std::string to_text(std::chrono::nanoseconds duration);

}  // namespace stowage::yaml
