// Single calls about single objects: reads, patches and deletions. Each has a time limit and is
// repeated within it as long as that may help. A 404 that does not name the object tells nothing
// about it: the call is repeated. The caller must make sure that a repetition is harmless: a reply
// may be lost after the server has acted.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "kube/api_client.h"

namespace stowage::kube {

inline constexpr const char* kMergePatch = "application/merge-patch+json";
inline constexpr const char* kStrategicMergePatch = "application/strategic-merge-patch+json";

struct ObjectRequest {
  std::string what;  // for errors: "delete pod a/b"
  std::string method = "PATCH";
  std::string target;
  std::string body;
  std::string content_type = kMergePatch;  // for a PATCH; other bodies are JSON
  Lane lane = Lane::normal;
};

enum class ObjectResult : std::uint8_t {
  done,
  gone,      // the API server reports that there is no such object (see says_not_found); after a
             // write, a lookup of the object has confirmed it
  conflict,  // 409: it is another object now, or another version
  refused,   // the server refuses: forbidden, invalid
  failed,    // no final answer within the time limit; it may have been executed
};

struct ObjectOutcome {
  ObjectResult result = ObjectResult::failed;
  std::string message;  // the server's message or ours; empty if done
  std::string body;     // of the reply, if done
};

struct ObjectAccessOptions {
  net::Duration attempt_deadline = std::chrono::seconds{10};  // of one call
  net::Duration total_deadline = std::chrono::seconds{30};
  net::Duration pause_min = std::chrono::milliseconds{100};  // before an attempt is repeated
  net::Duration pause_max = std::chrono::seconds{2};
  std::uint64_t seed = 1;
};

class ObjectAccess {
 public:
  explicit ObjectAccess(ApiClient& client, ObjectAccessOptions options = {});
  ~ObjectAccess();  // calls no callbacks; the server may still execute requests that were sent
  ObjectAccess(const ObjectAccess&) = delete;
  ObjectAccess& operator=(const ObjectAccess&) = delete;

  using Done = std::function<void(ObjectOutcome)>;
  // Ends in exactly one callback, never before call() has returned.
  void call(ObjectRequest ask, Done done);

  struct Counters {
    std::uint64_t asked = 0;
    std::uint64_t repeated = 0;
    std::uint64_t refused = 0;
    std::uint64_t failed = 0;
    std::size_t under_way = 0;
  };
  [[nodiscard]] Counters counters() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace stowage::kube
