#include "kube/pod_access.h"

#include <map>
#include <utility>

#include <fmt/format.h>

#include "codec/kubernetes.h"

namespace stowage::kube {
namespace {

using Reply = tl::expected<ApiReply, CallError>;
using std::chrono::steady_clock;

constexpr int kConflict = 409;
constexpr int kNotFound = 404;

std::string path_of(const PodAccess::Name& pod) {
  return fmt::format("/api/v1/namespaces/{}/pods/{}", net::percent_encode(pod.ns),
                     net::percent_encode(pod.name));
}

bool good(const Reply& reply) { return reply && reply->status >= 200 && reply->status < 300; }

// A conflict is another writer at the same moment, or another pod of that name: once more, and
// then the words of the server.
bool worth_repeating(const Reply& reply, int attempt) {
  if (!reply) return !reply.error().shed;
  return reply->status >= 500 || (reply->status == kConflict && attempt == 0);
}

}  // namespace

struct PodAccess::Body : std::enable_shared_from_this<PodAccess::Body> {
  Body(ApiClient& api, PodAccessOptions settings) : client(api), options(settings) {}

  using Done = std::function<void(Reply)>;
  void call(ApiCall ask, steady_clock::time_point until, int attempt, Done done) {
    const auto left = std::chrono::duration_cast<net::Duration>(until - steady_clock::now());
    const net::Duration limit = std::max(left, net::Duration{std::chrono::milliseconds{1}});
    ApiCall copy = ask;
    client.call(std::move(copy), limit,
                [weak = weak_from_this(), ask = std::move(ask), until, attempt,
                 done = std::move(done)](Reply reply) mutable {
                  if (const auto self = weak.lock()) {
                    self->replied(std::move(ask), until, attempt, std::move(done),
                                  std::move(reply));
                  }
                });
  }

  void replied(ApiCall ask, steady_clock::time_point until, int attempt, Done done, Reply reply) {
    const bool time_left = steady_clock::now() + options.pause < until;
    if (good(reply) || !time_left || !worth_repeating(reply, attempt)) {
      if (!good(reply)) ++counters.failed;
      return done(std::move(reply));
    }
    ++counters.repeated;
    const std::uint64_t number = pause_count++;
    net::Timer& timer = pauses.emplace(number, net::Timer(client.loop())).first->second;
    timer.start(options.pause, [this, number, ask = std::move(ask), until, attempt,
                                done = std::move(done)]() mutable {
      ApiCall again = std::move(ask);
      Done then = std::move(done);
      const int next = attempt + 1;
      const auto limit = until;
      pauses.erase(number);
      call(std::move(again), limit, next, std::move(then));
    });
  }

  ApiClient& client;
  PodAccessOptions options;
  codec::Decoder decoder;
  Counters counters;
  std::map<std::uint64_t, net::Timer> pauses;
  std::uint64_t pause_count = 0;
};

PodAccess::PodAccess(ApiClient& client, PodAccessOptions options)
    : body_(std::make_shared<Body>(client, options)) {}
PodAccess::~PodAccess() = default;

void PodAccess::read(Name pod, Read done) {
  ++body_->counters.reads;
  ApiCall ask;
  ask.target = path_of(pod);
  ask.lane = Lane::bind;
  const auto until = steady_clock::now() + body_->options.deadline;
  body_->call(std::move(ask), until, 0,
              [body = body_.get(), pod = std::move(pod), done = std::move(done)](Reply reply) {
                const std::string what = fmt::format("read pod {}/{}", pod.ns, pod.name);
                if (!reply) {
                  return done(tl::unexpected(ReadError{
                      .message = fmt::format("cannot {}: {}", what, reply.error().message)}));
                }
                if (!good(reply)) {
                  return done(tl::unexpected(ReadError{.message = explain(what, *reply),
                                                       .absent = reply->status == kNotFound}));
                }
                auto object = body->decoder.pod(reply->body);
                if (object) return done(std::move(*object));
                done(tl::unexpected(ReadError{
                    .message = fmt::format("cannot {}: {}", what, object.error().message)}));
              });
}

void PodAccess::write(Name pod, const codec::MetadataAsk& ask, Written done) {
  ++body_->counters.writes;
  ApiCall call;
  call.method = "PATCH";
  call.target = path_of(pod);
  call.content_type = "application/merge-patch+json";
  call.body = codec::metadata_patch(ask);
  call.lane = Lane::bind;
  const auto until = steady_clock::now() + body_->options.deadline;
  body_->call(std::move(call), until, 0,
              [pod = std::move(pod), done = std::move(done)](const Reply& reply) {
                if (good(reply)) return done("");
                const std::string what = fmt::format("patch pod {}/{}", pod.ns, pod.name);
                done(reply ? explain(what, *reply)
                           : fmt::format("cannot {}: {}", what, reply.error().message));
              });
}

PodAccess::Counters PodAccess::counters() const { return body_->counters; }

}  // namespace stowage::kube
