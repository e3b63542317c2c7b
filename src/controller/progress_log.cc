#include "controller/progress_log.h"

#include <chrono>

#include <fmt/format.h>

namespace stowage::controller {
namespace {

constexpr std::chrono::seconds kEvery{10};

}  // namespace

void ProgressLog::tick() {
  const auto snapshot = look_();
  const std::uint64_t bound = snapshot.binder.bound;
  const std::uint64_t refused = snapshot.command_executor.refused;
  if (bound != bound_ || refused != refused_) {
    log_.info("progress", {{"bound", fmt::format("{}", bound - bound_)},
                           {"refused", fmt::format("{}", refused - refused_)},
                           {"waiting", fmt::format("{}", snapshot.engine.counters.waiting)},
                           {"nodes", fmt::format("{}", snapshot.cluster_cache.nodes)},
                           {"pods", fmt::format("{}", snapshot.cluster_cache.bound)}});
  }
  bound_ = bound;
  refused_ = refused;
  timer_.start(kEvery, [this] { tick(); });
}

}  // namespace stowage::controller
