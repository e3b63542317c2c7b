// Keeps the credentials of a ClientConfig fresh: reads token files again, runs the plugin in a
// child process beside the loop. Lives on one loop.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "kube/clock.h"
#include "kube/kubeconfig.h"
#include "net/event_loop.h"

namespace stowage::kube {

struct Credential {
  std::string authorization;    // the header's value; empty: none
  std::string certificate_pem;  // from the plugin; empty: that of the configuration
  std::string key_pem;
  std::uint64_t generation = 0;  // grows with every change
};

struct CredentialOptions {
  net::Duration reread_every = std::chrono::seconds{60};
  net::Duration exec_time_limit = std::chrono::seconds{60};
  net::Duration failure_pause = std::chrono::seconds{1};  // a plugin that failed is left alone
  WallClock wall_clock = system_wall_clock();
};

struct CredentialCounters {
  std::uint64_t refreshes = 0;  // reads of the file or runs of the plugin
  std::uint64_t failures = 0;
};

class CredentialSource {
 public:
  // `config` outlives the source.
  CredentialSource(net::EventLoop& loop, const ClientConfig& config, CredentialOptions options);
  ~CredentialSource();  // a plugin that runs is killed; takes a moment then
  CredentialSource(const CredentialSource&) = delete;
  CredentialSource& operator=(const CredentialSource&) = delete;

  // What to use now, without waiting; null if it must be fetched first. Valid until the next call.
  // A token file is read again here when its time has come: small, local and in memory as a rule.
  // If that fails the token read before is used on.
  [[nodiscard]] const Credential* current();
  // Calls `ready` once current() has something, or with the reason why not; never before fetch()
  // has returned.
  using Ready = std::function<void(Status)>;
  void fetch(Ready ready);
  // The server answered 401 to this generation. True if current() or fetch() may bring another one.
  [[nodiscard]] bool rejected(std::uint64_t generation);

  [[nodiscard]] const CredentialCounters& counters() const;

 private:
  struct Body;
  std::shared_ptr<Body> body_;
};

}  // namespace stowage::kube
