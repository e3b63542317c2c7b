#include "scheduler/prover.h"

#include <chrono>
#include <memory>
#include <utility>

#include "dialect/own_annotations.h"

namespace stowage::scheduler {

Prover::Prover(std::size_t threads) {
  for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
}

Prover::~Prover() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
    tasks_.clear();
  }
  arrived_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Prover::put(const kube::Keys& keys, dialect::PodObject object) {
  Waiting& last = waiting_.emplace_back();
  last.pod = std::make_shared<Proved>(Proved{.object = std::move(object), .check = {}});
  const dialect::PodObject& pod = last.pod->object;
  const bool says = pod.annotations.contains(std::string(dialect::kSignatureAnnotation));
  if (pod.node.empty() || !says || !keys) return;
  std::packaged_task<kube::SealCheck()> task(
      [keys, held = last.pod] { return kube::check_seal(*keys, held->object, held->object.node); });
  last.check = task.get_future();
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  arrived_.notify_one();
}

std::optional<Prover::Proved> Prover::take(std::size_t most) {
  if (waiting_.empty()) return std::nullopt;
  Waiting& first = waiting_.front();
  if (first.check.valid()) {
    const bool ready = first.check.wait_for(std::chrono::seconds{0}) == std::future_status::ready;
    if (!ready && waiting_.size() <= most) return std::nullopt;
    first.pod->check = first.check.get();
  }
  // The thread may not have released it yet, but does not read it any more.
  std::optional<Proved> out = std::move(*first.pod);
  waiting_.pop_front();
  return out;
}

void Prover::work() {
  while (true) {
    std::packaged_task<kube::SealCheck()> task;
    {
      std::unique_lock lock(mutex_);
      arrived_.wait(lock, [this] { return ends_ || !tasks_.empty(); });
      if (ends_) return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task();
  }
}

}  // namespace stowage::scheduler
