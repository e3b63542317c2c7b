// parse_config: errors name the file, and what is accepted is within the limits of each key.
#include <set>
#include <string>

#include "controller/config.h"
#include "fuzz/fuzz.h"

namespace stowage::fuzz {

void one(std::string_view input) {
  const auto config = controller::parse_config(input, "f.yaml");
  if (!good(config)) {
    STOWAGE_CHECK(config.error().message.find("f.yaml") != std::string::npos);
    return;
  }
  const controller::Config::Api& api = config->api;
  STOWAGE_CHECK(api.calls_per_second >= 0 && api.calls_per_second <= 1e6);
  STOWAGE_CHECK(api.burst >= 1 && api.binds_in_flight >= 1 && api.binds_in_flight <= 10'000);
  STOWAGE_CHECK(config->events.per_second > 0 && config->events.burst >= 1);
  STOWAGE_CHECK(!config->profiles.empty());
  std::set<std::string> names;
  for (const auto& profile : config->profiles) {
    STOWAGE_CHECK(!profile.name.empty() && names.insert(profile.name).second);
  }
}

}  // namespace stowage::fuzz
