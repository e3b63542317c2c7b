#include "kube/object_access.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "kube/clock.h"
#include "kube/pacing.h"

namespace stowage::kube {
namespace {

using Reply = tl::expected<ApiReply, CallError>;

bool worth_repeating(const Reply& reply) {
  if (!reply) return true;
  return reply->status >= 500 || reply->status == 429 || reply->status == 401;
}

struct Job {
  ObjectAsk ask;
  ObjectAccess::Done done;
  SteadyTime deadline{};
  base::Backoff backoff{net::Duration{}, net::Duration{}};
  std::string said;  // by the server, the last time that it did not do it
  std::unique_ptr<net::Timer> timer;
};
using JobPtr = std::shared_ptr<Job>;

ObjectOutcome outcome_of(const std::string& what, Reply reply) {
  if (!reply) {
    return {.message = fmt::format("cannot {}: {}", what, reply.error().message), .body = {}};
  }
  const int status = reply->status;
  if (status >= 200 && status < 300) {
    return {.result = ObjectResult::done, .message = {}, .body = std::move(reply->body)};
  }
  ObjectOutcome outcome{.message = explain(what, *reply), .body = {}};
  if (status == 404) {
    outcome.result = ObjectResult::gone;
  } else if (status == 409) {
    outcome.result = ObjectResult::conflict;
  } else if (!worth_repeating(reply)) {
    outcome.result = ObjectResult::refused;
  }
  return outcome;
}

}  // namespace

struct ObjectAccess::Body : std::enable_shared_from_this<ObjectAccess::Body> {
  Body(ApiClient& api, const ObjectAccessOptions& given)
      : client(api), options(given), pauses(given.pause_min, given.pause_max, given.seed) {}

  void send(const JobPtr& job) {
    const ObjectAsk& ask = job->ask;
    ApiCall call{.method = ask.method, .target = ask.target, .body = ask.body};
    if (!ask.body.empty()) call.content_type = ask.content_type;
    call.lane = ask.lane;
    const net::Duration left = job->deadline - client.loop().now();
    client.call(std::move(call), std::min(options.attempt_deadline, left),
                [weak = weak_from_this(), job](Reply reply) {
                  if (const auto self = weak.lock()) self->replied(job, std::move(reply));
                });
  }

  void replied(const JobPtr& job, Reply reply) {
    const net::Duration pause = pauses.spread(job->backoff.next());
    if (worth_repeating(reply) && client.loop().now() + pause < job->deadline) {
      ++counters.repeated;
      if (reply) job->said = explain(job->ask.what, *reply);
      if (!job->timer) job->timer = std::make_unique<net::Timer>(client.loop());
      job->timer->start(pause, [weak = weak_from_this(), weak_job = std::weak_ptr<Job>(job)] {
        const auto self = weak.lock();
        const auto each = weak_job.lock();
        if (self && each) self->send(each);
      });
      return;
    }
    const bool answered = reply.has_value();
    ObjectOutcome outcome = outcome_of(job->ask.what, std::move(reply));
    // The last attempt is cut short by the deadline: what the server said before tells more.
    if (!answered && !job->said.empty()) outcome.message += "; before: " + job->said;
    if (outcome.result == ObjectResult::refused) ++counters.refused;
    if (outcome.result == ObjectResult::failed) ++counters.failed;
    jobs.erase(job);
    job->done(std::move(outcome));
  }

  ApiClient& client;
  const ObjectAccessOptions options;
  JitteredBackoff pauses;
  std::unordered_set<JobPtr> jobs;
  Counters counters;
};

ObjectAccess::ObjectAccess(ApiClient& client, ObjectAccessOptions options)
    : body_(std::make_shared<Body>(client, options)) {}
ObjectAccess::~ObjectAccess() { body_->jobs.clear(); }

void ObjectAccess::call(ObjectAsk ask, Done done) {
  ++body_->counters.asked;
  auto job = std::make_shared<Job>();
  job->ask = std::move(ask);
  job->done = std::move(done);
  job->deadline = body_->client.loop().now() + body_->options.total_deadline;
  job->backoff = {body_->options.pause_min, body_->options.pause_max};
  body_->jobs.insert(job);
  body_->send(job);
}

ObjectAccess::Counters ObjectAccess::counters() const {
  Counters counters = body_->counters;
  counters.under_way = body_->jobs.size();
  return counters;
}

}  // namespace stowage::kube
