// A CDI specification of a driver: what is read can be written, and has only absolute paths.
#include <algorithm>

#include "base/testing/json_check.h"
#include "fuzz/fuzz.h"
#include "plugin/nvidia_spec.h"

namespace stowage::fuzz {

void one(std::string_view input) {
  const auto spec = plugin::parse_nvidia_spec(input, "nvidia.yaml");
  if (!good(spec) || !*spec) return;
  std::vector<plugin::CardNames> cards;
  for (const auto& [name, edits] : (*spec)->devices) {
    if (cards.size() < 4) cards.push_back({.id = name, .number = name, .device_minor = {}});
  }
  const auto edits = plugin::edits_for({**spec}, cards);
  STOWAGE_CHECK(good(edits));
  const auto paths = plugin::host_paths(*edits);
  STOWAGE_CHECK(std::all_of(paths.begin(), paths.end(),
                            [](const std::string& path) { return path.starts_with('/'); }));
  STOWAGE_CHECK(base::JsonCheck::valid(plugin::cdi_spec("a-1", *edits)));
}

}  // namespace stowage::fuzz
