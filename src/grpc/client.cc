#include "grpc/client.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/backoff.h"
#include "grpc/client_link.h"

namespace stowage::grpc {
namespace {

using CallNumber = ClientLink::CallNumber;

// The callbacks of a call. Kept alive while one of them runs, because it may cancel the call.
struct Deps {
  Caller::Reply reply;            // for a call with one answer
  Caller::StreamHandler handler;  // for a call with many answers

  void message(std::string message) const {
    if (handler.message) handler.message(std::move(message));
  }
  void end(CallStatus status, std::string message) const {
    if (reply) {
      if (status.ok()) {
        reply(std::move(message));
      } else {
        reply(tl::unexpected(std::move(status)));
      }
    } else if (handler.end) {
      handler.end(std::move(status));
    }
  }
};

std::string seconds_text(net::Duration duration) {
  return fmt::format("{:g} s", std::chrono::duration<double>(duration).count());
}

}  // namespace

struct Client::Impl final : ClientLink::Host, std::enable_shared_from_this<Client::Impl> {
  struct Pending {
    Pending(net::EventLoop& loop, CallRequest asked, Deps given)
        : ask(std::move(asked)),
          deps(std::make_shared<const Deps>(std::move(given))),
          timer(loop) {}

    CallRequest ask;
    std::shared_ptr<const Deps> deps;
    net::Timer timer;  // for the deadline
    net::Moment due{};
    ClientLink* link = nullptr;  // null: waits for a connection
    bool again = false;          // this is the second attempt
  };

  Impl(net::EventLoop& on, ClientOptions given)
      : loop(on),
        options(std::move(given)),
        pause(on),
        rest(options.backoff_min, options.backoff_max) {}

  CallNumber begin(CallRequest ask, net::Duration deadline, Deps deps) {
    const bool full = pending.size() >= options.calls_max;
    const CallNumber number = ++last;
    Pending& call =
        pending.emplace(number, Pending(loop, std::move(ask), std::move(deps))).first->second;
    if (full) {
      refuse_soon(number);
      return number;
    }
    if (deadline != net::Duration{}) {
      call.due = after(loop, deadline);
      call.timer.start(deadline, [this, number, deadline] { expire(number, deadline); });
    }
    place(number, call);
    return number;
  }

  void refuse_soon(CallNumber number) {
    loop.post([weak = weak_from_this(), number] {
      const auto self = weak.lock();
      if (!self) return;
      const auto found = self->pending.find(number);
      if (found == self->pending.end()) return;
      self->withdraw(found->second, number);
      self->finish(number,
                   {Code::resource_exhausted,
                    fmt::format("{} calls are in progress already", self->options.calls_max)});
    });
  }

  // Starts the call on the connection, on a new one, or later.
  void place(CallNumber number, Pending& call) {
    if (resting) return;
    if (link && !link->takes_calls()) retire();
    if (!link) {
      link = std::make_shared<ClientLink>(loop, options, *this);
      link->start();
    }
    CallRequest ask = call.ask;
    if (call.due != net::Moment{}) {
      ask.timeout = std::max<net::Duration>(call.due - loop.now(), net::Duration{1});
    }
    call.link = link.get();
    link->begin(number, std::move(ask));
  }

  // Its calls continue; it gets no new ones.
  void retire() {
    if (link->calls() != 0) {
      retired.push_back(std::move(link));
    } else {
      link->close();
    }
    link.reset();
  }

  void expire(CallNumber number, net::Duration deadline) {
    const std::string peer = "unix:" + options.socket;
    const Pending& call = pending.at(number);
    std::string why = call.link != nullptr ? fmt::format("{} did not answer {} within {}", peer,
                                                         call.ask.method, seconds_text(deadline))
                                           : trouble;
    withdraw(call, number);
    finish(number, {Code::deadline_exceeded, std::move(why)});
  }

  void cancel(CallNumber number) {
    const auto found = pending.find(number);
    if (found == pending.end()) return;
    withdraw(found->second, number);
    // Last: what it owns may own us.
    const auto ended = pending.extract(found);
  }

  void withdraw(const Pending& call, CallNumber number) {
    if (call.link == nullptr) return;
    ClientLink& used = *call.link;
    used.cancel(number);
    close_if_done(used);
  }

  void close_if_done(ClientLink& used) {
    if (used.calls() != 0) return;
    const auto found = std::find_if(retired.begin(), retired.end(),
                                    [&](const auto& each) { return each.get() == &used; });
    if (found == retired.end()) return;
    used.close();
    retired.erase(found);
  }

