// What the webhook changes in a pod, and what it refuses. Pure functions of the pod and the
// options; applied to their own result they change nothing.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "webhook/pod_review.h"

namespace stowage::webhook {

struct Options {
  // The dialects whose containers get their cards from our device plugin, by name.
  std::vector<std::string> dialects;
  // Containers that ask for no cards get none, whatever the runtime and their image say.
  bool void_unrequested = true;
  // For pods with cards that name no scheduler; empty: none.
  std::string default_scheduler;
};

struct Change {
  std::string operations;  // a JSON patch; empty: nothing changes
  std::vector<std::string> warnings;
};

// Why the pod cannot be right, with the name that was probably meant; empty if nothing is wrong.
[[nodiscard]] std::string refusal(const PodReview& pod);
[[nodiscard]] Change change(const PodReview& pod, const Options& options);

}  // namespace stowage::webhook
