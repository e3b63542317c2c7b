// ResponseParser: the first byte says how the rest is split; the result does not depend on that,
// and the streamed body equals the whole body.
#include <algorithm>
#include <string>

#include "fuzz/fuzz.h"
#include "net/message_parser.h"

namespace stowage::fuzz {
namespace {

using Mode = net::ResponseParser::Mode;
constexpr net::MessageLimits kLimits{.header_bytes_max = 1024, .body_bytes_max = 1U << 20U};

struct Read {
  bool done = false;
  int status = 0;
  net::Headers headers;
  std::string body;
  friend bool operator==(const Read&, const Read&) = default;
};

Read feed(std::string_view bytes, std::size_t piece, Mode mode) {
  net::ResponseParser parser(kLimits);
  parser.reset(mode);
  std::string streamed;
  std::size_t used = 0;
  for (std::size_t shown = 0; shown < bytes.size() && !parser.done();) {
    shown = std::min(bytes.size(), shown + piece);
    const std::string_view part = bytes.substr(used, shown - used);
    used += parser.put(part);
    STOWAGE_CHECK(used <= shown);
    for (const std::string_view text : parser.pieces()) {
      STOWAGE_CHECK(inside(text, part));
      streamed += text;
    }
    if (parser.fault().kind == net::ParseFault::Kind::none) continue;
    check_error({parser.fault().message});
    STOWAGE_CHECK(!parser.done() && !parser.put_eof());
    return {};
  }
  if (!parser.put_eof()) return {};
  STOWAGE_CHECK(parser.done());
  return {true, parser.response().status, parser.response().headers,
          parser.response().body + streamed};
}

}  // namespace

void one(std::string_view input) {
  if (input.empty()) return;
  const std::size_t piece = 1 + static_cast<unsigned char>(input.front()) % 64;
  input.remove_prefix(1);
  const Read whole = feed(input, input.size() + 1, Mode::whole);
  STOWAGE_CHECK(feed(input, piece, Mode::whole) == whole);
  STOWAGE_CHECK(feed(input, piece, Mode::streamed) == whole);
  static_cast<void>(feed(input, piece, Mode::head));
}

}  // namespace stowage::fuzz
