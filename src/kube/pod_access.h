// Reads one pod, or sets annotations and labels of one. A caller waits for these calls, so each has
// a time limit and is repeated within it as long as that may help.
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
  // The same for writes that others act upon: it arrives before the fence and within the time
  // limit, or never. Half of the remaining time is for sending; the other half is the time limit
  // that the server gets.
  void write_fenced(Name pod, const codec::MetadataRequest& ask, Written done);
  // Leadership is lost: earlier fenced writes are not sent again.
  void end_term();

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
