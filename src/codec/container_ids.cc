#include "codec/container_ids.h"

#include <utility>

#include "codec/fields.h"
#include "codec/json_in.h"

namespace stowage::codec {
namespace {

Status read_one(JsonValue& value, ContainerIds& out) {
  std::string name;
  std::string id;
  STOWAGE_TRY_VOID(each_field(value, [&](std::string_view key, JsonValue& field) -> Status {
    if (key == "name") return read(field, name);
    return key == "containerID" ? read(field, id) : Status{};
  }));
  const std::size_t scheme = id.find("://");
  if (scheme != std::string::npos) id.erase(0, scheme + 3);
  if (!name.empty() && !id.empty()) out.insert_or_assign(std::move(name), std::move(id));
  return {};
}

Status read_status(JsonValue& value, ContainerIds& out) {
  return each_field(value, [&](std::string_view key, JsonValue& field) -> Status {
    if (key != "containerStatuses" && key != "initContainerStatuses" &&
        key != "ephemeralContainerStatuses") {
      return {};
    }
    return each_element(field, [&](JsonValue& element) { return read_one(element, out); });
  });
}

}  // namespace

Result<ContainerIds> read_container_ids(std::string_view json) {
  JsonText text;
  ContainerIds ids;
  STOWAGE_TRY(fields, text.open(json, kMaxObjectBytes));
  STOWAGE_TRY_VOID(each_field(fields, [&](std::string_view key, JsonValue& value) -> Status {
    return key == "status" ? read_status(value, ids) : Status{};
  }));
  STOWAGE_TRY_VOID(text.close());
  return ids;
}

}  // namespace stowage::codec
