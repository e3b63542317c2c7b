// Authenticates and authorizes users of our servers. It asks the API server which user a bearer
// token belongs to, and whether that user may perform the request. Answers are cached for a short
// time, so that not every request causes calls.
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

struct DelegatedAuthOptions {
  net::Duration deadline = std::chrono::seconds{5};
  net::Duration kept = std::chrono::seconds{10};
  std::size_t kept_max = 256;      // answers
  std::size_t under_way_max = 16;  // requests; further ones are refused with 503
};

class DelegatedAuth {
 public:
  explicit DelegatedAuth(ApiClient& client, DelegatedAuthOptions options = {});
  ~DelegatedAuth();  // requests under way end without a callback
  DelegatedAuth(const DelegatedAuth&) = delete;
  DelegatedAuth& operator=(const DelegatedAuth&) = delete;

  struct Verdict {
    int status = 200;  // 401, 403 or 503 if not allowed
    std::string why;   // the reason, for the client
    std::string user;  // if known
  };
  using Done = std::function<void(const Verdict&)>;

  // Authenticates the header "Bearer <token>". The token must be issued for `audience`; empty: for
  // the API server. Ends in exactly one callback, perhaps at once.
  struct Identity {
    int status = 200;  // 401 or 503 if not known
    std::string why;
    codec::UserInfo who;
  };
  using Identified = std::function<void(const Identity&)>;
  void identify(const std::string& authorization, const std::string& audience, Identified done);

  // Authorizes the user. Ends in exactly one callback, perhaps at once.
  void authorise(const codec::UserInfo& who, const codec::Access& access, Done done);

  // Authenticates, then authorizes.
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
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace stowage::kube
