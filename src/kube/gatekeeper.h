// Who may use what we serve: the API server is asked who a bearer token belongs to, and whether
// they may do that. Its answers are kept for a short time, so that it is not asked for every
// request.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "codec/reviews.h"
#include "kube/api_client.h"

namespace stowage::kube {

struct GatekeeperOptions {
  net::Duration deadline = std::chrono::seconds{5};
  net::Duration kept = std::chrono::seconds{10};
  std::size_t kept_max = 256;      // answers
  std::size_t under_way_max = 16;  // questions; beyond: refused with 503
};

class Gatekeeper {
 public:
  explicit Gatekeeper(ApiClient& client, GatekeeperOptions options = {});
  ~Gatekeeper();  // questions under way end without a callback
  Gatekeeper(const Gatekeeper&) = delete;
  Gatekeeper& operator=(const Gatekeeper&) = delete;

  struct Verdict {
    int status = 200;  // 401, 403 or 503 if not allowed
    std::string why;   // then for the one who asked
    std::string user;  // if known
  };
  using Done = std::function<void(const Verdict&)>;

  // Who sends this header, "Bearer <token>"? The token has to be made for `audience`; empty: for
  // the API server. Ends in exactly one callback, perhaps at once.
  struct Identity {
    int status = 200;  // 401 or 503 if not known
    std::string why;
    codec::Somebody who;
  };
  using Identified = std::function<void(const Identity&)>;
  void identify(const std::string& authorization, const std::string& audience, Identified done);

  // May they do that? Ends in exactly one callback, perhaps at once.
  void authorise(const codec::Somebody& who, const codec::Access& access, Done done);

  // Both, one after the other.
  struct Ask {
    std::string authorization;
    std::string verb;  // "get", "update"
    std::string path;  // "/debug/state"
  };
  void ask(const Ask& ask, Done done);

  struct Counters {
    std::uint64_t allowed = 0;
    std::uint64_t refused = 0;  // 401, 403
    std::uint64_t failed = 0;   // 503
  };
  [[nodiscard]] Counters counters() const;

 private:
  struct Body;
  std::shared_ptr<Body> body_;
};

}  // namespace stowage::kube
