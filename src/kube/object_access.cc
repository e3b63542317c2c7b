#include "kube/object_access.h"

#include <algorithm>
#include <optional>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "kube/clock.h"
#include "kube/object_path.h"
#include "kube/pacing.h"

namespace stowage::kube {
namespace {

using Reply = CallResult;

constexpr int kForbidden = 403;
constexpr int kNotFound = 404;

struct Job {
  ObjectRequest ask;
  ObjectAccess::Done done;
  SteadyTime deadline{};
  base::Backoff backoff{net::Duration{}, net::Duration{}};
  std::optional<ObjectPath> object;
  bool found = false;  // it exists, or may exist, whatever the last reply said
  std::string said;    // the server's last message when it did not execute the call
  std::unique_ptr<net::Timer> timer;
};
using JobPtr = std::shared_ptr<Job>;

// The API server itself reports that the object does not exist.
bool says_gone(const Job& job, const Reply& reply) {
  return reply && job.object && says_not_found(*reply, job.object->resource, job.object->name);
}

// A 404 that is not about the object comes from a proxy.
bool worth_repeating(const Job& job, const Reply& reply) {
  if (!reply) return true;
  if (reply->status == kNotFound) return job.object && (job.found || !says_gone(job, reply));
  return reply->status >= 500 || reply->status == 429 || reply->status == 401;
}

ObjectOutcome outcome_of(const Job& job, Reply reply) {
  const std::string& what = job.ask.what;
  if (!reply) {
    return {.message = fmt::format("cannot {}: {}", what, reply.error().message), .body = {}};
  }
  const int status = reply->status;
  if (status >= 200 && status < 300) {
    return {.result = ObjectResult::done, .message = {}, .body = std::move(reply->body)};
  }
  ObjectOutcome outcome{.message = explain(what, *reply), .body = {}};
  if (status == 409) {
    outcome.result = ObjectResult::conflict;
  } else if (says_gone(job, reply) && !job.found) {
    outcome.result = ObjectResult::gone;
  } else if (!worth_repeating(job, reply)) {
    outcome.result = ObjectResult::refused;
  }
  return outcome;
}

}  // namespace

struct ObjectAccess::Impl : std::enable_shared_from_this<ObjectAccess::Impl> {
  Impl(ApiClient& api, const ObjectAccessOptions& given)
      : client(api), options(given), pauses(given.pause_min, given.pause_max, given.seed) {}

  void send(const JobPtr& job) {
    const ObjectRequest& ask = job->ask;
    ApiCall call{.method = ask.method, .target = ask.target, .body = ask.body};
    if (ask.method == "PATCH") call.content_type = ask.content_type;
    call.lane = ask.lane;
    const net::Duration left = job->deadline - client.loop().now();
    client.call(std::move(call), std::min(options.attempt_deadline, left),
                [weak = weak_from_this(), job](Reply reply) {
                  const auto self = weak.lock();
                  if (!self) return;
                  job->found = false;
                  const bool write = job->ask.method != "GET";
                  if (write && says_gone(*job, reply)) return self->look_up(job, std::move(reply));
                  self->replied(job, std::move(reply));
                });
  }

  // Like the binder: a NotFound reply to a write counts if a read finds nothing either, or is
  // forbidden.
  void look_up(const JobPtr& job, Reply said) {
    ApiCall call{.target = job->object->path};
    call.lane = job->ask.lane;
    const net::Duration left = job->deadline - client.loop().now();
    client.call(std::move(call), std::min(options.attempt_deadline, left),
                [weak = weak_from_this(), job, said = std::move(said)](const Reply& reply) {
                  const auto self = weak.lock();
                  if (!self) return;
                  const bool forbidden = reply && reply->status == kForbidden;
                  job->found = !forbidden && !says_gone(*job, reply);
                  self->replied(job, said);
                });
  }

  void replied(const JobPtr& job, Reply reply) {
    const net::Duration pause = pauses.spread(job->backoff.next());
    if (worth_repeating(*job, reply) && client.loop().now() + pause < job->deadline) {
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
    ObjectOutcome outcome = outcome_of(*job, std::move(reply));
    // The deadline cuts the last attempt short: the server's earlier message says more.
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
    : impl_(std::make_shared<Impl>(client, options)) {}
ObjectAccess::~ObjectAccess() { impl_->jobs.clear(); }

void ObjectAccess::call(ObjectRequest ask, Done done) {
  ++impl_->counters.asked;
  auto job = std::make_shared<Job>();
  job->ask = std::move(ask);
  job->object = object_path(job->ask.target);
  job->done = std::move(done);
  job->deadline = impl_->client.loop().now() + impl_->options.total_deadline;
  job->backoff = {impl_->options.pause_min, impl_->options.pause_max};
  impl_->jobs.insert(job);
  impl_->send(job);
}

ObjectAccess::Counters ObjectAccess::counters() const {
  Counters counters = impl_->counters;
  counters.under_way = impl_->jobs.size();
  return counters;
}

}  // namespace stowage::kube
