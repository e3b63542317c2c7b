// What the plugin remembers about one Allocate: the CDI name that it answered, and later the cards
// that the name stands for. As a line of a file, and back. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "mps/client_limits.h"
#include "plugin/messages.h"

namespace stowage::plugin {

inline constexpr std::string_view kCdiKind = "stowage.dev/gpu";

// The cards of a container, as first read from the signed decision. They never change.
struct GivenCards {
  std::string pod_uid;
  std::string ns;
  std::string pod;
  std::string container;
  std::vector<std::string> cards;  // ids, in the order of the decision
  std::vector<mps::Share> shares;  // of each card
  std::int64_t decided_nanos = 0;  // when the controller decided
  friend bool operator==(const GivenCards&, const GivenCards&) = default;
};

struct Record {
  std::string name;  // of the CDI device: used for one Allocate, never again
  std::string resource;
  Ids ids;
  std::int64_t allocated_unix = 0;  // seconds
  std::optional<GivenCards> given;
  friend bool operator==(const Record&, const Record&) = default;
};

// Changes of the set of records, one line each.
struct Allocated {
  Record record;  // without `given`
  friend bool operator==(const Allocated&, const Allocated&) = default;
};
struct Given {
  std::string name;
  GivenCards cards;
  friend bool operator==(const Given&, const Given&) = default;
};
struct Dropped {
  std::string name;
  friend bool operator==(const Dropped&, const Dropped&) = default;
};
using RecordChange = std::variant<Allocated, Given, Dropped>;

inline constexpr std::size_t kRecordLineMax = std::size_t{512} << 10U;

// With the line break. A checksum shows whether the line was written completely.
[[nodiscard]] std::string to_line(const RecordChange& change);
// Puts the checksum before a text without line breaks.
[[nodiscard]] std::string record_line(std::string_view text);
[[nodiscard]] Result<RecordChange> parse_record_line(std::string_view line);

// "stowage.dev/gpu=<name>", and back; empty if it is another kind of device.
[[nodiscard]] std::string qualified_name(std::string_view name);
[[nodiscard]] std::string_view own_name(std::string_view qualified);
// 1 to 63 letters, digits, dots and dashes, with a letter or digit at both ends: safe in a file
// name.
[[nodiscard]] bool is_cdi_name(std::string_view name);

}  // namespace stowage::plugin
