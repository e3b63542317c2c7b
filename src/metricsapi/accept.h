// The header Accept: in which form a client wants to have objects. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace stowage::metricsapi {

enum class Form : std::uint8_t { object, table };

// What the client likes best of what can be made: JSON, or a Table of meta.k8s.io/v1. Of equal
// wishes the first counts. Unset: it takes none of them. Nothing said: an object.
[[nodiscard]] std::optional<Form> wanted_form(std::string_view accept);

}  // namespace stowage::metricsapi
