#include "kube/elector.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/rng.h"

namespace stowage::kube {
namespace {

using Reply = CallResult;

constexpr int kNotFound = 404;
constexpr int kConflict = 409;
constexpr std::int32_t kReleasedSeconds = 1;  // duration of a lease that was given back
constexpr std::chrono::milliseconds kFollowEvery{50};
constexpr int kReleaseTries = 3;  // another client may have written an annotation in between

// A candidate that knew a deleted lease leaves its leader the time of this many renewals.
constexpr int kRenewalsLeft = 2;

// The time of a call, by both clocks.
struct Sent {
  net::Moment at;
  WallTime wall;
};

}  // namespace

// Large because it is one state machine: looking, taking, keeping and losing the lease share what
// was last seen, the call under way and two timers.
struct Elector::Impl : std::enable_shared_from_this<Elector::Impl> {
  Impl(ApiClient& api, ElectorOptions given, Deps given_deps)
      : client(api),
        options(std::move(given)),
        deps(std::move(given_deps)),
        rng(options.seed),
        timer(client.loop()),
        expiry(client.loop()) {
    folder = fmt::format("/apis/coordination.k8s.io/v1/namespaces/{}/leases",
                         net::percent_encode(options.ns));
    path = folder + "/" + net::percent_encode(options.name);
  }

  [[nodiscard]] net::Moment now() const { return client.loop().now(); }
  [[nodiscard]] bool ours() const { return known && seen.holder == options.identity; }
  [[nodiscard]] net::Moment valid_until() const { return renewal.at + options.duration; }
  [[nodiscard]] Sent sent_now() const { return {.at = now(), .wall = client.wall_clock()()}; }
  [[nodiscard]] net::Duration seen_duration() const {
    return std::chrono::seconds{std::max(seen.seconds, 1)};
  }

  template <typename Take>
  void call(ApiCall what, Take take) {
    what.lane = Lane::lease;
    const Sent sent = sent_now();
    writes = what.method != "GET";
    calling = true;
    client.call(std::move(what), options.call_deadline,
                [weak = weak_from_this(), sent, take](const Reply& reply) {
                  const auto self = weak.lock();
                  if (!self) return;
                  self->calling = false;
                  if (!self->stopped) {
                    self->writes = false;
                    return take(*self, sent, reply);
                  }
                  if (std::exchange(self->writes, false)) self->give_back_after(reply);
                });
  }

  // ---- looking

  void look() {
    ApiCall what;
    what.target = path;
    call(std::move(what),
         [](Impl& self, const Sent& /*sent*/, const Reply& reply) { self.looked(reply); });
  }

  void looked(const Reply& reply) {
    if (reply && reply->status == kNotFound) return missing();
    if (!succeeded(reply)) return failed("read", reply);
    auto lease = codec::read_lease(reply->body);
    if (!lease) return failed(fmt::format("cannot read the lease: {}", lease.error().message));
    see(std::move(*lease));
    decide();
  }

  // There is no lease. While we lead, no other replica can have had it either: a replica that
  // creates one waits for longer than we may lead without it.
  void missing() {
    if (leading) return create();
    held_until.reset();
    if (known && !missing_since) missing_since = now();
    if (known && now() < *missing_since + kRenewalsLeft * options.retry) {
      trouble.clear();
      return again(options.look);
    }
    create();
  }

  void see(codec::Lease lease) {
    if (std::exchange(fails, false) && deps.on_trouble) deps.on_trouble({}, 0);
    missing_since.reset();
    // Another lease with our name: an old call of ours created it, and other replicas may have led
    // since.
    if (lease.holder != options.identity || lease.uid != seen.uid) held_until.reset();
    const bool same = known && lease.resource_version == seen.resource_version;
    const bool news =
        !known || lease.holder != seen.holder || lease.annotations != seen.annotations;
    known = true;
    if (!same) unchanged_since = now();
    seen_at = now();
    seen = std::move(lease);
    if (news && deps.on_leader) deps.on_leader(seen);
  }

  void decide() {
    if (leading) {
      if (ours()) return renew();  // with the newest version
      return lose(fmt::format("{} holds the lease", seen.holder.empty() ? "nobody" : seen.holder));
    }
    // A lease of our own, although we do not lead: our last call took effect after we gave up, or
    // its reply was lost. No other replica has it.
    const bool free = seen.holder.empty() || ours();
    if (!free && now() < unchanged_since + seen_duration()) {
      trouble.clear();  // the lease is readable, but that does not mean it can be written
      return again(options.look);
    }
    acquire();
  }

  // ---- taking and keeping it

  [[nodiscard]] codec::LeaseRequest ask() const {
    return {.ns = options.ns,
            .name = options.name,
            .resource_version = seen.resource_version,
            .holder = options.identity,
            .seconds = static_cast<std::int32_t>(options.duration.count()),
            .renewed_micros = unix_micros(client.wall_clock()()),
            .transitions = seen.transitions,
            .annotations = options.annotations};
  }

