// Keeps the certificates of the server in a Secret that all replicas share, exchanges them in time
// (certificates.h), and tells whom to trust: the API server by the APIService, agents by a
// ConfigMap.
//
//   read the Secret -> plan -> (write; a conflict: read again) -> use -> tell -> (a while) -> read
//
// Whatever it writes follows from a Secret that it has read just before, so replicas do not undo
// each other's work. Without rights to write, what is there is used as it is. A Secret that is lost
// or emptied is filled again with what is in use: others trust that already.
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

// What a server shows, and how others of its kind are known.
struct ServingCertificates {
  net::KeyPair pair;
  std::string trusted_pem;
  friend bool operator==(const ServingCertificates&, const ServingCertificates&) = default;
};
using UseCertificates = std::function<void(const ServingCertificates&)>;

struct KeeperOptions {
  std::string ns = "stowage";
  std::string secret = "stowage-metrics-api";
  std::string service = "stowage-metrics-api";              // in the same namespace
  std::string api_service = "v1alpha1.metrics.nvidia.com";  // empty: none is told
  std::string ca_map = "stowage-ca";                        // empty: none is told
  CertificateRules rules;  // hosts: empty means those of the service
  net::Duration look = std::chrono::minutes{1};
  net::Duration retry_min = std::chrono::seconds{2};
  net::Duration deadline = std::chrono::seconds{20};  // of one call, with its repetitions
  std::uint64_t seed = 1;                             // of the jitter
};
// "<service>.<namespace>.svc" first, which is what the API server expects.
[[nodiscard]] std::vector<std::string> service_hosts(const std::string& service,
                                                     const std::string& ns);

class CertificateKeeper {
 public:
  struct Ends {
    kube::ApiClient& client;
    base::Log& log;
    UseCertificates use;  // called when they are others than before
  };
  CertificateKeeper(KeeperOptions options, Ends ends);
  CertificateKeeper(const CertificateKeeper&) = delete;
  CertificateKeeper& operator=(const CertificateKeeper&) = delete;

  void start();
  // What did not work the last time; empty if all did.
  [[nodiscard]] const std::string& trouble() const { return trouble_; }

  struct Counters {
    std::uint64_t looks = 0;
    std::uint64_t written = 0;  // Secrets
    std::uint64_t told = 0;     // APIServices and ConfigMaps
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
  void tell_ca_map();
  void ca_map_read(const Outcome& outcome);
  void told(const char* what, const Outcome& outcome, void (CertificateKeeper::*then)());
  void finish();
  void fail_with(const std::string& why);
  void again(net::Duration pause);

  const KeeperOptions options_;
  Ends ends_;
  KeptCertificates kept_;  // as it was last, in the Secret
  ServingCertificates in_use_;
  int conflicts_in_row_ = 0;
  std::string trouble_ = "not read yet";
  std::string complaint_;  // told already
  Counters counters_;
  kube::JitteredBackoff pauses_;
  net::Timer timer_;
  kube::ObjectAccess access_;
};

// The same from files, which are read again when they change. Nothing is written or told.
struct CertificatePaths {
  std::string certificate;
  std::string key;
  std::string ca;  // who signs those of other replicas; empty: they have this very certificate
  net::Duration look = std::chrono::seconds{2};  // how often
  friend bool operator==(const CertificatePaths&, const CertificatePaths&) = default;
};
class CertificateFiles {
 public:
  CertificateFiles(net::EventLoop& loop, CertificatePaths paths, base::Log& log,
                   UseCertificates use);
  // Reads them the first time: an error says what is wrong. Then looks every now and then; files
  // that cannot be used leave the ones before in force.
  [[nodiscard]] Status start();

 private:
  [[nodiscard]] Result<ServingCertificates> read() const;
  void look();

  CertificatePaths paths_;
  base::Log& log_;
  UseCertificates use_;
  ServingCertificates in_use_;
  std::string complaint_;  // told already
  net::Timer timer_;
};

}  // namespace stowage::metricsapi
