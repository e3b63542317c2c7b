// The controller's path from the text of an object to a decision, without network and threads:
// decoder, cluster cache, event queue and engine, one after the other. Every step is measured
// separately.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "codec/kubernetes.h"
#include "core/engine/engine.h"
#include "scheduler/cluster_cache.h"
#include "scheduler/event_queue.h"
#include "scheduler/profile.h"

namespace stowage::hostile {

// CPU time of this thread, in seconds.
[[nodiscard]] double cpu_seconds();
// Bytes that are allocated now. A sanitizer's allocator pads them.
[[nodiscard]] std::size_t heap_bytes();
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kHeapIsPadded = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr bool kHeapIsPadded = true;
#else
inline constexpr bool kHeapIsPadded = false;
#endif
#else
inline constexpr bool kHeapIsPadded = false;
#endif

class Controller {
 public:
  Controller();

  void upsert_node(std::string_view json);
  void upsert_pod(std::string_view json);
  void remove_pod(const std::string& uid);
  void remove_node(const std::string& name);
  void upsert_object(core::AuxKind kind, std::string_view json);
  void remove_object(core::AuxKind kind, const std::string& name);
  void tick();
  // Bodies of all verbs of the extender about this pod. The pod is one of the victims, too.
  void ask_extender(std::string_view pod_json);
  // The same with that many nodes, and victims of one of them.
  static constexpr std::size_t kMostNamed = 100'000;  // that a body may name
  void ask_extender_long_lists(std::string_view pod_json, std::size_t named = kMostNamed);

  // A preempt request with these nodes. Returns the number of nodes in the answer.
  std::size_t ask_preempt(std::string_view pod_json,
                          std::vector<core::PreemptRequest::OnNode> nodes);

  struct Longest {  // since the last call of take_longest(), in milliseconds
    double decode = 0;
    double engine = 0;
  };
  Longest take_longest();

  [[nodiscard]] core::Engine& engine() { return engine_; }
  [[nodiscard]] const scheduler::ClusterCache& cluster_cache() const { return cluster_cache_; }
  [[nodiscard]] std::size_t refused() const { return refused_; }
  [[nodiscard]] std::size_t bound() const { return bound_; }
  [[nodiscard]] std::size_t unreadable() const { return unreadable_; }
  [[nodiscard]] std::size_t most_commands() const { return most_commands_; }  // of one event
  // The last refusal of the pod with this name, as a sentence.
  [[nodiscard]] std::string why(const std::string& name) const;

 private:
  template <class Work>
  void decode(Work&& work);
  template <class Question>
  void ask(Question&& question);
  void ask_extender(std::string_view pod_json, const std::string& nodes_json,
                    const std::string& victims_json);
  void run();
  void handle(const core::Event& event);

  codec::Decoder decoder_;
  scheduler::EventQueue event_queue_;
  std::map<std::string, std::string> whys_;
  scheduler::ClusterCache cluster_cache_;
  core::Engine engine_;
  Longest longest_;
  std::int64_t now_ = 0;
  std::size_t refused_ = 0;
  std::size_t bound_ = 0;
  std::size_t unreadable_ = 0;
  std::size_t most_commands_ = 0;
};

}  // namespace stowage::hostile
