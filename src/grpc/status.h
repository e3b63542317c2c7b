// How a call ended, in gRPC's terms: a code for programs and a message for people.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace stowage::grpc {

// The numbers are those on the wire.
enum class Code : std::uint8_t {
  ok = 0,
  cancelled = 1,
  unknown = 2,
  invalid_argument = 3,
  deadline_exceeded = 4,
  not_found = 5,
  already_exists = 6,
  permission_denied = 7,
  resource_exhausted = 8,
  failed_precondition = 9,
  aborted = 10,
  out_of_range = 11,
  unimplemented = 12,
  internal = 13,
  unavailable = 14,
  data_loss = 15,
  unauthenticated = 16,
};

[[nodiscard]] const char* to_string(Code code);  // "UNAVAILABLE"

struct CallStatus {
  Code code = Code::ok;
  std::string message;
  // The peer sent this status itself. Otherwise it was derived here: from a lost connection, a
  // limit, a deadline, or an invalid answer.
  bool by_peer = false;

  [[nodiscard]] bool ok() const { return code == Code::ok; }
  friend bool operator==(const CallStatus&, const CallStatus&) = default;
};

[[nodiscard]] std::string to_text(const CallStatus& status);  // "UNAVAILABLE: no such file"

// The value of the header grpc-status. An unknown value is `unknown`.
[[nodiscard]] Code code_of_text(std::string_view text);
// For an answer without grpc-status: from the HTTP status, or from the HTTP/2 error that reset the
// stream.
[[nodiscard]] Code code_of_http(int status);
[[nodiscard]] Code code_of_reset(std::uint32_t error);

}  // namespace stowage::grpc
