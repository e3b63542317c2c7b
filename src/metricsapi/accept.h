// The header Accept: the format that a client wants. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace stowage::metricsapi {

enum class Form : std::uint8_t { object, table };

// The client's preferred format of those that we produce: JSON, or a Table of meta.k8s.io/v1. Among
// equal preferences the first counts. Unset: it accepts none of them. Without the header: an
// object.
[[nodiscard]] std::optional<Form> wanted_form(std::string_view accept);

}  // namespace stowage::metricsapi
