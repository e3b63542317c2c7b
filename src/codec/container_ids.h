// The running containers of a pod, by the ids of their runtime.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace stowage::codec {

// From the status of a Pod: ids by container name, without the prefix of the runtime
// ("containerd://"). Containers that have never run have none.
using ContainerIds = std::map<std::string, std::string>;
[[nodiscard]] Result<ContainerIds> read_container_ids(std::string_view json);

}  // namespace stowage::codec
