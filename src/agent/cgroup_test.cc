#include "agent/cgroup.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>

#include <gtest/gtest.h>

namespace stowage::agent {
namespace {

const std::string kId(64, 'a');
constexpr const char* kUid = "3f2a1b4c-0d5e-4f60-8a7b-1c2d3e4f5a6b";
constexpr const char* kUidUnderscores = "3f2a1b4c_0d5e_4f60_8a7b_1c2d3e4f5a6b";

TEST(Cgroup, KnowsTheContainerInEveryForm) {
  const std::string slice = "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" +
                            std::string(kUidUnderscores) + ".slice/";
  const CgroupOwner owner{.pod = kUid, .container = kId};
  struct Row {
    const char* what;
    std::string text;
  };
  const Row rows[] = {
      {"containerd with systemd", "0::" + slice + "cri-containerd-" + kId + ".scope\n"},
      {"CRI-O", "0::" + slice + "crio-" + kId + ".scope\n"},
      {"docker", "0::" + slice + "docker-" + kId + ".scope\n"},
      {"guaranteed", "0::/kubepods.slice/kubepods-pod" + std::string(kUidUnderscores) +
                         ".slice/cri-containerd-" + kId + ".scope\n"},
      {"cgroupfs", "0::/kubepods/besteffort/pod" + std::string(kUid) + "/" + kId + "\n"},
      {"a group of the container's own",
       "0::/kubepods/pod" + std::string(kUid) + "/" + kId + "/init.scope\n"},
      {"a kubelet in a group of its own",
       "0::/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod" +
           std::string(kUidUnderscores) + ".slice/cri-containerd-" + kId + ".scope\n"},
      {"version 1, without an end of line",
       "12:pids:/user.slice\n9:memory:/kubepods/pod" + std::string(kUid) + "/" + kId},
  };
  for (const Row& row : rows) EXPECT_EQ(read_cgroup(row.text), owner) << row.what;
}

TEST(Cgroup, AStaticPodHasAUidWithoutDashes) {
  const std::string uid(32, 'b');
  EXPECT_EQ(read_cgroup("0::/kubepods/pod" + uid + "/" + kId),
            (CgroupOwner{.pod = uid, .container = kId}));
}

TEST(Cgroup, IgnoresOtherProcesses) {
  for (const std::string& text :
       {std::string(), std::string("0::/\n"), std::string("0::/user.slice/session-1.scope"),
        "0::/system.slice/docker-" + kId + ".scope", "0::/kubepods/podnonsense/" + kId,
        "0::/kubepods/pod" + std::string(kUid) + "/short", std::string(":/"),
        "0::/kubepods/pod" + std::string(kUid) + "/x" + kId}) {
    EXPECT_EQ(read_cgroup(text), std::nullopt) << text;
  }
}

TEST(Cgroup, ReadsWhatTheKernelSays) {
  const auto proc =
      std::filesystem::temp_directory_path() / ("cgroup-test-" + std::to_string(getpid()));
  std::filesystem::create_directories(proc / "4711");
  std::ofstream(proc / "4711" / "cgroup") << "0::/kubepods/pod" << kUid << "/" << kId << "\n";
  EXPECT_EQ(cgroup_owner(4711, proc), (CgroupOwner{.pod = kUid, .container = kId}));
  EXPECT_EQ(cgroup_owner(4712, proc), std::nullopt);
  std::filesystem::remove_all(proc);
}

}  // namespace
}  // namespace stowage::agent