  void create() {
    codec::LeaseRequest fresh = ask();
    fresh.acquired_micros = fresh.renewed_micros;
    fresh.transitions = 0;
    ApiCall what;
    what.method = "POST";
    what.target = folder;
    what.body = codec::lease(fresh);
    if (!leading) {
      attempt = {.clean = false, .before = known ? seen.holder : std::string(), .created = true};
    }
    call(std::move(what), [](Impl& self, const Sent& sent, const Reply& reply) {
      // Its namespace does not exist, or a proxy answered.
      if (reply && reply->status == kNotFound) return self.failed("create", reply);
      self.written(sent, reply, &self.attempt);
    });
  }

  void acquire() {
    codec::LeaseRequest mine = ask();
    mine.acquired_micros = mine.renewed_micros;
    if (!ours()) {
      ++mine.transitions;
      // A released lease keeps the time of its last renewal.
      const bool made = seen.holder.empty() && seen.renewed.empty();
      attempt = {.clean = seen.holder.empty() && !made, .before = seen.holder, .created = made};
    }
    patch(mine, [](Impl& self, const Sent& sent, const Reply& reply) {
      self.written(sent, reply, &self.attempt);
    });
  }

  void renew() {
    patch(ask(), [](Impl& self, const Sent& sent, const Reply& reply) {
      self.written(sent, reply, self.leading ? nullptr : &self.attempt);
    });
  }

  template <typename Take>
  void patch(const codec::LeaseRequest& wanted, Take take) {
    ApiCall what;
    what.method = "PATCH";
    what.target = path;
    what.content_type = "application/merge-patch+json";
    what.body = codec::lease_patch(wanted);
    call(std::move(what), take);
  }

  // `start`: we did not lead when it was sent.
  void written(const Sent& sent, const Reply& reply, const Start* start) {
    if (reply && (reply->status == kConflict || reply->status == kNotFound)) {
      return look();  // another replica was first, or our own call whose reply was lost
    }
    if (!succeeded(reply)) return failed(start != nullptr ? "take" : "renew", reply);
    auto lease = codec::read_lease(reply->body);
    if (!lease) return failed(fmt::format("cannot read the lease: {}", lease.error().message));
    trouble.clear();
    const net::Duration before = seen_duration();
    see(std::move(*lease));
    renewal = sent;
    watch_expiry();
    again(options.retry);
    if (leading) {
      held_until = now();  // also for one that we had to create again
      if (start == nullptr) ++counters.renewed;
      return;
    }
    if (start == nullptr || keep_for_now(before)) return;
    if (now() >= sent.at + options.renew_deadline) return;  // the reply came too late
    leading = true;
    ++counters.acquired;
    if (!start->clean) ++counters.unclean;
    deps.on_leading(*start);
  }

  // Whether the lease was created, not taken over from another replica.
  [[nodiscard]] bool made() const { return attempt.created || seen.transitions == 0; }
  [[nodiscard]] bool waited() const { return !made() || (held_until && now() >= *held_until); }

  // Returns true if the lease is ours, and a leader that it does not record may still be working.
  // `before`: the duration of the previous lease, if there was one.
  bool keep_for_now(net::Duration before) {
    if (waited()) return false;
    if (!held_until) {
      const net::Duration wait = std::max<net::Duration>(options.duration, before) + options.margin;
      held_until = now() + wait;
      note(
          fmt::format("lease {}/{} did not exist and was created; this replica leads in {:.1f} s, "
                      "when any earlier leader has stopped",
                      options.ns, options.name, std::chrono::duration<double>(wait).count()));
    }
    timer.start(std::min<net::Duration>(options.retry, *held_until - now()), [this] { renew(); });
    return true;
  }

  void note(const std::string& text) const {
    if (deps.on_note) deps.on_note(text);
  }

  // ---- losing it

  void watch_expiry() {
    expiry.start(renewal.at + options.renew_deadline - now(), [this] {
      if (!leading) return;
      lose(trouble.empty() ? "the lease could not be renewed in time"
                           : fmt::format("the lease could not be renewed in time: {}", trouble));
    });
  }

  void lose(const std::string& why) {
    leading = false;
    expiry.cancel();
    // If it becomes ours again, requests that we sent before may still be under way.
    attempt = {.clean = false, .before = options.identity};
    ++counters.lost;
    again(options.look);
    deps.on_lost(why);
  }

  [[nodiscard]] bool clocks_disagree() const {
    const net::Duration own = now() - renewal.at;
    const net::Duration wall = client.wall_clock()() - renewal.wall;
    return std::chrono::abs(wall - own) > options.clock_jump;
  }

  net::Moment fence() {
    if (!leading) return {};
    if (!clocks_disagree()) return valid_until() - options.margin;
    if (!calling) {
      ++counters.clock_jumps;
      note("the clocks disagree: the lease is renewed before anything else is sent");
      timer.cancel();  // not twice
      renew();
    }
    return {};
  }

