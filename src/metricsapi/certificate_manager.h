// Keeps the certificates of the server in a Secret that all replicas share, rotates them in time
// (certificates.h), and publishes the CA: for the API server in the APIService and in the
// configuration of the admission webhook, for agents in a ConfigMap.
//
//   read the Secret -> plan -> (write; a conflict: read again) -> use -> publish -> (wait) -> read
//
// Every write is based on a Secret that was read just before, so replicas do not undo each other's
// work. Without permission to write, the existing content is used. A Secret that is deleted or
// emptied is filled again with the certificates in use, because others already trust them.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "base/log.h"
#include "kube/api_client.h"
#include "kube/object_access.h"
#include "kube/pacing.h"
#include "metricsapi/certificates.h"
#include "net/event_loop.h"

namespace stowage::metricsapi {

// The certificate of a server, and the CA of other replicas.
struct ServingCertificates {
  net::KeyPair pair;
  std::string trusted_pem;
  friend bool operator==(const ServingCertificates&, const ServingCertificates&) = default;
};
using UseCertificates = std::function<void(const ServingCertificates&)>;

struct CertificateManagerOptions {
  std::string ns = "stowage";
  std::string secret = "stowage-metrics-api";
  std::string service = "stowage-metrics-api";              // in the same namespace
  std::string api_service = "v1alpha1.metrics.nvidia.com";  // empty: not published
  std::string ca_map = "stowage-ca";                        // empty: not published
  std::string webhooks = {};  // MutatingWebhookConfiguration; empty: not published
  CertificateRules rules;     // hosts: empty means those of the service
  net::Duration look = std::chrono::minutes{1};
  net::Duration retry_min = std::chrono::seconds{2};
  net::Duration deadline = std::chrono::seconds{20};  // of one call, with its repetitions
  std::uint64_t seed = 1;                             // of the jitter
};
// "<service>.<namespace>.svc" first, which the API server expects.
[[nodiscard]] std::vector<std::string> service_hosts(const std::string& service,
                                                     const std::string& ns);

class CertificateManager {
 public:
  struct Deps {
    kube::ApiClient& client;
    base::Log& log;
    UseCertificates use;  // called when they change
  };
  CertificateManager(CertificateManagerOptions options, Deps deps);
  CertificateManager(const CertificateManager&) = delete;
  CertificateManager& operator=(const CertificateManager&) = delete;

  void start();
  // The last error; empty if there was none.
  [[nodiscard]] const std::string& trouble() const { return trouble_; }

  struct Counters {
    std::uint64_t looks = 0;
    std::uint64_t written = 0;  // Secrets
    std::uint64_t told = 0;     // APIServices, configurations of webhooks, and ConfigMaps
    std::uint64_t conflicts = 0;
    std::uint64_t failures = 0;
  };
  [[nodiscard]] const Counters& counters() const { return counters_; }

 private:
  using Outcome = kube::ObjectOutcome;
  void look();
  void read_secret();
  void taken(const Outcome& outcome);
  void write_secret(CertificatePlan plan, const std::string& resource_version);
  void written(const CertificatePlan& plan, const Outcome& outcome);
  void use(const KeptCertificates& kept);
  void tell_api_service();
  void tell_webhooks();
  void webhooks_read(const std::string& target, const Outcome& outcome);
  void tell_ca_map();
  void ca_map_read(const Outcome& outcome);
  void told(const char* what, const Outcome& outcome, void (CertificateManager::*then)());
  void finish();
  void fail_with(const std::string& why);
  void again(net::Duration pause);

  const CertificateManagerOptions options_;
  Deps deps_;
  KeptCertificates kept_;  // last content of the Secret
  ServingCertificates in_use_;
  int conflicts_in_row_ = 0;
  std::string trouble_ = "not read yet";
  std::string complaint_;  // last reported error
  Counters counters_;
  kube::JitteredBackoff pauses_;
  net::Timer timer_;
  kube::ObjectAccess access_;
};

// The same from files, which are read again when they change. Nothing is written or published.
struct CertificatePaths {
  std::string certificate;
  std::string key;
  std::string ca;  // CA of other replicas' certificates; empty: they share this certificate
  net::Duration look = std::chrono::seconds{2};  // interval between reads
  friend bool operator==(const CertificatePaths&, const CertificatePaths&) = default;
};
class CertificateFiles {
 public:
  CertificateFiles(net::EventLoop& loop, CertificatePaths paths, base::Log& log,
                   UseCertificates use);
  // Reads them for the first time; an error says what is wrong. Then reads them again from time to
  // time; unusable files leave the previous certificates in use.
  [[nodiscard]] Status start();

 private:
  [[nodiscard]] Result<ServingCertificates> read() const;
  void look();

  CertificatePaths paths_;
  base::Log& log_;
  UseCertificates use_;
  ServingCertificates in_use_;
  std::string complaint_;  // last reported error
  net::Timer timer_;
};

}  // namespace stowage::metricsapi
