// Single calls about single objects: reads, patches and deletions, each with a time limit of its
// own within which it is repeated as long as that may help. A 404 that does not name the object
// tells nothing about it: the call is repeated. Whoever asks makes sure that doing it twice is
// harmless: a reply may be lost after the server has acted.
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

struct ObjectAsk {
  std::string what;  // for errors: "delete pod a/b"
  std::string method = "PATCH";
  std::string target;
  std::string body;
  std::string content_type = kMergePatch;  // of a PATCH; other bodies are JSON
  Lane lane = Lane::normal;
};

enum class ObjectResult : std::uint8_t {
  done,
  gone,      // the API server says that there is no such object (see says_not_found), and after a
             // write says so once more when the object is looked up
  conflict,  // 409: it is another one by now, or not in the version that was meant
  refused,   // the server will not do it: forbidden, invalid
  failed,    // no final answer within the time; it may have been done
};

struct ObjectOutcome {
  ObjectResult result = ObjectResult::failed;
  std::string message;  // the server's words, or ours; empty if done
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
  ~ObjectAccess();  // without callbacks; what was sent may still be done by the server
  ObjectAccess(const ObjectAccess&) = delete;
  ObjectAccess& operator=(const ObjectAccess&) = delete;

  using Done = std::function<void(ObjectOutcome)>;
  // Ends in exactly one callback, never before call() has returned.
  void call(ObjectAsk ask, Done done);

  struct Counters {
    std::uint64_t asked = 0;
    std::uint64_t repeated = 0;
    std::uint64_t refused = 0;
    std::uint64_t failed = 0;
    std::size_t under_way = 0;
  };
  [[nodiscard]] Counters counters() const;

 private:
  struct Body;
  std::shared_ptr<Body> body_;
};

}  // namespace stowage::kube
