#include "net/event_loop.h"

#include <algorithm>
#include <ctime>
#include <optional>
#include <utility>

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/check.h"
#include "net/io.h"
#include "net/loop_health.h"

namespace stowage::net {
namespace {

// Waits for signals of the set, repeatedly.
void await_signal(boost::asio::signal_set& set,
                  const std::shared_ptr<std::function<void(int)>>& handler) {
  set.async_wait([&set, handler](const boost::system::error_code& error, int signal) {
    if (error) return;
    await_signal(set, handler);
    (*handler)(signal);
  });
}

}  // namespace

EventLoop::EventLoop() : io_(std::make_unique<Io>()) {}
EventLoop::EventLoop(Schedule& schedule) : schedule_(&schedule) {}
EventLoop::~EventLoop() = default;

Moment clock_now() {
  timespec time{};
  clock_gettime(CLOCK_BOOTTIME, &time);
  return Moment{std::chrono::seconds{time.tv_sec} + std::chrono::nanoseconds{time.tv_nsec}};
}

Moment after(const EventLoop& loop, Duration delay) {
  const Moment now = loop.now();
  const Duration longest = Moment::max() - now;
  return now + std::clamp(delay, Duration::zero(), longest);
}

Duration thread_time() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds{time.tv_sec} + std::chrono::nanoseconds{time.tv_nsec};
}

Duration longest_turn(EventLoop& loop) {
  return loop.schedule() != nullptr ? Duration{} : loop.io().turns.get(loop.now());
}

void EventLoop::run() {
  Duration before = thread_time();
  while (io_->context.run_one() > 0) {
    const Duration after = thread_time();
    io_->turns.add(after - before, now());
    before = after;
  }
  // Here and not before run(), so that a stop() from another thread is not lost.
  io_->context.restart();
}

void EventLoop::stop() { io_->context.stop(); }

void EventLoop::post(std::function<void()> work) {
  if (schedule_ != nullptr) return schedule_->at(schedule_->now(), std::move(work));
  boost::asio::post(io_->context, std::move(work));
}

void EventLoop::on_signals(const std::vector<int>& signals, std::function<void(int)> handler) {
  auto set = std::make_unique<boost::asio::signal_set>(io_->context);
  for (const int signal : signals) {
    boost::system::error_code error;
    set->add(signal, error);
    STOWAGE_CHECK(!error);
  }
  await_signal(*set, std::make_shared<std::function<void(int)>>(std::move(handler)));
  io_->signals.push_back(std::move(set));
}

// Starting and cancelling are cheap, because most network timers are restarted often and never
// fire: a running wait is left alone if it ends early enough, and decides at its end what is due.
struct Timer::Impl {
  explicit Impl(EventLoop& owner) : loop(owner) {
    if (loop.schedule() == nullptr) timer.emplace(loop.io().context);
  }

  static void wait(const std::shared_ptr<Impl>& body) {
    body->waiting = true;
    body->wakes = body->due;
    const auto wake = [weak = std::weak_ptr<Impl>(body), generation = ++body->generation] {
      const std::shared_ptr<Impl> self = weak.lock();
      if (self && self->generation == generation) woken(self);
    };
    if (!body->timer) return body->loop.schedule()->at(body->due, wake);
    // The library's clock stops while the machine sleeps, so it gets a duration, not a time: a
    // timer may fire late after a sleep, but never early.
    body->timer->expires_after(body->due - body->loop.now());
    body->timer->async_wait([wake](const boost::system::error_code&) { wake(); });
  }

  static void woken(const std::shared_ptr<Impl>& body) {
    body->waiting = false;
    if (!body->fire) return;
    if (body->loop.now() < body->due) return wait(body);
    const std::function<void()> fire = std::exchange(body->fire, nullptr);
    fire();
  }

  EventLoop& loop;
  std::optional<boost::asio::steady_timer> timer;  // unset if the loop uses a schedule
  Moment due;
  Moment wakes;
  std::uint64_t generation = 0;  // of the current wait; earlier ones are ignored
  bool waiting = false;
  std::function<void()> fire;
};

Timer::Timer(EventLoop& loop) : impl_(std::make_shared<Impl>(loop)) {}
Timer::~Timer() = default;
Timer::Timer(Timer&&) noexcept = default;
Timer& Timer::operator=(Timer&&) noexcept = default;

// A replaced callback is destroyed last: it may own what owns the timer.
void Timer::start(Duration delay, std::function<void()> fire) {
  impl_->due = after(impl_->loop, delay);
  const std::function<void()> replaced = std::exchange(impl_->fire, std::move(fire));
  if (!impl_->waiting || impl_->due < impl_->wakes) Impl::wait(impl_);
}

void Timer::cancel() { const std::function<void()> replaced = std::exchange(impl_->fire, nullptr); }

}  // namespace stowage::net
