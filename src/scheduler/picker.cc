#include "scheduler/picker.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "codec/picker.h"

namespace stowage::scheduler {
namespace {

constexpr std::size_t kAnswerMax = std::size_t{64} << 10U;
constexpr std::size_t kHeaderMax = std::size_t{16} << 10U;

}  // namespace

const char* to_string(NotPicked why) {
  switch (why) {
    case NotPicked::no_opinion: return "no_opinion";
    case NotPicked::timed_out: return "timed_out";
    case NotPicked::unreachable: return "unreachable";
    case NotPicked::bad_answer: return "bad_answer";
    case NotPicked::busy: return "busy";
    case NotPicked::paused: return "paused";
  }
  return "unknown";
}

Picker::Picker(net::EventLoop& loop, const PickerOptions& options, std::string profile,
               base::Log& log)
    : options_(options),
      profile_(std::move(profile)),
      log_(log),
      loop_(loop),
      alive_(std::make_shared<bool>(true)) {
  auto url = parse_picker_url(options_.url);
  STOWAGE_CHECK(url.has_value());
  target_ = url->path.empty() ? "/" : std::exchange(url->path, "");
  net::HttpClientOptions client{.server = std::move(*url)};
  client.connections_max = options_.in_flight_max;
  client.waiting_max = options_.in_flight_max;
  client.connect_timeout = options_.timeout;
  client.header_bytes_max = kHeaderMax;
  client.body_bytes_max = kAnswerMax;
  client_ = std::make_unique<net::HttpClient>(loop, std::move(client));
}

Picker::~Picker() { *alive_ = false; }

void Picker::not_picked(NotPicked why, const Done& done) {
  ++counters_.not_picked[static_cast<std::size_t>(why)];
  done("");
}

void Picker::ask(Question question, Done done) {
  const auto now = loop_.now();
  // After the pause, one request tests the picker; others do not wait for it.
  if (paused_ && (now < paused_until_ || counters_.in_flight > 0)) {
    return not_picked(NotPicked::paused, done);
  }
  if (counters_.in_flight >= options_.in_flight_max) return not_picked(NotPicked::busy, done);
  ++counters_.asked;
  ++counters_.in_flight;
  net::HttpRequest request{
      .method = "POST",
      .target = target_,
      .headers = {{"Content-Type", "application/json"}, {"Accept", "application/json"}},
      .body = std::move(question.json)};
  client_->send(std::move(request), options_.timeout,
                [this, alive = alive_, question = std::move(question), now,
                 done = std::move(done)](const Reply& reply) {
                  if (*alive) replied(question, now, reply, done);
                });
}

Picker::Verdict Picker::judge(const Question& question, const Reply& reply) const {
  if (!reply) {
    return {.node = {},
            .why = reply.error().timed_out ? NotPicked::timed_out : NotPicked::unreachable,
            .trouble = reply.error().message};
  }
  Verdict bad{.node = {}, .why = NotPicked::bad_answer, .trouble = {}};
  if (reply->status != 200) {
    bad.trouble = fmt::format("it answered with status {}", reply->status);
    return bad;
  }
  auto node = codec::picker_answer(reply->body);
  if (!node) {
    bad.trouble = fmt::format("its answer cannot be read: {}", node.error().message);
    return bad;
  }
  if (node->empty()) return {.node = {}, .why = NotPicked::no_opinion, .trouble = {}};
  const auto& offered = question.offered;
  if (std::find(offered.begin(), offered.end(), *node) == offered.end()) {
    constexpr std::size_t kShown = 100;
    bad.trouble = fmt::format("it named a node that was not offered: {}", node->substr(0, kShown));
    return bad;
  }
  return {.node = std::move(*node), .why = {}, .trouble = {}};
}

void Picker::replied(const Question& question, net::Moment start, const Reply& reply,
                     const Done& done) {
  --counters_.in_flight;
  const Verdict verdict = judge(question, reply);
  if (!verdict.trouble.empty()) {
    failed(verdict.trouble);
    return not_picked(verdict.why, done);
  }
  worked();
  const auto took = static_cast<std::uint64_t>(
      std::chrono::duration_cast<net::Duration>(loop_.now() - start).count());
  counters_.nanos_sum += took;
  counters_.nanos_max = std::max(counters_.nanos_max, took);
  ++counters_.answers;
  if (verdict.node.empty()) return not_picked(NotPicked::no_opinion, done);
  ++counters_.picked;
  done(verdict.node);
}

// Logs one line when it fails and one when it works again, however many pods come meanwhile.
void Picker::failed(const std::string& trouble) {
  if (++failures_ < options_.failures_max) return;
  paused_until_ = loop_.now() + options_.pause;
  if (std::exchange(paused_, true)) return;
  log_.warn("picker gets no requests after failures, the policy decides",
            {{"profile", profile_},
             {"url", options_.url},
             {"failures", fmt::format("{}", failures_)},
             {"why", trouble}});
}

void Picker::worked() {
  failures_ = 0;
  if (!std::exchange(paused_, false)) return;
  log_.info("picker works again", {{"profile", profile_}, {"url", options_.url}});
}

Picker::Counters Picker::counters() const {
  Counters counters = counters_;
  counters.paused = paused_;
  return counters;
}

}  // namespace stowage::scheduler
