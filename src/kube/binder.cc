#include "kube/binder.h"

#include <algorithm>
#include <deque>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "codec/kubernetes.h"
#include "kube/object_path.h"
#include "kube/pacing.h"

namespace stowage::kube {
namespace {

// A conflict without a visible cause in the pod may be temporary.
constexpr std::uint32_t kConflictsMax = 3;

struct Job {
  BindRequest ask;
  Binder::Done done;
  std::string path;  // of the pod
  SteadyTime deadline{};
  SteadyTime arrives_by{};  // latest arrival of the bindings that were sent
  base::Backoff backoff{net::Duration{}, net::Duration{}};
  std::uint32_t attempts = 0;
  int code = 0;
  bool sending = false;  // a binding is on its way
  bool open = false;     // a binding was sent whose result is not known
  bool ended = false;    // its callback was called
  std::string trouble;
  std::unique_ptr<net::Timer> timer;

  [[nodiscard]] std::string words() const {
    return fmt::format("bind pod {}/{} to node {}", ask.ns, ask.name, ask.node);
  }
};
using JobPtr = std::shared_ptr<Job>;

// A binding with less time left is not sent.
constexpr std::chrono::milliseconds kTimeToBind{10};

bool carries(const dialect::Annotations& all, const dialect::Annotations& ours) {
  return std::all_of(ours.begin(), ours.end(), [&](const auto& each) {
    const auto found = all.find(each.first);
    return found != all.end() && found->second == each.second;
  });
}

}  // namespace

struct Binder::Impl : std::enable_shared_from_this<Binder::Impl> {
  Impl(ApiClient& api, const BinderOptions& given)
      : client(api),
        options(given),
        pauses(options.pause_min, options.pause_max, options.seed),
        drain_timer(client.loop()) {}

  void bind(BindRequest ask, Done done) {
    ++counters.asked;
    auto job = std::make_shared<Job>();
    job->ask = std::move(ask);
    job->done = std::move(done);
    if (draining) return turn_away(job);
    waiting.push_back(std::move(job));
    pump();
  }

  void pump() {
    while (!waiting.empty() && in_flight.size() < options.in_flight_max) {
      JobPtr job = std::move(waiting.front());
      waiting.pop_front();
      in_flight.insert(job);
      job->path = core_path(job->ask.ns, "pods", job->ask.name);
      job->deadline = client.loop().now() + options.total_deadline;
      job->backoff = {options.pause_min, options.pause_max};
      post_binding(job);
    }
  }

  [[nodiscard]] net::Duration time_for(const JobPtr& job) const {
    return std::min(options.attempt_deadline, job->deadline - client.loop().now());
  }

  template <typename Take>
  void call(const JobPtr& job, ApiCall what, net::Duration limit, Take take) {
    what.lane = Lane::bind;
    client.call(std::move(what), limit, [weak = weak_from_this(), job, take](CallResult reply) {
      const auto self = weak.lock();
      if (self && !job->ended) take(*self, job, std::move(reply));
    });
  }

  void post_binding(const JobPtr& job) {
    net::Duration limit = time_for(job);
    if (options.fence) {
      limit = std::min(limit, (options.fence() - client.loop().now()) / 2);
      if (limit < kTimeToBind) return fenced_off(job);
    }
    if (++job->attempts > 1) ++counters.resent;
    job->sending = true;
    job->arrives_by = std::max(job->arrives_by, client.loop().now() + 2 * limit);
    ApiCall what;
    what.method = "POST";
    // The server counts from when it receives the request, which may be at the end of our limit.
    const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(limit);
    what.target = fmt::format("{}/binding?timeout={}ms", job->path, milliseconds.count());
    what.body = codec::binding(job->ask);
    call(job, std::move(what), limit, [](Impl& self, const JobPtr& each, auto reply) {
      self.take_binding(each, std::move(reply));
    });
  }

