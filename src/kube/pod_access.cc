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

using Reply = tl::expected<ApiReply, CallError>;

constexpr int kConflict = 409;
// What has less time than this is not sent.
constexpr std::chrono::milliseconds kTimeToWrite{10};

bool good(const Reply& reply) { return reply && reply->status >= 200 && reply->status < 300; }

// A conflict is another writer at the same moment, or another pod of that name: once more, and
// then the words of the server. Of a write that names the version it is of, the answer.
bool worth_repeating(const Reply& reply, int attempt, bool conditional) {
  if (!reply) return !reply.error().shed;
  return reply->status >= 500 || (reply->status == kConflict && attempt == 0 && !conditional);
}

}  // namespace

struct PodAccess::Body : std::enable_shared_from_this<PodAccess::Body> {
  Body(ApiClient& api, PodAccessOptions settings) : client(api), options(std::move(settings)) {}

  struct Job {
    ApiCall ask;
    SteadyTime until{};
    bool fenced = false;
    bool conditional = false;
    std::function<void(Reply)> done;
    int attempt = 0;
  };

  void call(Job job) {
    ApiCall ask = job.ask;
    net::Duration limit = job.until - client.loop().now();
    if (job.fenced) {
      const net::Moment fence = options.fence ? options.fence() : job.until;
      limit = (std::min(job.until, fence) - client.loop().now()) / 2;
      if (limit < kTimeToWrite) return fenced_off(std::move(job));
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
      job.done(tl::unexpected(CallError{.message = "too late to be sent"}));
    });
  }

  void replied(Job job, Reply reply) {
    const bool time_left = client.loop().now() + options.pause < job.until;
    if (good(reply) || !time_left || !worth_repeating(reply, job.attempt, job.conditional)) {
      if (!good(reply)) ++counters.failed;
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

  void write(Name pod, const codec::MetadataAsk& ask, bool fenced, Written done) {
    ++counters.writes;
    Job job{.until = client.loop().now() + options.deadline,
            .fenced = fenced,
            .conditional = !ask.resource_version.empty()};
    job.ask.method = "PATCH";
    job.ask.target = core_path(pod.ns, "pods", pod.name);
    job.ask.content_type = kMergePatch;
    job.ask.body = codec::metadata_patch(ask);
    job.ask.lane = Lane::bind;
    job.done = [pod = std::move(pod), done = std::move(done)](const Reply& reply) {
      if (good(reply)) return done("");
      const std::string what = fmt::format("patch pod {}/{}", pod.ns, pod.name);
      done(reply ? explain(what, *reply)
                 : fmt::format("cannot {}: {}", what, reply.error().message));
    };
    call(std::move(job));
  }

  ApiClient& client;
  PodAccessOptions options;
  codec::Decoder decoder;
  Counters counters;
  std::map<std::uint64_t, net::Timer> pauses;
  std::uint64_t pause_count = 0;
};

PodAccess::PodAccess(ApiClient& client, PodAccessOptions options)
    : body_(std::make_shared<Body>(client, std::move(options))) {}
PodAccess::~PodAccess() = default;

void PodAccess::read(Name pod, Read done) {
  ++body_->counters.reads;
  ApiCall ask;
  ask.target = core_path(pod.ns, "pods", pod.name);
  ask.lane = Lane::bind;
  const auto until = body_->client.loop().now() + body_->options.deadline;
  body_->call(
      {.ask = std::move(ask),
       .until = until,
       .done = [body = body_.get(), pod = std::move(pod), done = std::move(done)](Reply reply) {
         const std::string what = fmt::format("read pod {}/{}", pod.ns, pod.name);
         if (!reply) {
           return done(tl::unexpected(
               ReadError{.message = fmt::format("cannot {}: {}", what, reply.error().message)}));
         }
         if (!good(reply)) {
           return done(
               tl::unexpected(ReadError{.message = explain(what, *reply),
                                        .absent = says_not_found(*reply, "pods", pod.name)}));
         }
         auto object = body->decoder.pod(reply->body);
         if (object) return done(std::move(*object));
         done(tl::unexpected(
             ReadError{.message = fmt::format("cannot {}: {}", what, object.error().message)}));
       }});
}

void PodAccess::write(Name pod, const codec::MetadataAsk& ask, Written done) {
  body_->write(std::move(pod), ask, false, std::move(done));
}

void PodAccess::write_fenced(Name pod, const codec::MetadataAsk& ask, Written done) {
  body_->write(std::move(pod), ask, true, std::move(done));
}

PodAccess::Counters PodAccess::counters() const { return body_->counters; }

}  // namespace stowage::kube
