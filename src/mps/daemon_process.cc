#include "mps/daemon_process.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/file.h"

namespace stowage::mps {
namespace {

namespace fs = std::filesystem;
using std::string_literals::operator""s;

// How long it may take to end before it is killed. It waits for its clients.
constexpr auto kPatience = std::chrono::seconds{3};
constexpr std::size_t kEnvironBytesMax = std::size_t{1} << 20U;

std::string how_it_ended(int status) {
  if (WIFSIGNALED(status)) return fmt::format("signal {}", WTERMSIG(status));
  return fmt::format("exit code {}", WEXITSTATUS(status));
}

// Clients of any user connect to the daemon, so the folders are open to all. Who may not use the
// card does not see them: they are mounted into containers with a share only.
Status make_folder(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (!error) fs::permissions(path, fs::perms{0755}, error);
  return error ? Status(fail(fmt::format("cannot create {}: {}", path, error.message())))
               : Status();
}

// Files only: another daemon that still runs keeps its sockets by their inodes.
void clear_folder(const std::string& path) {
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(path, ignored)) {
    fs::remove(entry.path(), ignored);
  }
}

std::vector<std::string> environment(const DaemonProcess::Options& options) {
  std::vector<std::string> env;
  for (char** at = environ; *at != nullptr; ++at) {
    const std::string_view text = *at;
    if (text.starts_with("CUDA_")) continue;
    env.emplace_back(text);
  }
  env.push_back("CUDA_VISIBLE_DEVICES=" + options.card);
  env.push_back("CUDA_MPS_PIPE_DIRECTORY=" + options.folder.pipe());
  env.push_back("CUDA_MPS_LOG_DIRECTORY=" + options.folder.log());
  return env;
}

// Does the process have both variables, as programs have that this daemon started? Containers know
// the folder by another path.
bool has_environment(const fs::path& process, const std::string& card, const std::string& pipe) {
  const auto text = base::try_read_file((process / "environ").string(), kEnvironBytesMax);
  if (!text) return false;
  const auto has = [&](const std::string& variable) {
    return ("\0"s + *text + "\0"s).find("\0"s + variable + "\0"s) != std::string::npos;
  };
  return has("CUDA_VISIBLE_DEVICES=" + card) && has("CUDA_MPS_PIPE_DIRECTORY=" + pipe);
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  out.reserve(texts.size() + 1);
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

}  // namespace

DaemonProcess::~DaemonProcess() { stop(); }

Status DaemonProcess::start() {
  STOWAGE_TRY_VOID(make_folder(options_.folder.path));
  STOWAGE_TRY_VOID(make_folder(options_.folder.pipe()));
  STOWAGE_TRY_VOID(make_folder(options_.folder.log()));
  clear_folder(options_.folder.pipe());
  clear_folder(options_.folder.log());  // the logs of one daemon: they do not grow for ever
  std::vector<std::string> words{options_.program, "-f", "-multiuser-server"};
  std::vector<std::string> env = environment(options_);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  // A group of its own: Ctrl-C of a terminal is for us, and we end it in order.
  posix_spawnattr_setpgroup(&attributes, 0);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  const int code = posix_spawnp(&pid_, options_.program.c_str(), &files, &attributes,
                                pointers(words).data(), pointers(env).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  if (code != 0) {
    pid_ = 0;
    return fail(fmt::format("cannot start {}: {}", options_.program, std::strerror(code)));
  }
  end_.clear();
  return {};
}

bool DaemonProcess::alive() {
  if (pid_ == 0) return false;
  int status = 0;
  const pid_t ended = waitpid(pid_, &status, WNOHANG);
  if (ended == 0) return true;
  end_ = ended == pid_ ? how_it_ended(status) : "it is no child of ours";
  pid_ = 0;
  return false;
}

bool DaemonProcess::server_left() const {
  std::error_code ignored;
  // Programs in containers have mounts of their own, whatever their environment says.
  const fs::path mounts = fs::read_symlink("/proc/self/ns/mnt", ignored);
  for (const fs::directory_entry& entry : fs::directory_iterator("/proc", ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    if (fs::read_symlink(entry.path() / "ns/mnt", ignored) != mounts) continue;
    if (has_environment(entry.path(), options_.card, options_.folder.pipe())) return true;
  }
  return false;
}

bool DaemonProcess::listens() const {
  struct stat found {};
  const std::string socket = options_.folder.pipe() + "/control";
  return pid_ != 0 && stat(socket.c_str(), &found) == 0 && S_ISSOCK(found.st_mode);
}

void DaemonProcess::stop() {
  if (!alive()) return;
  kill(-pid_, SIGTERM);
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (alive() && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds{10});
  }
  if (pid_ == 0) return;
  kill(-pid_, SIGKILL);
  int status = 0;
  waitpid(pid_, &status, 0);
  pid_ = 0;
}

}  // namespace stowage::mps
