// The admission webhook: a body with an AdmissionReview to the body of the answer. Pure, so dry
// runs and repeated calls are harmless.
//
//   POST /mutate                     carriers, names, environment
//   POST /mutate/scheduler/<name>    the same, and this scheduler for pods with cards that name
//   none
//
// The API server authenticates the server by its certificate. Callers are not authenticated: the
// answer tells nobody anything but what follows from the question.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "webhook/patch.h"

namespace stowage::webhook {

inline constexpr std::string_view kPath = "/mutate";
inline constexpr std::string_view kSchedulerPath = "/mutate/scheduler/";

enum class Verdict : std::uint8_t { allowed, patched, refused, unreadable };
inline constexpr std::size_t kVerdicts = 4;
[[nodiscard]] const char* to_string(Verdict verdict);

struct Answer {
  Verdict verdict = Verdict::unreadable;
  std::int32_t code = 400;  // of HTTP: 200, or 400 if the review cannot be read
  std::string body;         // an AdmissionReview, or plain text
};
[[nodiscard]] Answer answer(PodReviewReader& reader, const Options& options, std::string_view body);

// True if the path belongs to the webhook.
[[nodiscard]] bool is_webhook_path(std::string_view path);
// The scheduler that the path names; empty if it names none. An error for any other path below
// kPath.
[[nodiscard]] Result<std::string> scheduler_of(std::string_view path);

}  // namespace stowage::webhook
