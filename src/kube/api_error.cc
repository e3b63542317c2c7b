#include <charconv>

#include <fmt/format.h>

#include "codec/kubernetes.h"
#include "kube/api_client.h"

namespace stowage::kube {
namespace {

constexpr std::size_t kBodyShown = 200;

// The server's own words: the message of a Status, or the beginning of whatever else it sent.
std::string words_of(const ApiReply& reply, codec::StatusObject& status) {
  codec::Decoder decoder;
  if (auto decoded = decoder.status(reply.body)) status = std::move(*decoded);
  if (!status.message.empty()) return status.message;
  std::string text = reply.body.substr(0, kBodyShown);
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  }
  return text;
}

}  // namespace

std::string explain(const std::string& what, const ApiReply& reply) {
  codec::StatusObject status;
  const std::string words = words_of(reply, status);
  std::string text = fmt::format("cannot {}: {}", what, reply.status);
  if (!status.reason.empty()) text += fmt::format(" {}", status.reason);
  if (!words.empty()) text += fmt::format(": {}", words);
  if (reply.status == 401) text += "; the API server does not accept our credentials: renew them";
  if (reply.status == 403) text += "; grant that right with a role binding";
  return text;
}

std::optional<net::Duration> retry_after(const ApiReply& reply) {
  const std::string_view header = net::find_header(reply.headers, "Retry-After");
  int seconds = 0;
  const auto parsed = std::from_chars(header.data(), header.data() + header.size(), seconds);
  const bool whole = !header.empty() && parsed.ec == std::errc{} &&
                     parsed.ptr == header.data() + header.size() && seconds >= 0;
  if (whole) return std::chrono::seconds{seconds};
  codec::Decoder decoder;
  const auto status = decoder.status(reply.body);
  if (status && status->retry_after_seconds > 0) {
    return std::chrono::seconds{status->retry_after_seconds};
  }
  return std::nullopt;
}

}  // namespace stowage::kube
