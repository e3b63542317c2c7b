// Finds the container of a process, by the name of its control group.
//
//   0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod3f2a_..._9c.slice/
//      cri-containerd-4be1...77.scope          systemd
//   9:memory:/kubepods/besteffort/pod3f2a-...-9c/4be1...77/init.scope     cgroupfs, nested
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace stowage::agent {

struct CgroupOwner {
  std::string pod;        // its uid
  std::string container;  // the id in its runtime, 64 hexadecimal digits
  friend bool operator==(const CgroupOwner&, const CgroupOwner&) = default;
};

// From the text of /proc/<pid>/cgroup. Unset: the process belongs to no container of a pod.
[[nodiscard]] std::optional<CgroupOwner> read_cgroup(std::string_view text);

// The same for a process of this machine. Needs access to processes of other containers (hostPID).
[[nodiscard]] std::optional<CgroupOwner> cgroup_owner(std::uint32_t pid,
                                                      const std::filesystem::path& proc = "/proc");

}  // namespace stowage::agent
