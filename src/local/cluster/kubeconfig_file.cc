#include "local/cluster/kubeconfig_file.h"

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/file.h"

namespace stowage::local {
namespace {

constexpr std::string_view kMark = "# Kubeconfig of `stowage local`, process ";
constexpr mode_t kOwnerOnly = 0600;

std::string mark() { return fmt::format("{}{}\n", kMark, ::getpid()); }

// The process that wrote the file; unset if Stowage did not write it.
std::optional<pid_t> writer_of(std::string_view text) {
  if (!text.starts_with(kMark)) return std::nullopt;
  text.remove_prefix(kMark.size());
  pid_t pid = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), pid);
  return error == std::errc() && pid > 0 ? std::optional(pid) : std::nullopt;
}

bool is_alive(pid_t pid) { return ::kill(pid, 0) == 0 || errno == EPERM; }

Status check_replaceable(const std::string& path) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) {
    if (errno == ENOENT) return {};
    return fail(fmt::format("cannot write {}: {}", path, std::strerror(errno)));
  }
  if (!S_ISREG(info.st_mode)) return fail(fmt::format("{} is not a file; name another one", path));
  STOWAGE_TRY(text, base::read_file(path));
  if (text.empty()) return {};
  const auto writer = writer_of(text);
  if (!writer) {
    return fail(
        fmt::format("{} exists and is not a kubeconfig of stowage local; it is not overwritten: "
                    "name another file with --kubeconfig",
                    path));
  }
  if (*writer != ::getpid() && is_alive(*writer)) {
    return fail(
        fmt::format("{} belongs to a stowage local that still runs (process {}); stop it, or "
                    "name another file with --kubeconfig",
                    path, *writer));
  }
  return {};
}

Status write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return fail(std::strerror(errno));
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

}  // namespace

std::string default_kubeconfig_path() {
  const char* session = std::getenv("XDG_RUNTIME_DIR");
  const bool usable = session != nullptr && session[0] == '/' && ::access(session, W_OK) == 0;
  const std::string folder = usable ? fmt::format("{}/", session) : "";
  std::string usual = folder + "stowage-local.kubeconfig";
  if (check_replaceable(usual)) return usual;
  return fmt::format("{}stowage-local-{}.kubeconfig", folder, ::getpid());
}

std::string kubeconfig_text(const std::string& server_url) {
  return fmt::format(
      "apiVersion: v1\n"
      "kind: Config\n"
      "clusters:\n"
      "- name: stowage-local\n"
      "  cluster:\n"
      "    server: {}\n"
      "users:\n"
      "- name: stowage-local\n"
      "  user: {{}}\n"
      "contexts:\n"
      "- name: stowage-local\n"
      "  context:\n"
      "    cluster: stowage-local\n"
      "    user: stowage-local\n"
      "    namespace: default\n"
      "current-context: stowage-local\n",
      server_url);
}

Status write_kubeconfig(const std::string& path, const std::string& server_url) {
  STOWAGE_TRY_VOID(check_replaceable(path));
  const std::string draft = fmt::format("{}.{}.new", path, ::getpid());
  const auto failed = [&](const char* why) {
    return fail(fmt::format("cannot write {}: {}", path, why));
  };
  ::unlink(draft.c_str());
  const int file =
      ::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, kOwnerOnly);
  if (file < 0) return failed(std::strerror(errno));
  const Status written = write_all(file, mark() + kubeconfig_text(server_url));
  const bool closed = ::close(file) == 0;
  if (!written || !closed) {
    ::unlink(draft.c_str());
    return failed(written ? std::strerror(errno) : written.error().message.c_str());
  }
  if (::rename(draft.c_str(), path.c_str()) != 0) {
    const int why = errno;
    ::unlink(draft.c_str());
    return failed(std::strerror(why));
  }
  return {};
}

void remove_kubeconfig(const std::string& path) {
  const auto text = base::read_file(path);
  if (text && text->starts_with(mark())) ::unlink(path.c_str());
}

}  // namespace stowage::local
