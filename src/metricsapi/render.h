// Objects, lists, tables and lines of a watch as bytes. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "metricsapi/answers.h"
#include "metricsapi/request.h"
#include "metricsapi/watch_cache.h"

namespace stowage::metricsapi {

[[nodiscard]] std::string render_one(const ApiObject& object, const Shape& shape, const Now& now);
// All selected objects, by name.
[[nodiscard]] std::string render_list(const WatchCache& watch_cache, const Shape& shape,
                                      const Selector& selector);

// ---- lines of a watch, each with its line break

enum class Change : std::uint8_t { added, modified, deleted };
enum class Columns : std::uint8_t { with, without };  // only the first table of a watch has them
[[nodiscard]] std::string watch_line(Change change, const ApiObject& object, const Shape& shape,
                                     Columns columns, const Now& now);
// Only in the style of Kubernetes. `initial_end`: all initial objects have been sent.
[[nodiscard]] std::string bookmark_line(std::uint64_t version, const Shape& shape,
                                        bool initial_end);
[[nodiscard]] std::string error_line(const ApiError& error);

}  // namespace stowage::metricsapi
