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
constexpr int kNotFound = 404;
// Each time, another writer has changed the pod between our read and our write.
constexpr int kRebasesMax = 8;
// A write with less time left is not sent.
constexpr std::chrono::milliseconds kTimeToWrite{10};

// A conflict means another writer at the same moment, or another pod of that name: it is repeated
// once, then the server's message is returned. For a fenced write, a conflict is the answer.
bool worth_repeating(const Reply& reply, int attempt, bool fenced) {
  if (!reply) return !reply.error().shed;
  return reply->status >= 500 || (reply->status == kConflict && attempt == 0 && !fenced);
}

// As for the binder: the server may still act, or a proxy has answered instead of it.
bool leaves_open(const Reply& reply) {
  if (!reply) return reply.error().sent;
  return reply->status >= 500 || reply->status == kNotFound;
}

// The pod is as the write makes it: an earlier attempt has succeeded.
bool carries(const dialect::PodObject& pod, const codec::MetadataRequest& ask) {
  const auto& all = pod.annotations;
  return pod.uid == ask.uid && !ask.annotations.empty() &&
         std::all_of(ask.annotations.begin(), ask.annotations.end(),
                     [&](const auto& each) {
                       const auto found = all.find(each.first);
                       return found != all.end() && found->second == each.second;
                     }) &&
         std::none_of(ask.remove.begin(), ask.remove.end(),
                      [&](const std::string& key) { return all.contains(key); });
}

}  // namespace

struct PodAccess::Impl : std::enable_shared_from_this<PodAccess::Impl> {
  Impl(ApiClient& api, PodAccessOptions settings)
      : client(api), options(std::move(settings)), drain_timer(client.loop()) {}

  struct Job {
    ApiCall ask;
    SteadyTime until{};
    bool fenced = false;
    std::uint64_t term = 0;
    std::function<void(Reply)> done;
    int attempt = 0;
  };
  struct FencedWrite {
    Name pod;
    codec::MetadataRequest ask;
    Rebase rebase;
    Written done;
    SteadyTime until{};
    std::uint64_t term = 0;
    int rebases = 0;
  };
  using FencedPtr = std::shared_ptr<FencedWrite>;

  void call(Job job) {
    ApiCall ask = job.ask;
    const net::Moment now = client.loop().now();
    net::Duration limit = job.until - now;
    if (job.fenced) {
      const net::Moment fence = options.fence ? options.fence() : job.until;
      limit = (std::min(job.until, fence) - now) / 2;
      const bool over = draining || job.term != term;
      if (limit < kTimeToWrite || over) return fenced_off(std::move(job));
      const auto millis = std::chrono::duration_cast<std::chrono::milliseconds>(limit);
      ask.target += fmt::format("?timeout={}ms", millis.count());
    }
    limit = std::max(limit, net::Duration{std::chrono::milliseconds{1}});
    const std::uint64_t number = calls++;
    if (job.fenced) arrives_by.emplace(number, now + 2 * limit);
    client.call(std::move(ask), limit,
                [weak = weak_from_this(), number, job = std::move(job)](Reply reply) mutable {
                  const auto self = weak.lock();
                  if (!self) return;
                  if (job.fenced) self->arrived(number, reply);
                  self->replied(std::move(job), std::move(reply));
                });
  }

  void arrived(std::uint64_t number, const Reply& reply) {
    const net::Moment latest = arrives_by.extract(number).mapped();
    if (leaves_open(reply)) unknown_until = std::max(unknown_until, latest);
  }

  [[nodiscard]] net::Moment open_until() const {
    net::Moment latest = unknown_until;
    for (const auto& [number, moment] : arrives_by) latest = std::max(latest, moment);
    return latest;
  }

  // Later, because this may be inside write_fenced().
  void fenced_off(Job job) {
    client.loop().post([weak = weak_from_this(), job = std::move(job)] {
      if (weak.expired()) return;
      job.done(tl::unexpected(CallError{.message = "the deadline passed before it could be sent"}));
    });
  }

