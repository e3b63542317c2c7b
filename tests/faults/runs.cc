#include "runs.h"

#include <array>
#include <csignal>
#include <cstdlib>
#include <map>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"

namespace stowage::faults {
namespace {

constexpr int kShrinkRunsMax = 400;

struct Child {
  pid_t pid = 0;
  int from = -1;  // where its outcome comes from
  std::uint64_t seed = 0;
};

void write_all(int to, const std::string& text) {
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t wrote = write(to, text.data() + done, text.size() - done);
    if (wrote <= 0) return;
    done += static_cast<std::size_t>(wrote);
  }
}

std::string read_all(int from) {
  std::string text;
  std::array<char, 4096> buffer{};
  for (;;) {
    const ssize_t got = read(from, buffer.data(), buffer.size());
    if (got <= 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

std::string encode(const Outcome& o) {
  return fmt::format("{} {} {} {} {} {} {}\n{}", o.digest, o.textless, o.steps, o.bound,
                     o.pre_allocated, o.recounts, o.takeovers, o.violation);
}

Outcome decode(const std::string& text, int status) {
  Outcome o;
  const std::size_t line = text.find('\n');
  if (line == std::string::npos) {
    o.violation = WIFSIGNALED(status)
                      ? fmt::format("died: the process died of signal {}", WTERMSIG(status))
                      : std::string("died: the process ended without a result");
    return o;
  }
  std::array<std::uint64_t*, 7> fields{&o.digest,        &o.textless, &o.steps,    &o.bound,
                                       &o.pre_allocated, &o.recounts, &o.takeovers};
  const char* at = text.c_str();
  for (std::uint64_t* field : fields) {
    char* end = nullptr;
    *field = std::strtoull(at, &end, 10);
    at = end;
  }
  o.violation = text.substr(line + 1);
  return o;
}

Child begin(const Plan& plan, Defect defect) {
  std::array<int, 2> ends{};
  STOWAGE_CHECK(pipe(ends.data()) == 0);
  const pid_t pid = fork();
  STOWAGE_CHECK(pid >= 0);
  if (pid == 0) {
    close(ends[0]);
    write_all(ends[1], encode(simulate(plan, {.defect = defect})));
    _exit(0);
  }
  close(ends[1]);
  return {.pid = pid, .from = ends[0], .seed = plan.seed};
}

Outcome end(const Child& child, int status) {
  Outcome outcome = decode(read_all(child.from), status);
  close(child.from);
  return outcome;
}

}  // namespace

Outcome run_apart(const Plan& plan, Defect defect) {
  const Child child = begin(plan, defect);
  const std::string text = read_all(child.from);
  int status = 0;
  (void)waitpid(child.pid, &status, 0);
  close(child.from);
  return decode(text, status);
}

// An outcome is shorter than a pipe's buffer, so children never wait for us.
void run_batch(const Batch& batch, const std::function<bool(std::uint64_t, const Outcome&)>& done) {
  std::map<pid_t, Child> running;
  std::uint64_t next = 0;
  bool more = true;
  while (!running.empty() || (more && next < batch.count)) {
    while (more && next < batch.count && running.size() < batch.jobs) {
      const Child child = begin(draw_plan(batch.first + next++, batch.features), batch.defect);
      running.emplace(child.pid, child);
    }
    int status = 0;
    const pid_t pid = waitpid(-1, &status, 0);
    const auto found = running.find(pid);
    if (found == running.end()) continue;
    const Child child = found->second;
    running.erase(found);
    more = done(child.seed, end(child, status)) && more;
  }
}

Plan shrink(Plan plan, Defect defect) {
  int runs = 0;
  for (std::size_t chunk = (plan.steps.size() + 1) / 2; chunk > 0; chunk /= 2) {
    for (std::size_t at = 0; at < plan.steps.size();) {
      if (++runs > kShrinkRunsMax) return plan;
      Plan without = plan;
      const auto from = without.steps.begin() + static_cast<std::ptrdiff_t>(at);
      const std::size_t count = std::min(chunk, plan.steps.size() - at);
      without.steps.erase(from, from + static_cast<std::ptrdiff_t>(count));
      if (run_apart(without, defect).violation.empty()) {
        at += chunk;
      } else {
        plan = std::move(without);
      }
    }
  }
  return plan;
}

}  // namespace stowage::faults