  void finish(CallNumber number, CallStatus status, std::string message = {}) {
    const auto found = pending.find(number);
    if (found == pending.end()) return;
    const auto ended = pending.extract(found);
    ended.mapped().deps->end(std::move(status), std::move(message));
  }

  // ---- callbacks of links

  void on_alive() override { ++alive; }

  void on_call_event(ClientLink& from, CallNumber number, CallEvent event) override {
    const auto self = shared_from_this();
    const auto found = pending.find(number);
    if (found == pending.end()) return;
    if (!event.end) {
      const auto deps = found->second.deps;
      return deps->message(std::move(event.message).value_or(std::string{}));
    }
    close_if_done(from);
    if (event.untouched && !std::exchange(found->second.again, true)) {
      found->second.link = nullptr;
      return place(number, found->second);
    }
    finish(number, std::move(*event.end), std::move(event.message).value_or(std::string{}));
  }

  void on_link_end(ClientLink& from, const std::string& why) override {
    const auto self = shared_from_this();
    std::shared_ptr<ClientLink> held;  // kept until all calls have ended
    if (link.get() == &from) {
      held = std::exchange(link, nullptr);
      trouble = why;
      take_rest(from.useful());
    } else {
      const auto found = std::find_if(retired.begin(), retired.end(),
                                      [&](const auto& each) { return each.get() == &from; });
      if (found != retired.end()) {
        held = *found;
        retired.erase(found);
      }
    }
    std::vector<CallNumber> lost;
    for (const auto& [number, call] : pending) {
      if (call.link == &from) lost.push_back(number);
    }
    for (const CallNumber number : lost) finish(number, {Code::unavailable, why});
  }

  // A connection that was useful may be replaced at once; otherwise after a pause.
  void take_rest(bool useful) {
    if (useful) {
      rest.reset();
      return;
    }
    resting = true;
    pause.start(rest.next(), [this] {
      resting = false;
      for (auto& [number, call] : pending) {
        if (call.link == nullptr) place(number, call);
      }
    });
  }

  void close() {
    if (link) link->close();
    for (const auto& each : retired) each->close();
    pause.cancel();
    // Last: what the calls own may own us.
    const auto ended = std::exchange(pending, {});
  }

  net::EventLoop& loop;
  ClientOptions options;
  std::shared_ptr<ClientLink> link;                  // takes new calls
  std::vector<std::shared_ptr<ClientLink>> retired;  // each with at least one call
  std::map<CallNumber, Pending> pending;
  CallNumber last = 0;
  net::Timer pause;
  bool resting = false;
  base::Backoff rest;   // the next pause
  std::string trouble;  // why there is no connection
  std::uint64_t alive = 0;
};

namespace {

template <typename Impl>
class Handle final : public Caller::Call {
 public:
  Handle(const std::shared_ptr<Impl>& body, CallNumber number) : impl_(body), number_(number) {}
  ~Handle() override {
    if (const auto body = impl_.lock()) body->cancel(number_);
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

 private:
  std::weak_ptr<Impl> impl_;
  CallNumber number_;
};

}  // namespace

Client::Client(net::EventLoop& loop, ClientOptions options)
    : impl_(std::make_shared<Impl>(loop, std::move(options))) {}
Client::~Client() { impl_->close(); }

std::unique_ptr<Caller::Call> Client::call(std::string method, std::string request,
                                           const CallOptions& options, Reply reply) {
  const CallNumber number = impl_->begin({.method = std::move(method),
                                          .request = std::move(request),
                                          .answer = CallRequest::Answer::one,
                                          .response_bytes_max = options.response_bytes_max},
                                         options.deadline, {.reply = std::move(reply)});
  return std::make_unique<Handle<Impl>>(impl_, number);
}

std::unique_ptr<Caller::Call> Client::open(std::string method, std::string request,
                                           const CallOptions& options, StreamHandler handler) {
  const CallNumber number = impl_->begin({.method = std::move(method),
                                          .request = std::move(request),
                                          .answer = CallRequest::Answer::many,
                                          .response_bytes_max = options.response_bytes_max},
                                         options.deadline, {.handler = std::move(handler)});
  return std::make_unique<Handle<Impl>>(impl_, number);
}

std::uint64_t Client::connections() const { return impl_->alive; }
std::size_t Client::calls() const { return impl_->pending.size(); }

}  // namespace stowage::grpc
