#include "features.h"

#include <array>

#include "base/rng.h"

namespace stowage::faults {
namespace {

constexpr std::array<std::string_view, kFeatures> kNames{
    "devices", "resize",   "unread",  "reorder",  "rules",  "waits",   "nominations",
    "reload",  "volumes",  "late",    "lease",    "forged", "hostile", "quota",
    "proxy",   "unlisted", "indexed", "restarts", "replies"};

// Percent of the runs that have it.
constexpr std::array<std::uint32_t, kFeatures> kChance{45, 60, 40, 40, 30, 30, 30, 30, 35, 35,
                                                       30, 30, 15, 40, 20, 40, 50, 30, 30};

}  // namespace

Features draw_features(std::uint64_t seed, const FeatureChoice& choice) {
  Features drawn;
  base::Rng rng(seed * 0x9E3779B97F4A7C15ULL + 77);
  for (std::uint32_t i = 0; i < kFeatures; ++i) {
    if (rng.below(100) < kChance.at(i)) drawn.add(static_cast<Feature>(i));
  }
  if (choice.only) drawn = *choice.only;
  for (std::uint32_t i = 0; i < kFeatures; ++i) {
    const auto feature = static_cast<Feature>(i);
    if (choice.without.has(feature)) drawn.remove(feature);
  }
  // These concern counted nodes, which exist only with devices.
  const bool counted = drawn.has(Feature::devices);
  for (const Feature each : {Feature::resize, Feature::unread, Feature::nominations}) {
    if (!drawn.has(each)) continue;
    if (choice.only) {
      drawn.add(Feature::devices);
    } else if (!counted) {
      drawn.remove(each);
    }
  }
  // The inventories of its nodes come and go.
  if (drawn.has(Feature::indexed) && !drawn.has(Feature::unlisted)) {
    choice.only ? drawn.add(Feature::unlisted) : drawn.remove(Feature::indexed);
  }
  return drawn;
}

std::string_view name_of(Feature feature) { return kNames.at(static_cast<std::size_t>(feature)); }

std::optional<Features> parse_features(std::string_view text) {
  Features features;
  if (text == "none") return features;
  while (!text.empty()) {
    const std::string_view name = text.substr(0, text.find(','));
    text.remove_prefix(name.size() == text.size() ? name.size() : name.size() + 1);
    bool known = false;
    for (std::uint32_t i = 0; i < kFeatures; ++i) {
      if (kNames.at(i) != name) continue;
      features.add(static_cast<Feature>(i));
      known = true;
    }
    if (!known) return std::nullopt;
  }
  return features;
}

std::string to_text(const Features& features) {
  std::string text;
  for (std::uint32_t i = 0; i < kFeatures; ++i) {
    if (!features.has(static_cast<Feature>(i))) continue;
    if (!text.empty()) text += ",";
    text += kNames.at(i);
  }
  return text.empty() ? "none" : text;
}

}  // namespace stowage::faults
