#include "scheduler/engine_thread.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "net/loop_health.h"

namespace stowage::scheduler {
namespace {

constexpr std::size_t kPendingPerBatch = 64;  // so that the first bind goes out soon

}  // namespace

base::Instant engine_time(const net::EventLoop& loop) {
  const auto now = loop.now().time_since_epoch();
  return {std::chrono::duration_cast<std::chrono::nanoseconds>(now).count()};
}

EngineThread::EngineThread(Options options, EventQueue& event_queue, net::EventLoop& loop,
                           Output output)
    : engine_(std::move(options.profiles), options.engine),
      binds_max_(options.binds_max),
      event_queue_(event_queue),
      loop_(loop),
      output_(std::move(output)) {}

EngineThread::~EngineThread() {
  event_queue_.close();
  event_queue_.on_arrival({});
  if (thread_.joinable()) thread_.join();
}

void EngineThread::start() {
  if (loop_.schedule() == nullptr) {
    thread_ = std::thread([this] { run(); });
    return;
  }
  turn_waits_ = std::make_shared<bool>(false);
  event_queue_.on_arrival([this] {
    if (std::exchange(*turn_waits_, true)) return;
    loop_.post([this, weak = std::weak_ptr<bool>(turn_waits_)] {
      if (!weak.expired()) turn();
    });
  });
  event_queue_.ask([](const EventQueue::EngineAccess& /*unused*/) {});  // earlier messages
}

void EngineThread::set_slow_binds(std::size_t count) {
  const std::size_t before = slow_binds_.exchange(count);
  // The engine's thread may be waiting for the capacity that is free now.
  if (count > before) event_queue_.ask([](const EventQueue::EngineAccess& /*unused*/) {});
}

std::size_t EngineThread::room() const {
  if (engine_.unfinished()) return 0;  // waiting pods come first
  const std::size_t under_way = engine_.counters().binding;
  const std::size_t binding = under_way - std::min(under_way, slow_binds_.load());
  return std::min(binds_max_ > binding ? binds_max_ - binding : 0, kPendingPerBatch);
}

void EngineThread::run() {
  while (auto batch = event_queue_.take(room())) work(*batch);
}

void EngineThread::turn() {
  *turn_waits_ = false;
  const std::size_t before = room();
  auto batch = event_queue_.take_now(before);
  if (!batch || batch->empty()) return;
  const bool placing = std::any_of(batch->begin(), batch->end(), [](const auto& message) {
    const auto* event = std::get_if<core::Event>(&message);
    return event != nullptr && std::holds_alternative<core::PodPending>(*event);
  });
  work(*batch);
  // There are more pods than one batch takes, or there is capacity only now. Pods that are held
  // back stay.
  if ((placing || before == 0) && event_queue_.sizes().pending > 0 && room() > 0) {
    event_queue_.ask([](const EventQueue::EngineAccess& /*unused*/) {});
  }
}

void EngineThread::work(std::vector<EventQueue::Message>& batch) {
  core::Commands out;
  net::Duration before = net::thread_time();
  for (auto& message : batch) {
    if (auto* question = std::get_if<EventQueue::Question>(&message)) {
      (*question)({.engine = engine_, .now = engine_time(loop_), .out = out});
    } else {
      const auto& event = std::get<core::Event>(message);
      // Waiting pods come first.
      if (std::holds_alternative<core::PodPending>(event)) finish(out, before);
      handle(event, out);
    }
    const net::Duration after = net::thread_time();
    longest_.add(after - before, loop_.now());
    before = after;
  }
  // Requests and replies that have arrived meanwhile are handled in between.
  if (engine_.unfinished()) event_queue_.put_reply(core::Continue{});
  publish();
  if (!out.empty()) output_(std::move(out));
}

void EngineThread::finish(core::Commands& out, net::Duration& before) {
  while (engine_.unfinished()) {
    handle(core::Continue{}, out);
    const net::Duration after = net::thread_time();
    longest_.add(after - before, loop_.now());
    before = after;
  }
}

void EngineThread::handle(const core::Event& event, core::Commands& out) {
  const base::Instant start = engine_time(loop_);
  core::Commands commands = engine_.handle(event, start);
  if (std::holds_alternative<core::PodPending>(event)) {
    const auto took = static_cast<std::uint64_t>(engine_time(loop_).ns - start.ns);
    next_.decide_ns_sum += took;
    next_.decide_ns_max = std::max(next_.decide_ns_max, took);
    const double seconds = static_cast<double>(took) / 1e9;
    const auto* at = std::lower_bound(kDecideSeconds.begin(), kDecideSeconds.end(), seconds);
    ++next_.decides.at(static_cast<std::size_t>(at - kDecideSeconds.begin()));
  }
  std::move(commands.begin(), commands.end(), std::back_inserter(out));
}

void EngineThread::publish() {
  next_.counters = engine_.counters();
  next_.longest_event = longest_.get(loop_.now());
  next_.nodes = engine_.ledger().nodes().count();
  next_.pods = engine_.ledger().pods().count();
  const std::scoped_lock lock(mutex_);
  snapshot_ = next_;
}

EngineThread::Snapshot EngineThread::snapshot() const {
  const std::scoped_lock lock(mutex_);
  return snapshot_;
}

}  // namespace stowage::scheduler
