#include "controller/profiler.h"

#include <cstdlib>
#include <limits>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#if defined(STOWAGE_PROFILER)
#include <gperftools/malloc_extension.h>
#include <gperftools/profiler.h>
#endif

#include "base/file.h"

namespace stowage::controller {

Profiler::Profiler(net::EventLoop& loop) : timer_(loop) {}

#if defined(STOWAGE_PROFILER)

namespace {

// Creates a file with an unpredictable name. It is read and removed at the end.
Result<std::string> make_file() {
  const char* folder = std::getenv("TMPDIR");
  std::string path = fmt::format("{}/stowage-cpu-XXXXXX", folder != nullptr ? folder : "/tmp");
  const int file = mkstemp(path.data());
  if (file < 0) {
    return fail(
        fmt::format("cannot write to {}: a profile needs a folder for a file; mount one "
                    "there or name it with TMPDIR",
                    folder != nullptr ? folder : "/tmp"));
  }
  close(file);
  return path;
}

}  // namespace

Profiler::~Profiler() {
  if (file_.empty()) return;
  ProfilerStop();
  unlink(file_.c_str());
}

void Profiler::record_cpu(std::chrono::seconds time, Done done) {
  if (time < std::chrono::seconds{1} || time > kLongest) {
    return done(fail(fmt::format("seconds must be 1 to {}", kLongest.count())));
  }
  if (!file_.empty()) return done(fail("a profile is being recorded already"));
  auto path = make_file();
  if (!path) return done(fail(path.error().message));
  file_ = std::move(*path);
  if (ProfilerStart(file_.c_str()) == 0) {
    unlink(file_.c_str());
    file_.clear();
    return done(fail("the profiler cannot be started"));
  }
  timer_.start(time, [this, done = std::move(done)] { finish(done); });
}

void Profiler::finish(const Done& done) {
  ProfilerStop();
  constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();
  std::string bytes = base::try_read_file(file_, kAll).value_or("");
  unlink(std::exchange(file_, "").c_str());
  if (bytes.empty()) return done(fail("the profile is empty"));
  done(std::move(bytes));
}

Result<std::string> Profiler::heap() {
  if (std::getenv("TCMALLOC_SAMPLE_PARAMETER") == nullptr) {
    return fail("the heap is not sampled: start the process with TCMALLOC_SAMPLE_PARAMETER=524288");
  }
  std::string sample;
  MallocExtension::instance()->GetHeapSample(&sample);
  return sample;
}

#else

Profiler::~Profiler() = default;

void Profiler::record_cpu(std::chrono::seconds /*unused*/, Done done) {
  done(fail("this build has no profiler"));
}

void Profiler::finish(const Done& /*unused*/) {}

Result<std::string> Profiler::heap() { return fail("this build has no profiler"); }

#endif

}  // namespace stowage::controller
