// Which containers of a pod run, by the ids that their runtime has for them.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace stowage::codec {

// From the status of a Pod: ids by the container's name, without the runtime's ("containerd://").
// Containers that have never run have none.
using ContainerIds = std::map<std::string, std::string>;
[[nodiscard]] Result<ContainerIds> read_container_ids(std::string_view json);

}  // namespace stowage::codec
