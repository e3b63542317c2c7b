#include "kube/child_process.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

namespace stowage::kube {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kPollMs = 20;  // how soon an end or a cancellation is noticed

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() { close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  void reset(int number) {
    close();
    number_ = number;
  }
  void close() {
    if (number_ >= 0) ::close(number_);
    number_ = -1;
  }
  [[nodiscard]] int get() const { return number_; }
  [[nodiscard]] bool open() const { return number_ >= 0; }

 private:
  int number_ = -1;
};

struct Pipe {
  Descriptor read;
  Descriptor write;

  [[nodiscard]] bool make() {
    std::array<int, 2> deps{};
    if (::pipe2(deps.data(), O_CLOEXEC) != 0) return false;
    read.reset(deps[0]);
    write.reset(deps[1]);
    return ::fcntl(read.get(), F_SETFL, O_NONBLOCK) == 0;
  }
};

struct SpawnActions {
  posix_spawn_file_actions_t files{};
  posix_spawnattr_t attributes{};
  SpawnActions() {
    ::posix_spawn_file_actions_init(&files);
    ::posix_spawnattr_init(&attributes);
  }
  ~SpawnActions() {
    ::posix_spawn_file_actions_destroy(&files);
    ::posix_spawnattr_destroy(&attributes);
  }
  SpawnActions(const SpawnActions&) = delete;
  SpawnActions& operator=(const SpawnActions&) = delete;
};

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

// 0 or an errno.
int spawn(const ChildRequest& ask, const Pipe& out, const Pipe& err, pid_t& pid) {
  SpawnActions actions;
  ::posix_spawn_file_actions_addopen(&actions.files, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions.files, out.write.get(), 1);
  ::posix_spawn_file_actions_adddup2(&actions.files, err.write.get(), 2);
  ::posix_spawn_file_actions_addclosefrom_np(&actions.files, 3);
  sigset_t all;
  sigset_t none;
  sigfillset(&all);
  sigemptyset(&none);
  ::posix_spawnattr_setsigdefault(&actions.attributes, &all);
  ::posix_spawnattr_setsigmask(&actions.attributes, &none);
  ::posix_spawnattr_setpgroup(&actions.attributes, 0);
  ::posix_spawnattr_setflags(
      &actions.attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  std::vector<std::string> words{ask.command};
  words.insert(words.end(), ask.args.begin(), ask.args.end());
  std::vector<std::string> env = ask.env;
  return ::posix_spawnp(&pid, ask.command.c_str(), &actions.files, &actions.attributes,
                        pointers(words).data(), pointers(env).data());
}

// Appends what can be read now; closes at the end of the file.
void drain(Descriptor& from, std::string& into) {
  std::array<char, 4096> chunk{};
  while (from.open()) {
    const ssize_t got = ::read(from.get(), chunk.data(), chunk.size());
    if (got > 0) {
      into.append(chunk.data(), static_cast<std::size_t>(got));
      if (into.size() > std::size_t{8} << 20U) return;  // the caller checks the size
      continue;
    }
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    from.close();
  }
}

int exit_code_of(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// Returns true once the program has ended. It is not reaped, so that its pid is not reused yet.
bool has_ended(pid_t pid) {
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == pid;
}

// Kills the program and all processes of its group; returns its exit code.
int end_group(pid_t pid) {
  ::kill(-pid, SIGKILL);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return exit_code_of(status);
}

void keep_tail(std::string& text, std::size_t bytes) {
  if (text.size() > bytes) text.erase(0, text.size() - bytes);
}

}  // namespace

Result<ChildEnd> run_child(const ChildRequest& ask, const std::atomic<bool>& cancelled) {
  Pipe out;
  Pipe err;
  if (!out.make() || !err.make()) {
    return fail(fmt::format("cannot start {}: {}", ask.command, std::strerror(errno)));
  }
  pid_t pid = 0;
  if (const int error = spawn(ask, out, err, pid); error != 0) {
    return fail(fmt::format("cannot start {}: {}", ask.command, std::strerror(error)));
  }
  out.write.close();
  err.write.close();

  const Clock::time_point limit = Clock::now() + ask.time_limit;
  ChildEnd end;
  for (;;) {
    std::array<pollfd, 2> polled{
        {{out.read.get(), POLLIN, 0}, {err.read.get(), POLLIN, 0}}};  // -1 is ignored
    ::poll(polled.data(), polled.size(), kPollMs);
    const bool ended = has_ended(pid);
    drain(out.read, end.out);
    drain(err.read, end.err_tail);
    keep_tail(end.err_tail, ask.err_bytes_kept);
    std::string trouble;
    if (end.out.size() > ask.out_bytes_max) {
      trouble = fmt::format("printed more than {} bytes", ask.out_bytes_max);
    }
    if (ended && trouble.empty()) {
      end.exit_code = end_group(pid);
      return end;
    }
    if (cancelled.load()) trouble = "was cancelled";
    if (Clock::now() >= limit) {
      trouble =
          fmt::format("did not end within {} s",
                      std::chrono::duration_cast<std::chrono::seconds>(ask.time_limit).count());
    }
    if (trouble.empty()) continue;
    end_group(pid);
    return fail(fmt::format("{} {}{}{}", ask.command, trouble, end.err_tail.empty() ? "" : ": ",
                            end.err_tail));
  }
}

std::vector<std::string> child_environment(
    const std::vector<std::pair<std::string, std::string>>& added) {
  std::vector<std::string> result;
  const auto replaced = [&](std::string_view entry) {
    const std::string_view name = entry.substr(0, entry.find('='));
    return std::any_of(added.begin(), added.end(), [&](const auto& a) { return a.first == name; });
  };
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    if (!replaced(*entry)) result.emplace_back(*entry);
  }
  for (const auto& [name, value] : added) result.push_back(fmt::format("{}={}", name, value));
  return result;
}

}  // namespace stowage::kube
