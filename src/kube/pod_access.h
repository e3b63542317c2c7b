// Reads one pod, or sets annotations and labels of one. A caller waits for these calls, so each has
// a time limit and is repeated within it as long as that may help.
//
// A fenced write is one that others act upon. It counts like a bind:
//   - It names the version of the pod on which it was decided. So it never replaces a later write,
//     even if it arrives after it.
//   - It arrives before the fence, or never. open_until() tells until when one may still arrive.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "codec/encode.h"
#include "dialect/objects.h"
#include "kube/api_client.h"

namespace stowage::kube {

struct PodAccessOptions {
  net::Duration deadline = std::chrono::seconds{4};  // in all; kube-scheduler gives up after 5
  net::Duration pause = std::chrono::milliseconds{100};
  std::function<net::Moment()> fence;  // as for the binder; unset: no limit
};

class PodAccess {
 public:
  explicit PodAccess(ApiClient& client, PodAccessOptions options = {});
  ~PodAccess();  // calls no callbacks; the server may still execute requests that were sent
  PodAccess(const PodAccess&) = delete;
  PodAccess& operator=(const PodAccess&) = delete;

  struct Name {
    std::string ns;
    std::string name;
  };
  struct ReadError {
    std::string message;
    bool absent = false;  // the server reports that there is no such pod
  };
  using Read = std::function<void(tl::expected<dialect::PodObject, ReadError>)>;
  void read(Name pod, Read done);

  // An empty text is success. Conflicts and server failures are tried again.
  using Written = std::function<void(const std::string& error)>;
  void write(Name pod, const codec::MetadataRequest& ask, Written done);
  // The pod has changed since the version that a fenced write names. Returns the write for the pod
  // as it is now, or why it must not be written any more.
  using Rebase = std::function<Result<codec::MetadataRequest>(const dialect::PodObject& now)>;
  // Half of the remaining time is for sending; the other half is the time limit that the server
  // gets. Without `rebase`, a pod that has changed is an error. With it, an empty version means
  // that the pod is read first.
  void write_fenced(Name pod, codec::MetadataRequest ask, Rebase rebase, Written done);
  // Leadership is lost: earlier fenced writes are not sent again.
  void end_term();
  // For shutdown: the same, also for new ones. Calls `drained` when all fenced writes have ended,
  // or after `deadline`.
  void drain(net::Duration deadline, std::function<void()> drained);
  // Until then, a fenced write may still reach the API server: one without a reply yet, or one
  // whose reply leaves open whether the server acts.
  [[nodiscard]] net::Moment open_until() const;

  struct Counters {
    std::uint64_t reads = 0;
    std::uint64_t writes = 0;
    std::uint64_t repeated = 0;
    std::uint64_t failed = 0;
  };
  [[nodiscard]] Counters counters() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace stowage::kube
