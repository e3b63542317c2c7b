// parse_target, parse_url and percent escapes: decoding reverses encoding, and a target that was
// read, then written, is read as the same.
#include <string>

#include "fuzz/fuzz.h"
#include "net/http.h"
#include "net/message_writer.h"

namespace stowage::fuzz {

void one(std::string_view input) {
  const auto decoded = net::percent_decode(net::percent_encode(input));
  STOWAGE_CHECK(decoded && *decoded == input);
  static_cast<void>(good(net::percent_decode(input)));

  const auto target = net::parse_target(input);
  if (good(target)) {
    STOWAGE_CHECK(input.starts_with(target->path));
    std::string text = target->path;
    char mark = '?';
    for (const auto& [name, value] : target->query) {
      text += mark + net::percent_encode(name) + "=" + net::percent_encode(value);
      mark = '&';
    }
    const auto again = net::parse_target(text);
    STOWAGE_CHECK(again && again->path == target->path && again->query == target->query);
  }

  const auto url = net::parse_url(input);
  if (!good(url)) return;
  STOWAGE_CHECK(!url->host.empty() && url->port != 0 && !url->path.ends_with('/'));
  const auto again =
      net::parse_url((url->tls ? "https://" : "http://") + net::authority(*url) + url->path);
  STOWAGE_CHECK(again && again->host == url->host && again->port == url->port);
  STOWAGE_CHECK(again->tls == url->tls && again->path == url->path);
}

}  // namespace stowage::fuzz
