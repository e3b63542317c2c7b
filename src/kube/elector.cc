#include "kube/elector.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/rng.h"

namespace stowage::kube {
namespace {

using Reply = tl::expected<ApiReply, CallError>;

constexpr int kNotFound = 404;
constexpr int kConflict = 409;
constexpr std::int32_t kReleasedSeconds = 1;  // of a lease that was given back
constexpr std::chrono::milliseconds kFollowEvery{50};
constexpr int kReleaseTries = 3;  // somebody may have written an annotation in between

// A candidate that knew a lease which is gone leaves so many renewals' time to its leader.
constexpr int kRenewalsLeft = 2;

// A call, by both clocks.
struct Sent {
  net::Moment at;
  WallTime wall;
};

bool good(const Reply& reply) { return reply && reply->status >= 200 && reply->status < 300; }

}  // namespace

struct Elector::Body : std::enable_shared_from_this<Elector::Body> {
  Body(ApiClient& api, ElectorOptions given, Ends given_ends)
      : client(api),
        options(std::move(given)),
        ends(std::move(given_ends)),
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
         [](Body& self, const Sent& /*sent*/, const Reply& reply) { self.looked(reply); });
  }

  void looked(const Reply& reply) {
    if (reply && reply->status == kNotFound) return missing();
    if (!good(reply)) return failed("read", reply);
    auto lease = codec::read_lease(reply->body);
    if (!lease) return failed(fmt::format("cannot read the lease: {}", lease.error().message));
    see(std::move(*lease));
    decide();
  }

  // Nobody has the lease. While we lead, nobody else can have had it either: who makes one waits
  // for longer than we lead without it.
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
    if (std::exchange(fails, false) && ends.on_trouble) ends.on_trouble({}, 0);
    missing_since.reset();
    // Of another lease that bears our name: our call of long ago made it, and others may have led.
    if (lease.holder != options.identity || lease.uid != seen.uid) held_until.reset();
    const bool same = known && lease.resource_version == seen.resource_version;
    const bool news =
        !known || lease.holder != seen.holder || lease.annotations != seen.annotations;
    known = true;
    if (!same) unchanged_since = now();
    seen_at = now();
    seen = std::move(lease);
    if (news && ends.on_leader) ends.on_leader(seen);
  }

  void decide() {
    if (leading) {
      if (ours()) return renew();  // with the version that is the newest now
      return lose(fmt::format("{} holds the lease", seen.holder.empty() ? "nobody" : seen.holder));
    }
    // A lease of our own that we do not lead by: our last call took effect after we gave up, or its
    // reply was lost. Nobody else has it.
    const bool free = seen.holder.empty() || ours();
    if (!free && now() < unchanged_since + seen_duration()) {
      trouble.clear();  // that it can be read says nothing about taking it
      return again(options.look);
    }
    acquire();
  }

  // ---- taking and keeping it

  [[nodiscard]] codec::LeaseAsk ask() const {
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
    codec::LeaseAsk fresh = ask();
    fresh.acquired_micros = fresh.renewed_micros;
    fresh.transitions = 0;
    ApiCall what;
    what.method = "POST";
    what.target = folder;
    what.body = codec::lease(fresh);
    if (!leading) {
      attempt = {.clean = false, .before = known ? seen.holder : std::string(), .created = true};
    }
    call(std::move(what), [](Body& self, const Sent& sent, const Reply& reply) {
      // There is no namespace for it, or nothing but a proxy.
      if (reply && reply->status == kNotFound) return self.failed("create", reply);
      self.written(sent, reply, &self.attempt);
    });
  }

  void acquire() {
    codec::LeaseAsk mine = ask();
    mine.acquired_micros = mine.renewed_micros;
    if (!ours()) {
      ++mine.transitions;
      // Who gives a lease back leaves the time of its last renewal in it.
      const bool made = seen.holder.empty() && seen.renewed.empty();
      attempt = {.clean = seen.holder.empty() && !made, .before = seen.holder, .created = made};
    }
    patch(mine, [](Body& self, const Sent& sent, const Reply& reply) {
      self.written(sent, reply, &self.attempt);
    });
  }

  void renew() {
    patch(ask(), [](Body& self, const Sent& sent, const Reply& reply) {
      self.written(sent, reply, self.leading ? nullptr : &self.attempt);
    });
  }

  template <typename Take>
  void patch(const codec::LeaseAsk& wanted, Take take) {
    ApiCall what;
    what.method = "PATCH";
    what.target = path;
    what.content_type = "application/merge-patch+json";
    what.body = codec::lease_patch(wanted);
    call(std::move(what), take);
  }

  // `start`: we were no leader when it was sent.
  void written(const Sent& sent, const Reply& reply, const Start* start) {
    if (reply && (reply->status == kConflict || reply->status == kNotFound)) {
      return look();  // somebody else was first, or our own call of which the reply was lost
    }
    if (!good(reply)) return failed(start != nullptr ? "take" : "renew", reply);
    auto lease = codec::read_lease(reply->body);
    if (!lease) return failed(fmt::format("cannot read the lease: {}", lease.error().message));
    trouble.clear();
    const net::Duration before = seen_duration();
    see(std::move(*lease));
    renewal = sent;
    watch_expiry();
    again(options.retry);
    if (leading) {
      held_until = now();  // also of one that we had to make anew
      if (start == nullptr) ++counters.renewed;
      return;
    }
    if (start == nullptr || keep_for_now(before)) return;
    if (now() >= sent.at + options.renew_deadline) return;  // the reply came too late to be of use
    leading = true;
    ++counters.acquired;
    if (!start->clean) ++counters.unclean;
    ends.on_leading(*start);
  }

  // Of a lease that was made, and not taken over from somebody.
  [[nodiscard]] bool made() const { return attempt.created || seen.transitions == 0; }
  [[nodiscard]] bool waited() const { return !made() || (held_until && now() >= *held_until); }

  // True: it is ours, and a leader of whom it says nothing may still be at work. `before`: the
  // duration of the lease before it, if there was one.
  bool keep_for_now(net::Duration before) {
    if (waited()) return false;
    if (!held_until) {
      const net::Duration wait = std::max<net::Duration>(options.duration, before) + options.margin;
      held_until = now() + wait;
      note(
          fmt::format("there was no lease {}/{}: it was created, and this replica leads in {:.1f} "
                      "s, when a leader that had one before has ended",
                      options.ns, options.name, std::chrono::duration<double>(wait).count()));
    }
    timer.start(std::min<net::Duration>(options.retry, *held_until - now()), [this] { renew(); });
    return true;
  }

  void note(const std::string& text) const {
    if (ends.on_note) ends.on_note(text);
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
    // If it becomes ours again, what we sent before may still be under way.
    attempt = {.clean = false, .before = options.identity};
    ++counters.lost;
    again(options.look);
    ends.on_lost(why);
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
    if (ends.on_trouble) ends.on_trouble(trouble, code);
    again(std::min(options.retry, options.look));
  }

  // Up to a fifth later, so that candidates do not come all at once.
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
    if (!writes) give_back();  // else when its end is known
  }

  // The reply to a write that was under way when we stopped.
  void give_back_after(const Reply& reply) {
    if (good(reply)) {
      if (auto lease = codec::read_lease(reply->body)) {
        seen = std::move(*lease);
        known = true;
        return give_back();
      }
    }
    read_again();  // nobody knows what became of it
  }

  void give_back() {
    if (!ours() || !waited() || ++release_tries > kReleaseTries) {
      return client.loop().post([then = std::exchange(released, nullptr)] {
        if (then) then();
      });
    }
    codec::LeaseAsk empty = ask();
    empty.holder.clear();
    empty.seconds = kReleasedSeconds;
    ApiCall what;
    what.method = "PATCH";
    what.target = path;
    what.content_type = "application/merge-patch+json";
    what.body = codec::lease_patch(empty);
    last_call(std::move(what), [](Body& self, const Reply& reply) {
      if (reply && reply->status == kConflict) return self.read_again();
      self.known = false;
      self.give_back();
    });
  }

  void read_again() {
    ApiCall what;
    what.target = path;
    last_call(std::move(what), [](Body& self, const Reply& reply) {
      self.known = false;
      if (good(reply)) {
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
    last_call(std::move(what), [](Body& self, const Reply& reply) {
      if (good(reply)) {
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
  Ends ends;
  base::Rng rng;
  net::Timer timer;   // the next call
  net::Timer expiry;  // of our right to lead
  std::string folder;
  std::string path;
  bool known = false;
  codec::Lease seen;
  net::Moment seen_at{};
  net::Moment unchanged_since{};
  std::optional<net::Moment> missing_since;  // a lease that we knew
  std::optional<net::Moment> held_until;     // of a lease that we made: then we may lead
  Sent renewal;                              // the last one that succeeded
  bool leading = false;
  bool stopped = false;
  bool calling = false;
  bool fails = false;   // the last call did, and that was told
  bool writes = false;  // a call is under way that may make the lease ours, or keep it so
  std::function<void()> released;
  int release_tries = 0;
  Start attempt;  // what it will be if the lease that we ask for becomes ours
  std::string trouble;
  ElectorCounters counters;
};

Elector::Elector(ApiClient& client, ElectorOptions options, Ends ends)
    : body_(std::make_shared<Body>(client, std::move(options), std::move(ends))) {}
Elector::~Elector() { body_->stopped = true; }

void Elector::start() { body_->look(); }
void Elector::release(std::function<void()> done) { body_->release(std::move(done)); }
void Elector::follow() { body_->follow(); }
bool Elector::leading() const { return body_->leading; }

net::Moment Elector::fence() const { return body_->fence(); }

const codec::Lease& Elector::seen() const { return body_->seen; }
net::Moment Elector::seen_at() const { return body_->seen_at; }
const std::string& Elector::trouble() const { return body_->trouble; }
void Elector::set_annotations(dialect::Annotations annotations) {
  body_->options.annotations = std::move(annotations);
}

const ElectorOptions& Elector::options() const { return body_->options; }
const ElectorCounters& Elector::counters() const { return body_->counters; }

}  // namespace stowage::kube
