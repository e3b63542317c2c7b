#include "kube/pod_access.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "codec/kubernetes.h"
#include "kube/object_access.h"
#include "kube/object_path.h"

namespace stowage::kube {
namespace {

using Reply = CallResult;

constexpr int kConflict = 409;
// A write with less time left is not sent.
constexpr std::chrono::milliseconds kTimeToWrite{10};

// A conflict means another writer at the same moment, or another pod of that name: it is repeated
// once, then the server's message is returned. For a write that names a version, a conflict is the
// answer.
bool worth_repeating(const Reply& reply, int attempt, bool conditional) {
  if (!reply) return !reply.error().shed;
  return reply->status >= 500 || (reply->status == kConflict && attempt == 0 && !conditional);
}

}  // namespace

struct PodAccess::Impl : std::enable_shared_from_this<PodAccess::Impl> {
  Impl(ApiClient& api, PodAccessOptions settings) : client(api), options(std::move(settings)) {}

  struct Job {
    ApiCall ask;
    SteadyTime until{};
    bool fenced = false;
    bool conditional = false;
    std::uint64_t term = 0;
    std::function<void(Reply)> done;
    int attempt = 0;
  };

  void call(Job job) {
    ApiCall ask = job.ask;
    net::Duration limit = job.until - client.loop().now();
    if (job.fenced) {
      const net::Moment fence = options.fence ? options.fence() : job.until;
      limit = (std::min(job.until, fence) - client.loop().now()) / 2;
      if (limit < kTimeToWrite || job.term != term) return fenced_off(std::move(job));
      const auto millis = std::chrono::duration_cast<std::chrono::milliseconds>(limit);
      ask.target += fmt::format("?timeout={}ms", millis.count());
    }
    limit = std::max(limit, net::Duration{std::chrono::milliseconds{1}});
    client.call(std::move(ask), limit,
                [weak = weak_from_this(), job = std::move(job)](Reply reply) mutable {
                  if (const auto self = weak.lock()) {
                    self->replied(std::move(job), std::move(reply));
                  }
                });
  }

  // Later, because this may be inside write_fenced().
  void fenced_off(Job job) {
    ++counters.failed;
    client.loop().post([weak = weak_from_this(), job = std::move(job)] {
      if (weak.expired()) return;
      job.done(tl::unexpected(CallError{.message = "the deadline passed before it could be sent"}));
    });
  }

  void replied(Job job, Reply reply) {
    const bool time_left = client.loop().now() + options.pause < job.until;
    if (succeeded(reply) || !time_left || !worth_repeating(reply, job.attempt, job.conditional)) {
      if (!succeeded(reply)) ++counters.failed;
      return job.done(std::move(reply));
    }
    ++counters.repeated;
    ++job.attempt;
    const std::uint64_t number = pause_count++;
    net::Timer& timer = pauses.emplace(number, net::Timer(client.loop())).first->second;
    timer.start(options.pause, [this, number, job = std::move(job)]() mutable {
      Job again = std::move(job);
      pauses.erase(number);
      call(std::move(again));
    });
  }

  void write(Name pod, const codec::MetadataRequest& ask, bool fenced, Written done) {
    ++counters.writes;
    Job job{.until = client.loop().now() + options.deadline,
            .fenced = fenced,
            .conditional = !ask.resource_version.empty(),
            .term = term};
    job.ask.method = "PATCH";
    job.ask.target = core_path(pod.ns, "pods", pod.name);
    job.ask.content_type = kMergePatch;
    job.ask.body = codec::metadata_patch(ask);
    job.ask.lane = Lane::bind;
    job.done = [pod = std::move(pod), done = std::move(done)](const Reply& reply) {
      if (succeeded(reply)) return done("");
      const std::string what = fmt::format("patch pod {}/{}", pod.ns, pod.name);
      done(explain(what, reply));
    };
    call(std::move(job));
  }

  ApiClient& client;
  PodAccessOptions options;
  codec::Decoder decoder;
  Counters counters;
  std::map<std::uint64_t, net::Timer> pauses;
  std::uint64_t pause_count = 0;
  std::uint64_t term = 0;
};

PodAccess::PodAccess(ApiClient& client, PodAccessOptions options)
    : impl_(std::make_shared<Impl>(client, std::move(options))) {}
PodAccess::~PodAccess() = default;

void PodAccess::read(Name pod, Read done) {
  ++impl_->counters.reads;
  ApiCall ask;
  ask.target = core_path(pod.ns, "pods", pod.name);
  ask.lane = Lane::bind;
  const auto until = impl_->client.loop().now() + impl_->options.deadline;
  impl_->call(
      {.ask = std::move(ask),
       .until = until,
       .done = [body = impl_.get(), pod = std::move(pod), done = std::move(done)](Reply reply) {
         const std::string what = fmt::format("read pod {}/{}", pod.ns, pod.name);
         if (!succeeded(reply)) {
           const bool absent = reply && says_not_found(*reply, "pods", pod.name);
           return done(
               tl::unexpected(ReadError{.message = explain(what, reply), .absent = absent}));
         }
         auto object = body->decoder.pod(reply->body);
         if (object) return done(std::move(*object));
         done(tl::unexpected(
             ReadError{.message = fmt::format("cannot {}: {}", what, object.error().message)}));
       }});
}

void PodAccess::write(Name pod, const codec::MetadataRequest& ask, Written done) {
  impl_->write(std::move(pod), ask, false, std::move(done));
}

void PodAccess::write_fenced(Name pod, const codec::MetadataRequest& ask, Written done) {
  impl_->write(std::move(pod), ask, true, std::move(done));
}

void PodAccess::end_term() { ++impl_->term; }

PodAccess::Counters PodAccess::counters() const { return impl_->counters; }

}  // namespace stowage::kube
