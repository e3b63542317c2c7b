// A streamed response on its own connection. For src/net only.
#pragma once

#include <memory>

#include "net/http_client.h"

namespace stowage::net {

struct StreamRequest {
  HttpRequest request;
  HttpClient::StreamOptions options;
  HttpClient::StreamHandler handler;
  bool refused = false;  // the client is closed: ends with an error
};

[[nodiscard]] std::unique_ptr<HttpClient::Stream> open_stream(EventLoop& loop,
                                                              const HttpClientOptions& client,
                                                              StreamRequest ask);

}  // namespace stowage::net
