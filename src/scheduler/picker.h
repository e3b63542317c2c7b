// Asks an outside picker over HTTP which of the candidates a pod shall go to (docs/picker.md). It
// never blocks placement: on any failure the answer is "no opinion" after the time limit at the
// latest, and the policy's own choice, which is reserved, is used.
//
// A picker that fails several times in a row is not asked for some seconds, then asked once.
//
// Runs on the loop's thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "net/event_loop.h"
#include "net/http_client.h"
#include "scheduler/profile.h"

namespace stowage::scheduler {

// Why the policy's own choice was used.
enum class NotPicked : std::uint8_t {
  no_opinion,   // the answer of the picker
  timed_out,    // no answer in time
  unreachable,  // no connection, or it broke
  bad_answer,   // not 200, not JSON as agreed, or a node that was not offered
  busy,         // the maximum of requests is under way
  paused,       // not asked after failures
};
inline constexpr std::size_t kNotPicked = 6;
[[nodiscard]] const char* to_string(NotPicked why);

class Picker {
 public:
  // `profile` is for the log. Requires: parse_picker_url() takes the URL.
  Picker(net::EventLoop& loop, const PickerOptions& options, std::string profile, base::Log& log);
  ~Picker();  // without callbacks
  Picker(const Picker&) = delete;
  Picker& operator=(const Picker&) = delete;

  struct Question {
    std::string json;                  // codec::picker_question()
    std::vector<std::string> offered;  // nodes that the answer may name
  };
  using Done = std::function<void(const std::string& node)>;  // empty: the policy's own choice
  // Ends in exactly one callback, perhaps before ask() has returned.
  void ask(Question question, Done done);

  struct Counters {
    std::uint64_t asked = 0;  // sent to the picker
    std::uint64_t picked = 0;
    std::array<std::uint64_t, kNotPicked> not_picked{};  // counts by NotPicked
    std::uint64_t nanos_sum = 0;                         // from request to answer, of valid answers
    std::uint64_t nanos_max = 0;
    std::uint64_t answers = 0;  // counted in nanos_sum
    std::size_t in_flight = 0;
    bool paused = false;
  };
  [[nodiscard]] Counters counters() const;
  [[nodiscard]] const std::string& profile() const { return profile_; }

 private:
  using Reply = tl::expected<net::HttpResponse, net::CallError>;
  struct Verdict {
    std::string node;
    NotPicked why = NotPicked::no_opinion;
    std::string trouble;  // empty: the picker works
  };
  void replied(const Question& question, net::Moment start, const Reply& reply, const Done& done);
  [[nodiscard]] Verdict judge(const Question& question, const Reply& reply) const;
  void failed(const std::string& trouble);
  void worked();
  void not_picked(NotPicked why, const Done& done);

  PickerOptions options_;
  std::string profile_;
  base::Log& log_;
  std::string target_;
  std::unique_ptr<net::HttpClient> client_;
  Counters counters_;
  std::uint32_t failures_ = 0;  // in a row
  bool paused_ = false;
  net::EventLoop& loop_;
  net::Moment paused_until_;
  std::shared_ptr<bool> alive_;
};

}  // namespace stowage::scheduler
