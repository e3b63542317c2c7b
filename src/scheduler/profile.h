// A scheduler name that pods may ask for (spec.schedulerName), and how its pods are placed.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/policy/options.h"
#include "dialect/dialect.h"
#include "net/event_loop.h"
#include "net/http.h"

namespace stowage::scheduler {

// An outside program that chooses among the best candidates. core::PolicyOptions::picker_candidates
// is their number.
struct PickerOptions {
  std::string url;  // "http://127.0.0.1:8900/pick" or "unix:/run/picker.sock"
  net::Duration timeout = std::chrono::milliseconds{50};
  std::size_t in_flight_max = 64;
  std::uint32_t failures_max = 5;                 // failures in a row before it is paused
  net::Duration pause = std::chrono::seconds{5};  // length of that pause
};
[[nodiscard]] Result<net::Url> parse_picker_url(std::string_view text);

struct Profile {
  std::string name;
  core::PolicyOptions policy;
  dialect::ReadOptions reading;
  std::optional<PickerOptions> picker;
};

// The profiles unless the configuration says otherwise: `stowage`, and the names of the schedulers
// that it replaces.
[[nodiscard]] std::vector<Profile> built_in_profiles();

}  // namespace stowage::scheduler
