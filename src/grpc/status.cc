#include "grpc/status.h"

#include <array>
#include <cstddef>

#include <fmt/format.h>
#include <nghttp2/nghttp2.h>

#include "base/number.h"

namespace stowage::grpc {
namespace {

constexpr std::array<const char*, 17> kWords = {
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
};

}  // namespace

const char* to_string(Code code) {
  const auto number = static_cast<std::size_t>(code);
  return number < kWords.size() ? kWords[number] : "UNKNOWN";
}

std::string to_text(const CallStatus& status) {
  if (status.message.empty()) return to_string(status.code);
  return fmt::format("{}: {}", to_string(status.code), status.message);
}

Code code_of_text(std::string_view text) {
  const auto number = base::parse_number<unsigned>(text);
  return number && *number < kWords.size() ? static_cast<Code>(*number) : Code::unknown;
}

Code code_of_http(int status) {
  switch (status) {
    case 400: return Code::internal;
    case 401: return Code::unauthenticated;
    case 403: return Code::permission_denied;
    case 404: return Code::unimplemented;
    case 429:
    case 502:
    case 503:
    case 504: return Code::unavailable;
    default: return Code::unknown;
  }
}

Code code_of_reset(std::uint32_t error) {
  switch (error) {
    case NGHTTP2_REFUSED_STREAM: return Code::unavailable;
    case NGHTTP2_CANCEL: return Code::cancelled;
    case NGHTTP2_ENHANCE_YOUR_CALM: return Code::resource_exhausted;
    case NGHTTP2_INADEQUATE_SECURITY: return Code::permission_denied;
    case NGHTTP2_STREAM_CLOSED: return Code::unknown;
    default: return Code::internal;
  }
}

}  // namespace stowage::grpc
