// Which certificates the server presents, and when they are rotated. Pure except for random keys:
// the intended content follows from the current content and the time.
//
//   authority ----- two thirds of its life: `next` is made, and trusted beside it from now on
//       |                                    |
//       |                                    after the overlap every client has it
//   `before`, trusted for another overlap <--+--> authority, signs a new serving certificate
//
// So a certificate is trusted everywhere before it is presented, and as long as a replica may
// present it. The serving certificate is replaced at two thirds of its life, or if its hosts are
// wrong. Certificates that cannot be read, or do not match, are replaced at once.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "codec/serving.h"
#include "net/tls.h"

namespace stowage::metricsapi {

struct KeptCertificates {
  net::KeyPair authority;
  net::KeyPair serving;
  net::KeyPair next;       // empty: none
  std::string before_pem;  // empty: none
  friend bool operator==(const KeptCertificates&, const KeptCertificates&) = default;
};

struct CertificateRules {
  std::vector<std::string> hosts;  // at least one
  int authority_days = 3650;
  int serving_days = 365;
  std::chrono::seconds overlap = std::chrono::hours{24};
};

struct CertificatePlan {
  KeptCertificates kept;             // what to present and to trust, once it is written
  std::vector<std::string> changes;  // as texts; none: the content is good
};
[[nodiscard]] Result<CertificatePlan> plan_certificates(const KeptCertificates& there,
                                                        const CertificateRules& rules,
                                                        std::int64_t now_unix);
// The authorities whose certificates are to be trusted.
[[nodiscard]] std::string trusted(const KeptCertificates& kept);

// From a Secret. Values that are missing or not base64 are empty.
[[nodiscard]] KeptCertificates from_secret(const codec::Secret& secret);
// In base64; keys of missing values have empty texts.
[[nodiscard]] std::map<std::string, std::string> secret_data(const KeptCertificates& kept);

// The patch that makes the API server trust these authorities when it forwards requests to us.
// Unset: it already does, or it forwards them to another service.
struct OurService {
  std::string ns;
  std::string name;
};
[[nodiscard]] std::optional<std::string> plan_api_service(const codec::ApiService& there,
                                                          const OurService& ours,
                                                          const std::string& trusted_pem);
// The same for its requests to our webhooks.
[[nodiscard]] std::optional<std::string> plan_webhooks(const codec::WebhookConfiguration& there,
                                                       const OurService& ours,
                                                       const std::string& trusted_pem);

}  // namespace stowage::metricsapi
