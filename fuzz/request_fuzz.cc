// RequestParser: the first byte says how the rest is split; the result does not depend on that, and
// a request that we write again is read as the same.
#include <algorithm>
#include <string>

#include "fuzz/fuzz.h"
#include "net/message_parser.h"
#include "net/message_writer.h"

namespace stowage::fuzz {
namespace {

constexpr net::MessageLimits kLimits{.header_bytes_max = 1024, .body_bytes_max = 2048};

// How many bytes were used, given in pieces of this size.
std::size_t feed(net::RequestParser& parser, std::string_view bytes, std::size_t piece) {
  std::size_t used = 0;
  for (std::size_t shown = 0; shown < bytes.size() && !parser.done();) {
    shown = std::min(bytes.size(), shown + piece);
    used += parser.put(bytes.substr(used, shown - used));
    STOWAGE_CHECK(used <= shown);
    STOWAGE_CHECK(parser.request().body.size() <= kLimits.body_bytes_max);
    if (parser.fault().kind != net::ParseFault::Kind::none) break;
  }
  return used;
}

void check_written(const net::HttpRequest& request) {
  net::HttpRequest copy{.method = request.method, .target = request.target, .body = request.body};
  const auto head = net::request_head({.host = "h", .port = 80}, copy);
  if (!good(head)) return;
  net::RequestParser parser({});
  STOWAGE_CHECK(feed(parser, *head + copy.body, 4096) == head->size() + copy.body.size());
  STOWAGE_CHECK(parser.done() && parser.request().method == request.method);
  STOWAGE_CHECK(parser.request().target == request.target);
  STOWAGE_CHECK(parser.request().body == request.body);
}

}  // namespace

void one(std::string_view input) {
  if (input.empty()) return;
  const std::size_t piece = 1 + static_cast<unsigned char>(input.front()) % 64;
  input.remove_prefix(1);
  net::RequestParser whole(kLimits);
  net::RequestParser cut(kLimits);
  const std::size_t used = feed(whole, input, input.size() + 1);
  const std::size_t used_cut = feed(cut, input, piece);
  if (whole.fault().kind != net::ParseFault::Kind::none) {
    check_error({whole.fault().message});
    STOWAGE_CHECK(!whole.done());
  }
  STOWAGE_CHECK(whole.done() == cut.done());
  if (!whole.done()) return;
  STOWAGE_CHECK(used == used_cut);
  STOWAGE_CHECK(whole.request().method == cut.request().method);
  STOWAGE_CHECK(whole.request().target == cut.request().target);
  STOWAGE_CHECK(whole.request().headers == cut.request().headers);
  STOWAGE_CHECK(whole.request().body == cut.request().body);
  check_written(whole.request());
}

}  // namespace stowage::fuzz