  // Later, because this may be inside bind().
  void fenced_off(const JobPtr& job) {
    ++counters.fenced;
    job->trouble = fmt::format("cannot {}: this replica no longer leads", job->words());
    client.loop().post([weak = weak_from_this(), job] {
      const auto self = weak.lock();
      if (self && !job->ended) self->give_up(job);
    });
  }

  void take_binding(const JobPtr& job, CallResult reply) {
    job->sending = false;
    if (!reply) {
      job->trouble = fmt::format("cannot {}: {}", job->words(), reply.error().message);
      if (reply.error().sent) {
        unknown(job);
      } else {
        later(job, &Impl::post_binding);
      }
      return;
    }
    job->code = reply->status;
    if (reply->status >= 200 && reply->status < 300) {
      return end(job, {.result = BindResult::bound, .node = job->ask.node});
    }
    job->trouble = explain(job->words(), *reply);
    if (says_not_found(*reply, "pods", job->ask.name)) {
      read_pod(job);  // was it deleted, or does another pod have its name?
    } else if (reply->status == 404) {
      unknown(job);  // a proxy answered, not the API server
    } else if (reply->status == 409) {
      read_pod(job);  // why: already ours, on another node, another pod, or being deleted
    } else if (reply->status >= 500) {
      unknown(job);
    } else if (reply->status == 429 || reply->status == 401) {
      give_up(job);
    } else {
      end(job, {.result = BindResult::refused, .message = job->trouble});
    }
  }

  void unknown(const JobPtr& job) {
    ++counters.unknown;
    job->open = true;
    // A broken connection says nothing about the server: ask at once, pause if that fails too.
    read_pod(job);
  }

  void read_pod(const JobPtr& job) {
    if (client.loop().now() >= job->deadline) return give_up(job);
    ApiCall what;
    what.target = job->path;
    call(job, std::move(what), time_for(job),
         [](Impl& self, const JobPtr& each, auto reply) { self.take_pod(each, std::move(reply)); });
  }

  void take_pod(const JobPtr& job, CallResult reply) {
    if (reply && says_not_found(*reply, "pods", job->ask.name)) {
      return end(job, {.result = BindResult::gone, .message = explain("read the pod", *reply)});
    }
    if (!reply || reply->status != 200) {
      return pod_unreadable(job, explain("read the pod", reply));
    }
    auto pod = decoder.pod(reply->body);
    if (!pod) {
      return pod_unreadable(job, fmt::format("cannot read the pod: {}", pod.error().message));
    }
    judge(job, *pod);
  }

  // A conflict is final even if its cause stays unknown; an unknown result is looked up again.
  void pod_unreadable(const JobPtr& job, const std::string& trouble) {
    if (job->open) {
      job->trouble += "; " + trouble;
      later(job, &Impl::read_pod);
    } else {
      end(job, {.result = BindResult::refused, .message = job->trouble});
    }
  }

  void judge(const JobPtr& job, const dialect::PodObject& pod) {
    const BindRequest& ask = job->ask;
    if (pod.uid != ask.uid) {
      end(job, {.result = BindResult::gone,
                .message = fmt::format("pod {}/{} was replaced: its uid is {}, not {}", ask.ns,
                                       ask.name, pod.uid, ask.uid)});
    } else if (pod.node == ask.node && carries(pod.annotations, ask.annotations)) {
      end(job, {.result = BindResult::bound, .node = pod.node});
    } else if (!pod.node.empty()) {
      end(job, {.result = BindResult::refused,
                .message = fmt::format("pod {}/{} was bound to node {} by another scheduler",
                                       ask.ns, ask.name, pod.node),
                .node = pod.node});
    } else if (pod.deleting) {
      end(job, {.result = BindResult::refused,
                .message = fmt::format("pod {}/{} is being deleted", ask.ns, ask.name)});
    } else if (job->code == 409 && (!pod.gates.empty() || job->attempts >= kConflictsMax)) {
      end(job, {.result = BindResult::refused, .message = job->trouble});
    } else {
      later(job, &Impl::post_binding);
    }
  }