  void failed(const char* what, const Reply& reply) {
    const std::string words = fmt::format("{} lease {}/{}", what, options.ns, options.name);
    failed(
        reply ? explain(words, *reply) : fmt::format("cannot {}: {}", words, reply.error().message),
        reply ? reply->status : 0);
  }

  void failed(std::string why, int code = 200) {
    ++counters.failed;
    trouble = std::move(why);
    fails = true;
    if (deps.on_trouble) deps.on_trouble(trouble, code);
    again(std::min(options.retry, options.look));
  }

  // Adds up to a fifth, so that candidates do not all call at once.
  void again(net::Duration pause) {
    const auto spread =
        static_cast<net::Duration::rep>(rng.unit() * static_cast<double>(pause.count()) / 5);
    timer.start(pause + net::Duration{spread}, [this] {
      if (ours() && (leading || held_until)) return renew();
      look();
    });
  }

  void release(std::function<void()> done) {
    timer.cancel();
    expiry.cancel();
    leading = false;
    stopped = true;
    released = std::move(done);
    if (!writes) give_back();  // otherwise when the result of the write is known
  }

  // The reply to a write that was under way when we stopped.
  void give_back_after(const Reply& reply) {
    if (succeeded(reply)) {
      if (auto lease = codec::read_lease(reply->body)) {
        seen = std::move(*lease);
        known = true;
        return give_back();
      }
    }
    read_again();  // the result is unknown
  }

  void give_back() {
    if (!ours() || !waited() || ++release_tries > kReleaseTries) {
      return client.loop().post([then = std::exchange(released, nullptr)] {
        if (then) then();
      });
    }
    codec::LeaseRequest empty = ask();
    empty.holder.clear();
    empty.seconds = kReleasedSeconds;
    ApiCall what;
    what.method = "PATCH";
    what.target = path;
    what.content_type = "application/merge-patch+json";
    what.body = codec::lease_patch(empty);
    last_call(std::move(what), [](Impl& self, const Reply& reply) {
      if (reply && reply->status == kConflict) return self.read_again();
      self.known = false;
      self.give_back();
    });
  }

  void read_again() {
    ApiCall what;
    what.target = path;
    last_call(std::move(what), [](Impl& self, const Reply& reply) {
      self.known = false;
      if (succeeded(reply)) {
        if (auto lease = codec::read_lease(reply->body)) {
          self.seen = std::move(*lease);
          self.known = true;
        }
      }
      self.give_back();
    });
  }

  void follow() {
    ApiCall what;
    what.target = path;
    last_call(std::move(what), [](Impl& self, const Reply& reply) {
      if (succeeded(reply)) {
        if (auto lease = codec::read_lease(reply->body)) self.see(std::move(*lease));
      }
      self.timer.start(kFollowEvery, [&self] { self.follow(); });
    });
  }

  template <typename Take>
  void last_call(ApiCall what, Take take) {
    what.lane = Lane::lease;
    client.call(std::move(what), options.call_deadline,
                [weak = weak_from_this(), take](const Reply& reply) {
                  if (const auto self = weak.lock()) take(*self, reply);
                });
  }

  ApiClient& client;
  ElectorOptions options;
  Deps deps;
  base::Rng rng;
  net::Timer timer;   // the next call
  net::Timer expiry;  // end of our right to lead
  std::string folder;
  std::string path;
  bool known = false;
  codec::Lease seen;
  net::Moment seen_at{};
  net::Moment unchanged_since{};
  std::optional<net::Moment> missing_since;  // since a lease that we knew is missing
  std::optional<net::Moment> held_until;     // for a lease that we created: we may lead from then
                                             // on
  Sent renewal;                              // the last one that succeeded
  bool leading = false;
  bool stopped = false;
  bool calling = false;
  bool fails = false;   // the last call failed, and that was reported
  bool writes = false;  // a call is under way that may acquire or renew the lease
  std::function<void()> released;
  int release_tries = 0;
  Start attempt;  // how the term starts if this attempt succeeds
  std::string trouble;
  ElectorCounters counters;
};

Elector::Elector(ApiClient& client, ElectorOptions options, Deps deps)
    : impl_(std::make_shared<Impl>(client, std::move(options), std::move(deps))) {}
Elector::~Elector() { impl_->stopped = true; }

void Elector::start() { impl_->look(); }
void Elector::release(std::function<void()> done) { impl_->release(std::move(done)); }
void Elector::follow() { impl_->follow(); }
bool Elector::leading() const { return impl_->leading; }

net::Moment Elector::fence() const { return impl_->fence(); }

const codec::Lease& Elector::seen() const { return impl_->seen; }
net::Moment Elector::seen_at() const { return impl_->seen_at; }
const std::string& Elector::trouble() const { return impl_->trouble; }
void Elector::set_annotations(dialect::Annotations annotations) {
  impl_->options.annotations = std::move(annotations);
}

const ElectorOptions& Elector::options() const { return impl_->options; }
const ElectorCounters& Elector::counters() const { return impl_->counters; }

}  // namespace stowage::kube
