#include "extender/refused_pod_waker.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/engine/engine.h"
#include "dialect/dialect.h"

namespace stowage::extender {
namespace {

constexpr std::chrono::seconds kLookEvery{1};
constexpr std::size_t kLookedAtMax = 256;  // pods, each time

}  // namespace

RefusedPodWaker::RefusedPodWaker(CallContext& context, ExternalPodCache& external_pods)
    : context_(context), external_pods_(external_pods), timer_(context.shared().loop) {
  look();
}

void RefusedPodWaker::watch(ExternalPod& external) {
  if (!external.waits) external.backoff.reset();
  external.waits = true;
  external.look_at = context_.shared().loop.now() + external.backoff.peek();
}

void RefusedPodWaker::look() {
  timer_.start(kLookEvery, [this] { look(); });
  if (!context_.leads()) return;
  std::vector<core::PodSpec> due = take_due();
  if (due.empty()) return;
  auto wake_all = context_.while_alive([this](const std::vector<std::string>& uids) {
    for (const auto& uid : uids) wake(uid);
  });
  context_.shared().event_queue.ask(
      [&loop = context_.shared().loop, due = std::move(due),
       wake_all = std::move(wake_all)](const scheduler::EventQueue::EngineAccess& access) mutable {
        std::vector<std::string> uids;
        for (const auto& spec : due) {
          if (access.engine.fits_somewhere(spec)) uids.push_back(spec.uid);
        }
        if (uids.empty()) return;
        loop.post(
            [wake_all = std::move(wake_all), uids = std::move(uids)]() mutable { wake_all(uids); });
      });
}

// The pods to look at now: those that have waited longest, up to the limit.
std::vector<core::PodSpec> RefusedPodWaker::take_due() {
  const auto now = context_.shared().loop.now();
  const auto& pods = context_.shared().cluster_cache.pods();
  std::vector<ExternalPod*> due;
  for (auto& [uid, external] : external_pods_.entries()) {
    if (!external.waits || external.look_at > now) continue;
    external.waits = pods.preemption_info(uid) == nullptr;  // else it is bound
    if (external.waits) due.push_back(&external);
  }
  std::sort(due.begin(), due.end(),
            [](const ExternalPod* a, const ExternalPod* b) { return a->look_at < b->look_at; });
  if (due.size() > kLookedAtMax) due.resize(kLookedAtMax);
  std::vector<core::PodSpec> specs;
  for (ExternalPod* external : due) {
    external->look_at = now + kLookEvery;
    specs.push_back(external->spec);
  }
  return specs;
}

void RefusedPodWaker::wake(const std::string& uid) {
  ExternalPod* external = external_pods_.find(uid);
  if (external == nullptr || !external->waits) return;
  external->backoff.next();
  external->look_at = context_.shared().loop.now() + external->backoff.peek();
  ++woken_;
  const codec::MetadataRequest patch{
      .uid = uid,
      .annotations = {{std::string(dialect::kRetryAnnotation),
                       std::to_string(context_.unix_nanos() / 1'000'000'000)}},
      .labels = {}};
  context_.shared().pods.write(
      {.ns = external->object.ns, .name = external->object.name}, patch,
      context_.while_alive([this, uid, name = external->spec.name](const std::string& error) {
        if (error.empty()) return;
        const auto& pods = context_.shared().cluster_cache.pods();
        if (pods.uid_of(name) != uid) external_pods_.forget(uid);
      }));
}

}  // namespace stowage::extender