  void replied(Job job, Reply reply) {
    const bool time_left = client.loop().now() + options.pause < job.until;
    if (succeeded(reply) || !time_left || !worth_repeating(reply, job.attempt, job.fenced)) {
      if (!succeeded(reply) && !job.fenced) ++counters.failed;
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

  [[nodiscard]] static ApiCall patch(const Name& pod, const codec::MetadataRequest& ask) {
    ApiCall call;
    call.method = "PATCH";
    call.target = core_path(pod.ns, "pods", pod.name);
    call.content_type = kMergePatch;
    call.body = codec::metadata_patch(ask);
    call.lane = Lane::bind;
    return call;
  }
  [[nodiscard]] static std::string trouble(const Name& pod, const Reply& reply) {
    return explain(fmt::format("patch pod {}/{}", pod.ns, pod.name), reply);
  }

  void read(Name pod, SteadyTime until, Read done) {
    ++counters.reads;
    Job job{.until = until};
    job.ask.target = core_path(pod.ns, "pods", pod.name);
    job.ask.lane = Lane::bind;
    job.done = [this, pod = std::move(pod), done = std::move(done)](Reply reply) {
      const std::string what = fmt::format("read pod {}/{}", pod.ns, pod.name);
      if (!succeeded(reply)) {
        const bool absent = reply && says_not_found(*reply, "pods", pod.name);
        return done(tl::unexpected(ReadError{.message = explain(what, reply), .absent = absent}));
      }
      auto object = decoder.pod(reply->body);
      if (object) return done(std::move(*object));
      done(tl::unexpected(
          ReadError{.message = fmt::format("cannot {}: {}", what, object.error().message)}));
    };
    call(std::move(job));
  }

  // ---- fenced writes

  void send(const FencedPtr& write) {
    Job job{.ask = patch(write->pod, write->ask),
            .until = write->until,
            .fenced = true,
            .term = write->term};
    job.done = [this, write](const Reply& reply) {
      if (succeeded(reply)) return end(write, "");
      const bool changed = reply && reply->status == kConflict;
      if (!changed || !write->rebase || write->rebases == kRebasesMax) {
        return end(write, trouble(write->pod, reply));
      }
      ++write->rebases;
      ++counters.repeated;
      rebase(write);
    };
    call(std::move(job));
  }

  void rebase(const FencedPtr& write) {
    read(write->pod, write->until, [this, write](const auto& pod) {
      if (!pod) return end(write, pod.error().message);
      if (write->rebases > 0 && carries(*pod, write->ask)) return end(write, "");
      auto fresh = write->rebase(*pod);
      if (!fresh) return end(write, fresh.error().message);
      write->ask = std::move(*fresh);
      send(write);
    });
  }

  void end(const FencedPtr& write, const std::string& error) {
    const auto self = shared_from_this();
    if (!error.empty()) ++counters.failed;
    write->done(error);
    if (--fenced_writes == 0) finish_drain();
  }

  void drain(net::Duration deadline, std::function<void()> then) {
    draining = true;
    drained = std::move(then);
    drain_timer.start(fenced_writes == 0 ? net::Duration::zero() : deadline,
                      [weak = weak_from_this()] {
                        if (const auto self = weak.lock()) self->finish_drain();
                      });
  }

  void finish_drain() {
    drain_timer.cancel();
    if (const auto then = std::exchange(drained, nullptr)) then();
  }

  ApiClient& client;
  PodAccessOptions options;
  codec::Decoder decoder;
  Counters counters;
  std::map<std::uint64_t, net::Timer> pauses;
  std::uint64_t pause_count = 0;
  std::uint64_t calls = 0;
  std::map<std::uint64_t, net::Moment> arrives_by;  // fenced calls without a reply, by number
  net::Moment unknown_until{};  // latest arrival of fenced calls with an unknown result
  std::size_t fenced_writes = 0;
  std::uint64_t term = 0;
  bool draining = false;
  net::Timer drain_timer;
  std::function<void()> drained;
};

PodAccess::PodAccess(ApiClient& client, PodAccessOptions options)
    : impl_(std::make_shared<Impl>(client, std::move(options))) {}
PodAccess::~PodAccess() = default;

void PodAccess::read(Name pod, Read done) {
  const auto until = impl_->client.loop().now() + impl_->options.deadline;
  impl_->read(std::move(pod), until, std::move(done));
}

void PodAccess::write(Name pod, const codec::MetadataRequest& ask, Written done) {
  ++impl_->counters.writes;
  impl_->call({.ask = Impl::patch(pod, ask),
               .until = impl_->client.loop().now() + impl_->options.deadline,
               .done = [pod = std::move(pod), done = std::move(done)](const Reply& reply) {
                 done(succeeded(reply) ? "" : Impl::trouble(pod, reply));
               }});
}

void PodAccess::write_fenced(Name pod, codec::MetadataRequest ask, Rebase rebase, Written done) {
  ++impl_->counters.writes;
  ++impl_->fenced_writes;
  auto write = std::make_shared<Impl::FencedWrite>();
  write->pod = std::move(pod);
  write->ask = std::move(ask);
  write->rebase = std::move(rebase);
  write->done = std::move(done);
  write->until = impl_->client.loop().now() + impl_->options.deadline;
  write->term = impl_->term;
  const bool read_first = write->ask.resource_version.empty() && write->rebase;
  read_first ? impl_->rebase(write) : impl_->send(write);
}

void PodAccess::end_term() { ++impl_->term; }

void PodAccess::drain(net::Duration deadline, std::function<void()> drained) {
  impl_->drain(deadline, std::move(drained));
}

net::Moment PodAccess::open_until() const { return impl_->open_until(); }

PodAccess::Counters PodAccess::counters() const { return impl_->counters; }

}  // namespace stowage::kube
