// Verifies signatures of pods ahead of the loop that looks at them, on threads of its own: a list
// of 100,000 pods would keep the loop busy for 12 seconds. Pods come out in the order in which they
// went in.
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
    std::optional<kube::SealCheck> check;  // of a bound pod with a signature
  };
  explicit Prover(std::size_t threads);
  ~Prover();  // waits for what is under way
  Prover(const Prover&) = delete;
  Prover& operator=(const Prover&) = delete;

  void put(const kube::Keys& keys, dialect::PodObject object);
  // The next one. Waits for it if more than `most` are inside, else takes what is ready; unset:
  // nothing is.
  [[nodiscard]] std::optional<Proved> take(std::size_t most);
  void clear() { waiting_.clear(); }

 private:
  struct Waiting {
    std::shared_ptr<Proved> pod;  // the thread that verifies it has it too
    std::future<kube::SealCheck> check;
  };
  void work();

  std::deque<Waiting> waiting_;  // the loop's thread alone
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<std::packaged_task<kube::SealCheck()>> tasks_;
  bool ends_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace stowage::scheduler
