#include "agent/cgroup.h"

#include <algorithm>
#include <fstream>

#include <fmt/format.h>

namespace stowage::agent {
namespace {

constexpr std::size_t kContainerDigits = 64;
constexpr std::size_t kUidLength = 36;
constexpr std::size_t kTextMax = std::size_t{16} << 10U;

bool is_hex(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

std::string_view without_ending(std::string_view part) {
  for (const std::string_view ending : {".scope", ".slice"}) {
    if (part.ends_with(ending)) part.remove_suffix(ending.size());
  }
  return part;
}

// "cri-containerd-<id>.scope", "crio-<id>.scope", "docker-<id>.scope" or "<id>".
std::string container_in(std::string_view part) {
  part = without_ending(part);
  if (part.size() < kContainerDigits) return {};
  const std::string_view id = part.substr(part.size() - kContainerDigits);
  const bool alone = part.size() == id.size() || part[part.size() - id.size() - 1] == '-';
  return alone && is_hex(id) ? std::string(id) : std::string();
}

// "pod<uid>" or "kubepods-burstable-pod<uid>.slice", with _ for - in the uid. A static pod's uid is
// 32 digits without any.
std::string pod_in(std::string_view part) {
  part = without_ending(part);
  const std::size_t at = part.rfind("pod");
  if (at == std::string_view::npos || (at > 0 && part[at - 1] != '-')) return {};
  std::string uid(part.substr(at + 3));
  std::replace(uid.begin(), uid.end(), '_', '-');
  std::string digits = uid;
  std::erase(digits, '-');
  const bool fits = uid.size() == kUidLength || uid.size() == digits.size();
  return fits && digits.size() == 32 && is_hex(digits) ? uid : std::string();
}

// The innermost pod, and the first container below it. A container may create groups of its own
// below that.
std::optional<CgroupOwner> read_path(std::string_view path) {
  CgroupOwner owner;
  while (!path.empty()) {
    const std::size_t slash = path.find('/');
    const std::string_view part = path.substr(0, slash);
    path.remove_prefix(slash == std::string_view::npos ? path.size() : slash + 1);
    if (std::string pod = pod_in(part); !pod.empty()) {
      owner = {.pod = std::move(pod), .container = {}};
    } else if (!owner.pod.empty() && owner.container.empty()) {
      owner.container = container_in(part);
    }
  }
  if (owner.container.empty()) return std::nullopt;
  return owner;
}

}  // namespace

std::optional<CgroupOwner> read_cgroup(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    const std::size_t path = line.find(":/");  // <number>:<controllers>:/<path>
    if (path == std::string_view::npos) continue;
    if (auto owner = read_path(line.substr(path + 2))) return owner;
  }
  return std::nullopt;
}

std::optional<CgroupOwner> cgroup_owner(std::uint32_t pid, const std::filesystem::path& proc) {
  std::ifstream in(proc / fmt::format("{}", pid) / "cgroup", std::ios::binary);
  if (!in) return std::nullopt;
  std::string text(kTextMax, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  return read_cgroup(text);
}

}  // namespace stowage::agent
