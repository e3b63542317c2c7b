// The user of a request, as far as the connection and the headers show it.
//
//   1. A certificate of the API server's front proxy: the user in the headers X-Remote-*.
//   2. A certificate of the client CA: its common name, in the groups of its organisations.
//   3. A bearer token: the API server has to be asked (kube::DelegatedAuth).
//   4. Otherwise the user is anonymous.
//
// Headers about other users count only by rule 1. Pure.
#pragma once

#include <optional>

#include "codec/reviews.h"
#include "metricsapi/trust.h"
#include "net/http_server.h"

namespace stowage::metricsapi {

// By rule 1 or 2; unset if neither holds.
[[nodiscard]] std::optional<codec::UserInfo> known_by_certificate(const net::ServerRequest& request,
                                                                  const Trust& trust);

// Whether the user is in a group that may do everything.
[[nodiscard]] bool is_master(const codec::UserInfo& who);

}  // namespace stowage::metricsapi
