// Base64 as in RFC 4648, with padding.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace stowage::kube {

[[nodiscard]] std::string base64_encode(std::string_view bytes);

// Line breaks are passed over, as kubeconfig files wrap long values. Unset if the text has any
// other character, or is cut short.
[[nodiscard]] std::optional<std::string> base64_decode(std::string_view text);

}  // namespace stowage::kube
