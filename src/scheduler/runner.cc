#include "scheduler/runner.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

namespace stowage::scheduler {
namespace {

constexpr std::size_t kPendingPerBatch = 64;  // so that the first bind goes out soon

std::int64_t now_ns() { return Runner::now().ns; }

}  // namespace

Runner::Runner(Options options, Mailbox& mailbox, Output output)
    : engine_(std::move(options.profiles), options.engine),
      binds_max_(options.binds_max),
      mailbox_(mailbox),
      output_(std::move(output)) {}

Runner::~Runner() {
  mailbox_.close();
  if (thread_.joinable()) thread_.join();
}

base::Instant Runner::now() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return {std::chrono::duration_cast<std::chrono::nanoseconds>(now).count()};
}

void Runner::start() {
  thread_ = std::thread([this] { run(); });
}

void Runner::set_slow_binds(std::size_t count) {
  const std::size_t before = slow_binds_.exchange(count);
  // The engine's thread may wait for the very place that is free now.
  if (count > before) mailbox_.ask([](const Mailbox::Hearing& /*unused*/) {});
}

void Runner::run() {
  while (true) {
    const std::size_t under_way = engine_.counters().binding;
    const std::size_t binding = under_way - std::min(under_way, slow_binds_.load());
    const std::size_t room = binds_max_ > binding ? binds_max_ - binding : 0;
    auto batch = mailbox_.take(std::min(room, kPendingPerBatch));
    if (!batch) return;
    core::Commands out;
    for (auto& message : *batch) {
      if (auto* question = std::get_if<Mailbox::Question>(&message)) {
        (*question)({.engine = engine_, .now = base::Instant{now_ns()}, .out = out});
      } else {
        handle(std::get<core::Event>(message), out);
      }
    }
    publish();
    if (!out.empty()) output_(std::move(out));
  }
}

void Runner::handle(const core::Event& event, core::Commands& out) {
  const std::int64_t start = now_ns();
  core::Commands commands = engine_.handle(event, base::Instant{start});
  if (std::holds_alternative<core::PodPending>(event)) {
    const auto took = static_cast<std::uint64_t>(now_ns() - start);
    next_.decide_ns_sum += took;
    next_.decide_ns_max = std::max(next_.decide_ns_max, took);
    ++next_.decide_count;
  }
  std::move(commands.begin(), commands.end(), std::back_inserter(out));
}

void Runner::publish() {
  next_.counters = engine_.counters();
  next_.nodes = engine_.ledger().node_count();
  next_.pods = engine_.ledger().pod_count();
  const std::scoped_lock lock(mutex_);
  picture_ = next_;
}

Runner::Picture Runner::picture() const {
  const std::scoped_lock lock(mutex_);
  return picture_;
}

}  // namespace stowage::scheduler
