// Paths of health, metrics and version, the same on every listener that has them.
#pragma once

#include <string_view>

namespace stowage::net {

inline constexpr std::string_view kHealthzPath = "/healthz";
inline constexpr std::string_view kLivezPath = "/livez";
inline constexpr std::string_view kReadyzPath = "/readyz";
inline constexpr std::string_view kMetricsPath = "/metrics";
inline constexpr std::string_view kVersionPath = "/version";

}  // namespace stowage::net
