// Tables for kubectl: columns for each resource, one row for each object. Pure.
#pragma once

#include <cstdint>

#include "base/json_writer.h"
#include "metricsapi/objects.h"

namespace stowage::metricsapi {

// What a row contains besides its cells.
enum class RowObject : std::uint8_t { none, metadata, whole };

// "columnDefinitions":[..]
void put_columns(base::JsonWriter& json, Resource resource);
// {"cells":[..],"object":{..}}
void put_row(base::JsonWriter& json, const ApiObject& object, RowObject with, const Now& now);

}  // namespace stowage::metricsapi