  // Continues after a pause, or gives up if that would be too late.
  void later(const JobPtr& job, void (Impl::*next)(const JobPtr&)) {
    const net::Duration pause = pauses.spread(job->backoff.next());
    if (client.loop().now() + pause >= job->deadline) return give_up(job);
    if (!job->timer) job->timer = std::make_unique<net::Timer>(client.loop());
    job->timer->start(pause, [weak = weak_from_this(), weak_job = std::weak_ptr<Job>(job), next] {
      const auto self = weak.lock();
      const auto each = weak_job.lock();
      if (self && each && !each->ended) (*self.*next)(each);
    });
  }

  void give_up(const JobPtr& job) {
    end(job, {.result = BindResult::failed, .message = job->trouble, .maybe_bound = job->open});
  }

  void end(const JobPtr& job, BindOutcome outcome) {
    job->ended = true;
    in_flight.erase(job);
    if (outcome.maybe_bound) counters.open_until = std::max(counters.open_until, job->arrives_by);
    outcome.code = job->code;
    outcome.attempts = job->attempts;
    switch (outcome.result) {
      case BindResult::bound: ++counters.bound; break;
      case BindResult::gone: ++counters.gone; break;
      case BindResult::refused: ++counters.refused; break;
      case BindResult::failed: ++counters.failed; break;
    }
    job->done(std::move(outcome));
    pump();
    if (draining && in_flight.empty()) finish_drain();
  }

  void drain(net::Duration deadline, std::function<void()> then) {
    drained = std::move(then);
    draining = true;
    for (const JobPtr& job : std::exchange(waiting, {})) turn_away(job);
    drain_timer.start(in_flight.empty() ? net::Duration::zero() : deadline,
                      [weak = weak_from_this()] {
                        const auto self = weak.lock();
                        if (!self) return;
                        self->abandon("shutting down before the reply came");
                        self->finish_drain();
                      });
  }

  // Counts as in flight until its callback was called, so that `drained` follows it.
  void turn_away(const JobPtr& job) {
    job->trouble = fmt::format("cannot {}: shutting down", job->words());
    in_flight.insert(job);
    client.loop().post([weak = weak_from_this(), job] {
      const auto self = weak.lock();
      if (self && !job->ended) self->give_up(job);
    });
  }

  void abandon(std::string_view why) {
    for (const JobPtr& job : std::exchange(waiting, {})) in_flight.insert(job);
    const std::vector<JobPtr> left(in_flight.begin(), in_flight.end());
    for (const JobPtr& job : left) {
      if (job->ended) continue;
      job->open = job->open || job->sending;
      job->trouble = fmt::format("cannot {}: {}", job->words(), why);
      give_up(job);
    }
  }

  void finish_drain() {
    drain_timer.cancel();
    if (const auto then = std::exchange(drained, nullptr)) then();
  }

  ApiClient& client;
  const BinderOptions options;
  codec::Decoder decoder;
  JitteredBackoff pauses;
  net::Timer drain_timer;
  std::deque<JobPtr> waiting;
  std::unordered_set<JobPtr> in_flight;
  bool draining = false;
  std::function<void()> drained;
  BinderCounters counters;
};

Binder::Binder(ApiClient& client, BinderOptions options)
    : impl_(std::make_shared<Impl>(client, options)) {}
Binder::~Binder() { impl_->waiting.clear(); }

void Binder::bind(BindRequest ask, Done done) { impl_->bind(std::move(ask), std::move(done)); }

void Binder::drain(net::Duration deadline, std::function<void()> drained) {
  impl_->drain(deadline, std::move(drained));
}

void Binder::end_term() { impl_->abandon("this replica no longer leads"); }

BinderCounters Binder::counters() const {
  BinderCounters counters = impl_->counters;
  counters.in_flight = impl_->in_flight.size();
  counters.waiting = impl_->waiting.size();
  return counters;
}

}  // namespace stowage::kube
