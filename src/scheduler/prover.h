// Verifies signatures of pods on its own threads, ahead of the loop: otherwise a list of 100,000
// pods would block the loop for 12 seconds. Pods come out in the order in which they went in.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <future>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "dialect/objects.h"
#include "kube/seal.h"

namespace stowage::scheduler {

class Prover {
 public:
  struct Proved {
    dialect::PodObject object;
    std::optional<kube::SealCheck> check;  // for a bound pod with a signature
  };
  explicit Prover(std::size_t threads);
  ~Prover();  // waits for verifications under way
  Prover(const Prover&) = delete;
  Prover& operator=(const Prover&) = delete;

  void put(const kube::Keys& keys, dialect::PodObject object);
  // The next pod. Waits for it if more than `most` are inside; otherwise returns it only if it is
  // ready.
  [[nodiscard]] std::optional<Proved> take(std::size_t most);
  void clear() { waiting_.clear(); }

 private:
  struct Waiting {
    std::shared_ptr<Proved> pod;  // shared with the thread that verifies it
    std::future<kube::SealCheck> check;
  };
  void work();

  std::deque<Waiting> waiting_;  // used by the loop's thread only
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<std::packaged_task<kube::SealCheck()>> tasks_;
  bool ends_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace stowage::scheduler
