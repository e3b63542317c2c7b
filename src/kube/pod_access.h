// Reads one pod, and sets annotations and labels of one: calls that somebody waits for, so each has
// a time limit of its own and is repeated within it as long as that may help.
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
  std::function<net::Moment()> fence;  // as that of the binder; unset: for ever
};

class PodAccess {
 public:
  explicit PodAccess(ApiClient& client, PodAccessOptions options = {});
  ~PodAccess();  // without callbacks; what was sent may still be done by the server
  PodAccess(const PodAccess&) = delete;
  PodAccess& operator=(const PodAccess&) = delete;

  struct Name {
    std::string ns;
    std::string name;
  };
  struct ReadError {
    std::string message;
    bool absent = false;  // the server says that there is no such pod
  };
  using Read = std::function<void(tl::expected<dialect::PodObject, ReadError>)>;
  void read(Name pod, Read done);

  // An empty text is success. Conflicts and failures of the server are tried again.
  using Written = std::function<void(const std::string& error)>;
  void write(Name pod, const codec::MetadataAsk& ask, Written done);
  // The same for what others act upon: it arrives before the fence and within the time, or never.
  // Half of what is left is for the sending, the other half is what the server is told.
  void write_fenced(Name pod, const codec::MetadataAsk& ask, Written done);

  struct Counters {
    std::uint64_t reads = 0;
    std::uint64_t writes = 0;
    std::uint64_t repeated = 0;
    std::uint64_t failed = 0;
  };
  [[nodiscard]] Counters counters() const;

 private:
  struct Body;
  std::shared_ptr<Body> body_;
};

}  // namespace stowage::kube
