// Which certificates the server shows, and when they are exchanged. Pure, but for the keys, which
// are random: what is to be kept follows from what is kept and from the time.
//
//   authority ----- two thirds of its life: `next` is made, and trusted beside it from now on
//       |                                    |
//       |                                    after the overlap everybody has heard of it
//   `before`, trusted for another overlap <--+--> authority, signs a new serving certificate
//
// So a certificate is trusted everywhere before it is shown, and as long as somebody may show it.
// The serving certificate is made anew at two thirds of its life, or if it is not for the right
// hosts. What cannot be read, or does not fit together, is made anew at once.
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
  KeptCertificates kept;             // what to show and to trust, once it is written
  std::vector<std::string> changes;  // in words; none: what is kept is good
};
[[nodiscard]] Result<CertificatePlan> plan_certificates(const KeptCertificates& there,
                                                        const CertificateRules& rules,
                                                        std::int64_t now_unix);
// The authorities whose certificates are to be trusted.
[[nodiscard]] std::string trusted(const KeptCertificates& kept);

// As they stand in a Secret. What is missing or not base64 is empty.
[[nodiscard]] KeptCertificates from_secret(const codec::Secret& secret);
// In base64; keys of what there is not have empty texts.
[[nodiscard]] std::map<std::string, std::string> secret_data(const KeptCertificates& kept);

// The patch that makes the API server trust these authorities when it passes requests on to us.
// Unset: it does already, or it passes them to another service.
struct OurService {
  std::string ns;
  std::string name;
};
[[nodiscard]] std::optional<std::string> plan_api_service(const codec::ApiService& there,
                                                          const OurService& ours,
                                                          const std::string& trusted_pem);

}  // namespace stowage::metricsapi
