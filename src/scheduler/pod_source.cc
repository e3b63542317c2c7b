#include "scheduler/pod_source.h"

#include <utility>

namespace stowage::scheduler {
namespace {

constexpr std::size_t kProverThreads = 4;
constexpr std::size_t kProverAhead = 256;  // pods that wait for signature verification

}  // namespace

PodSource::PodSource(kube::ReflectorOptions options, Deps deps)
    : deps_(std::move(deps)),
      informer_(deps_.client,
                {.reflector = std::move(options), .outages = deps_.outages, .what = "pods"},
                *this) {}

Result<std::string> PodSource::key_of(std::string_view json) {
  std::string uid = decoder_.identity(json).uid;
  if (uid.empty()) return fail("the uid of a deleted pod cannot be read");
  return uid;
}

void PodSource::updated(dialect::PodObject pod) {
  if (!prover_) return deps_.cluster_cache.upsert_pod(std::move(pod));
  prover_->put(deps_.cluster_cache.signatures().keys(), std::move(pod));
  take_proved(kProverAhead);
}

void PodSource::deleted(const Deleted& pod) {
  deps_.cluster_cache.remove_pod(pod.key);
  if (!pod.by_list) deps_.on_deleted(pod.key);
}

void PodSource::unreadable(const Unreadable& pod) {
  const codec::ObjectIdentity known = decoder_.identity(pod.json);
  deps_.log.warn("unreadable pod: its last known state is kept",
                 {{"pod", known.ns + "/" + known.name}, {"why", pod.why}});
}

void PodSource::unreadable_event(const std::string& why) {
  deps_.log.warn("unreadable watch event of a pod", {{"why", why}});
}

void PodSource::list_began() {
  deps_.on_list_began();
  deps_.cluster_cache.begin_pods();
  // Later lists contain few new pods. Simulations have no threads.
  const bool first = !informer_.synced() && deps_.client.loop().schedule() == nullptr;
  prover_ = first ? std::make_unique<Prover>(kProverThreads) : nullptr;
}

void PodSource::list_read() {
  if (prover_) take_proved(0);
  prover_.reset();
  deps_.cluster_cache.end_pods();
}

void PodSource::take_proved(std::size_t most_waiting) {
  while (auto next = prover_->take(most_waiting)) {
    deps_.cluster_cache.upsert_pod(std::move(next->object), next->check);
  }
}

}  // namespace stowage::scheduler
