#include "net/event_loop.h"

#include <utility>

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/check.h"
#include "net/deadline.h"
#include "net/io.h"

namespace stowage::net {
namespace {

using Clock = std::chrono::steady_clock;

// Waits for the next signal of the set, again and again.
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
EventLoop::~EventLoop() = default;

void EventLoop::run() {
  io_->context.run();
  // Here and not before run(), so that a stop() from another thread is not lost.
  io_->context.restart();
}

void EventLoop::stop() { io_->context.stop(); }

void EventLoop::post(std::function<void()> work) {
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

// Starting and cancelling are cheap, because most timers of a network are started anew again and
// again and never fire: a wait that runs already is left alone if it ends early enough, and decides
// at its end what is due.
struct Timer::Body {
  explicit Body(EventLoop& loop) : timer(loop.io().context) {}

  static void wait(const std::shared_ptr<Body>& body) {
    body->waiting = true;
    body->wakes = body->due;
    body->timer.expires_at(body->due);
    body->timer.async_wait([weak = std::weak_ptr<Body>(body),
                            generation = ++body->generation](const boost::system::error_code&) {
      const std::shared_ptr<Body> self = weak.lock();
      if (self && self->generation == generation) woken(self);
    });
  }

  static void woken(const std::shared_ptr<Body>& body) {
    body->waiting = false;
    if (!body->fire) return;
    if (Clock::now() < body->due) {
      wait(body);
      return;
    }
    const std::function<void()> fire = std::exchange(body->fire, nullptr);
    fire();
  }

  boost::asio::steady_timer timer;
  Clock::time_point due;
  Clock::time_point wakes;
  std::uint64_t generation = 0;  // of the wait that counts; those before it are ignored
  bool waiting = false;
  std::function<void()> fire;
};

Timer::Timer(EventLoop& loop) : body_(std::make_shared<Body>(loop)) {}
Timer::~Timer() = default;
Timer::Timer(Timer&&) noexcept = default;
Timer& Timer::operator=(Timer&&) noexcept = default;

// A callback that is replaced goes last: it may hold what holds the timer.
void Timer::start(Duration delay, std::function<void()> fire) {
  body_->due = after(delay);
  const std::function<void()> replaced = std::exchange(body_->fire, std::move(fire));
  if (!body_->waiting || body_->due < body_->wakes) Body::wait(body_);
}

void Timer::cancel() { const std::function<void()> replaced = std::exchange(body_->fire, nullptr); }

}  // namespace stowage::net
