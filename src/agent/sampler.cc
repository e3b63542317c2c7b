#include "agent/sampler.h"

#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include <fmt/format.h>

namespace stowage::agent {
namespace {

constexpr std::chrono::seconds kEndPatience{2};

base::Instant instant_of(net::Moment moment) {
  return {std::chrono::duration_cast<std::chrono::nanoseconds>(moment.time_since_epoch()).count()};
}

std::string words(const gpu::HealthTracker::Change& change) {
  if (change.health.healthy) return fmt::format("card {} is healthy again", change.card);
  return fmt::format("card {} is unhealthy: {}{}", change.card, change.health.reason,
                     change.health.needs_reset ? "; it needs a reset" : "");
}

}  // namespace

struct Sampler::Impl : std::enable_shared_from_this<Sampler::Impl> {
  Impl(net::EventLoop& to, std::unique_ptr<gpu::Source> from, SamplerOptions given,
       OnSnapshot called)
      : loop(&to),
        source(std::move(from)),
        options(std::move(given)),
        on_snapshot(std::move(called)),
        tracker(options.health) {}

  // ---- the sampler's thread

  void run() {
    for (;;) {
      auto snapshot = look();
      std::unique_lock lock(mutex);
      if (ending) break;
      loop->post([weak = weak_from_this(), snapshot = std::move(snapshot)] {
        if (const auto self = weak.lock()) self->take(snapshot);
      });
      if (wake.wait_for(lock, options.every, [&] { return ending; })) break;
    }
    const std::scoped_lock lock(mutex);
    ended = true;
    wake.notify_all();
  }

  std::shared_ptr<const CardsSnapshot> look() {
    const net::Moment began = net::clock_now();
    const base::Instant now = instant_of(began);
    if (!current.known || source->stale() || began >= inventory_due) read_inventory(began);
    for (const gpu::Fault& fault : source->faults()) tracker.observe(fault, now);
    auto samples = source->sample();
    if (samples) {
      tracker.observe(*samples, now);
      current.samples = std::move(*samples);
    } else {
      current.samples.clear();
      current.trouble = samples.error().message;
    }
    current.news.clear();
    for (const auto& change : tracker.pass(now)) current.news.push_back(words(change));
    current.list = gpu::cards_of(current.inventory, tracker);
    current.health.clear();
    for (const gpu::CardInfo& card : current.inventory.cards) {
      current.health.emplace(card.id, tracker.of(card.id));
    }
    return std::make_shared<const CardsSnapshot>(current);
  }

  void read_inventory(net::Moment now) {
    inventory_due = now + options.inventory_every;
    auto read = source->inventory();
    current.trouble = read ? source->trouble() : read.error().message;
    if (!read) return;
    tracker.observe(*read, instant_of(now));
    current.inventory = std::move(*read);
    current.known = true;
  }

  // ---- the loop's thread

  void take(const std::shared_ptr<const CardsSnapshot>& snapshot) {
    if (gone) return;
    last = loop->now();
    on_snapshot(snapshot);
  }

  std::mutex mutex;
  std::condition_variable wake;
  bool ending = false;
  bool ended = false;
  bool started = false;
  net::EventLoop* loop;  // not used after `ending`

  const std::unique_ptr<gpu::Source> source;  // used by the sampler's thread only, as are the
                                              // members below
  const SamplerOptions options;
  const OnSnapshot on_snapshot;  // used by the loop's thread only, as are `gone` and `last`
  bool gone = false;
  net::Moment last{};
  gpu::HealthTracker tracker;
  CardsSnapshot current;
  net::Moment inventory_due{};
};

Sampler::Sampler(net::EventLoop& loop, std::unique_ptr<gpu::Source> source, SamplerOptions options,
                 OnSnapshot on_snapshot)
    : impl_(std::make_shared<Impl>(loop, std::move(source), std::move(options),
                                   std::move(on_snapshot))) {}

Sampler::~Sampler() {
  impl_->gone = true;
  std::unique_lock lock(impl_->mutex);
  impl_->ending = true;
  impl_->wake.notify_all();
  if (!impl_->started) return;
  impl_->wake.wait_for(lock, kEndPatience, [this] { return impl_->ended; });
}

void Sampler::start() {
  impl_->started = true;
  std::thread([body = impl_] { body->run(); }).detach();
}

net::Moment Sampler::last() const { return impl_->last; }

}  // namespace stowage::agent
