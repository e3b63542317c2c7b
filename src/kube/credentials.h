// Keeps the credentials of a ClientConfig fresh: reads token files again, and runs the plugin in a
// child process without blocking the loop. Lives on one loop.
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
  std::string authorization;    // value of the header; empty: none
  std::string certificate_pem;  // from the plugin; empty: use that of the configuration
  std::string key_pem;
  std::uint64_t generation = 0;  // increases with every change
};

struct CredentialOptions {
  net::Duration reread_every = std::chrono::seconds{60};
  net::Duration exec_time_limit = std::chrono::seconds{60};
  net::Duration failure_pause = std::chrono::seconds{1};  // a plugin that failed is not run for
                                                          // this long
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
  ~CredentialSource();  // kills a running plugin, which takes a moment
  CredentialSource(const CredentialSource&) = delete;
  CredentialSource& operator=(const CredentialSource&) = delete;

  // The credential to use now, without waiting; null if it must be fetched first. Valid until the
  // next call. This rereads a token file when it is due, which is usually small and local. If
  // reading fails, the previous token stays in use.
  [[nodiscard]] const Credential* current();
  // Calls `ready` once current() has a credential, or with the reason why not; never before fetch()
  // has returned.
  using Ready = std::function<void(Status)>;
  void fetch(Ready ready);
  // The server answered 401 to this generation. Returns true if current() or fetch() may give
  // another one.
  [[nodiscard]] bool rejected(std::uint64_t generation);

  [[nodiscard]] const CredentialCounters& counters() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace stowage::kube
