// A request to the metrics API: "METHOD target", then lines with values of Accept. Reading it twice
// gives the same, and a refusal has a Status that can be read.
#include "base/testing/json_check.h"
#include "fuzz/fuzz.h"
#include "metricsapi/request.h"

namespace stowage::fuzz {
namespace {

std::string_view take_until(std::string_view& text, char mark) {
  const std::size_t at = text.find(mark);
  const std::string_view part = text.substr(0, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + 1);
  return part;
}

}  // namespace

void one(std::string_view input) {
  std::string_view first = take_until(input, '\n');
  net::HttpRequest request;
  request.method = take_until(first, ' ');
  request.target = first;
  while (!input.empty()) request.headers.emplace_back("accept", take_until(input, '\n'));
  const auto ask = metricsapi::read_ask(request);
  const auto again = metricsapi::read_ask(request);
  STOWAGE_CHECK(ask.has_value() == again.has_value());
  if (ask) {
    STOWAGE_CHECK(*ask == *again);
    STOWAGE_CHECK(ask->what != metricsapi::Ask::What::get || !ask->name.empty());
    STOWAGE_CHECK(ask->watch.timeout <= std::chrono::hours{24});
    return;
  }
  check_error({ask.error().message});
  STOWAGE_CHECK(ask.error().code >= 400 && ask.error().code < 500);
  STOWAGE_CHECK(base::JsonCheck::valid(metricsapi::status_json(ask.error())));
}

}  // namespace stowage::fuzz
