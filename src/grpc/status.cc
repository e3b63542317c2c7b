#include "grpc/status.h"

#include <array>
#include <charconv>
#include <cstddef>

#include <fmt/format.h>
#include <nghttp2/nghttp2.h>

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

const char* to_word(Code code) {
  const auto number = static_cast<std::size_t>(code);
  return number < kWords.size() ? kWords[number] : "UNKNOWN";
}

std::string to_text(const CallStatus& status) {
  if (status.message.empty()) return to_word(status.code);
  return fmt::format("{}: {}", to_word(status.code), status.message);
}

Code code_of_text(std::string_view text) {
  unsigned number = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number);
  if (parsed.ec != std::errc{} || parsed.ptr != end || number >= kWords.size()) {
    return Code::unknown;
  }
  return static_cast<Code>(number);
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
