// An AdmissionReview of a pod, as far as the webhook needs it: resources and environment of the
// containers, with what is absent, because a JSON patch must know that. Everything is untrusted.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "codec/json_in.h"
#include "dialect/objects.h"

namespace stowage::webhook {

// The API server accepts requests of 3 MiB at most.
inline constexpr std::size_t kBodyMax = std::size_t{3} << 20U;
inline constexpr std::size_t kContainersMax = 1024;  // of each kind
inline constexpr std::size_t kVariablesMax = 4096;   // of a container

struct Variable {
  std::string name;
  std::string value;
  bool is_plain = true;  // false: its value comes from another object
};

struct Container {
  std::string name;
  bool sidecar = false;  // an init container with restartPolicy Always
  bool has_resources = false;
  bool has_requests = false;
  bool has_limits = false;
  bool has_claims = false;  // devices by DRA
  bool has_environment = false;
  dialect::Quantities requests;
  dialect::Quantities limits;
  std::vector<Variable> environment;
};

struct PodReview {
  std::string uid;           // of the request
  bool creates_pod = false;  // the request creates a pod; otherwise the rest is empty
  std::string ns;
  std::string name;  // or its prefix
  dialect::Annotations annotations;
  std::string scheduler;
  std::string node;
  std::string os;
  std::vector<Container> init;
  std::vector<Container> app;
  std::string over_limit;  // why the pod was not read to its end
};

// Reuses its buffers. An error says what is wrong and where.
class PodReviewReader {
 public:
  [[nodiscard]] Result<PodReview> read(std::string_view body);

 private:
  [[nodiscard]] Status read_pod(std::string_view object, PodReview& out);

  codec::JsonText review_;
  codec::JsonText object_;
};

}  // namespace stowage::webhook
