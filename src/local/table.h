// Tables as kubectl prints them: columns per kind, one row per object. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "local/json.h"
#include "local/resources.h"
#include "local/store.h"
#include "local/wall_time.h"

namespace stowage::local {

struct TableColumn {
  std::string_view name;
  bool number = false;
  bool wide = false;  // shown with -o wide only
};

enum class RowObject : std::uint8_t { none, metadata, whole };

[[nodiscard]] std::span<const TableColumn> columns_of(Kind kind);

// One cell per column, in order.
[[nodiscard]] json::array cells_of(Kind kind, const json::object& object, WallTime now);

// Appends {"cells":[..],"object":{..}}.
void append_row(std::string& out, const StoredObject& object, RowObject with, WallTime now);
// Appends "columnDefinitions":[..].
void append_columns(std::string& out, Kind kind);

// The cells of the kinds that need more code.
[[nodiscard]] json::array pod_cells(const json::object& pod, WallTime now);
[[nodiscard]] json::array node_cells(const json::object& node, WallTime now);
[[nodiscard]] json::array event_cells(const json::object& event, WallTime now);
[[nodiscard]] json::array job_cells(const json::object& job, WallTime now);
[[nodiscard]] json::array service_cells(const json::object& service, WallTime now);

// The time since then, or "<unknown>".
[[nodiscard]] std::string age_since(const json::object& object, std::string_view path,
                                    WallTime now);
// The names and images of a pod template's containers, each separated by commas.
struct ContainerCells {
  std::string names;
  std::string images;
};
[[nodiscard]] ContainerCells container_cells(const json::object& object);
// The selector of a workload as text.
[[nodiscard]] std::string selector_cell(const json::object& object);

}  // namespace stowage::local
