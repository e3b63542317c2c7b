// Who sends a request, as far as the connection and the headers say it.
//
//   1. A certificate of the API server's front proxy: whoever the headers X-Remote-* name.
//   2. A certificate of the clients' authority: its common name, in the groups of its
//   organisations.
//   3. A bearer token: the API server has to be asked whose it is (kube::Gatekeeper).
//   4. Nobody.
//
// Headers about others count by rule 1 and never else. Pure.
#pragma once

#include <optional>
#include <string>

#include "codec/reviews.h"
#include "metricsapi/trust.h"
#include "net/http_server.h"

namespace stowage::metricsapi {

// By rule 1 or 2; unset if neither holds.
[[nodiscard]] std::optional<codec::Somebody> known_by_certificate(const net::ServerRequest& request,
                                                                  const Trust& trust);

// One of those whom nothing is refused.
[[nodiscard]] bool is_master(const codec::Somebody& who);

}  // namespace stowage::metricsapi
