#include "controller/heap.h"

#include <chrono>

#if defined(STOWAGE_PROFILER)
#include <gperftools/malloc_extension.h>
#endif

namespace stowage::controller {

#if defined(STOWAGE_PROFILER)

namespace {

constexpr std::chrono::seconds kEvery{1};
constexpr std::uint64_t kKeep = std::uint64_t{32} << 20U;  // free pages to keep for the next burst
constexpr std::size_t kPiece = std::size_t{4} << 20U;      // released at a time

std::uint64_t property(const char* name) {
  std::size_t value = 0;
  MallocExtension::instance()->GetNumericProperty(name, &value);
  return value;
}

}  // namespace

std::optional<HeapSnapshot> heap_snapshot() {
  HeapSnapshot heap;
  heap.used = property("generic.current_allocated_bytes");
  heap.cached = property("tcmalloc.central_cache_free_bytes") +
                property("tcmalloc.transfer_cache_free_bytes") +
                property("tcmalloc.thread_cache_free_bytes");
  heap.free = property("tcmalloc.pageheap_free_bytes");
  heap.released = property("tcmalloc.pageheap_unmapped_bytes");
  return heap;
}

HeapTrimmer::HeapTrimmer(net::EventLoop& loop) : timer_(loop) {
  timer_.start(kEvery, [this] { give_back(); });
}

void HeapTrimmer::give_back() {
  if (property("tcmalloc.pageheap_free_bytes") > kKeep) {
    MallocExtension::instance()->ReleaseToSystem(kPiece);
  }
  timer_.start(kEvery, [this] { give_back(); });
}

#else

std::optional<HeapSnapshot> heap_snapshot() { return std::nullopt; }

HeapTrimmer::HeapTrimmer(net::EventLoop& loop) : timer_(loop) {}

void HeapTrimmer::give_back() {}

#endif

}  // namespace stowage::controller
