#include "doctor/node_facts.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "base/file.h"
#include "doctor/node_checks.h"

namespace stowage::doctor {
namespace {

namespace fs = std::filesystem;

// A folder that stands for the root of a machine.
class NodeFactsTest : public ::testing::Test {
 protected:
  NodeFactsTest() {
    std::string name = fs::temp_directory_path() / "stowage-doctor-XXXXXX";
    root_ = mkdtemp(name.data());
  }
  ~NodeFactsTest() override { fs::remove_all(root_); }

  void put(const std::string& path, const std::string& text = "") {
    fs::create_directories((root_ + path).substr(0, (root_ + path).rfind('/')));
    ASSERT_TRUE(base::write_file(root_ + path, text));
  }
  [[nodiscard]] NodeFacts facts() const { return read_node(root_); }

  std::string root_;
};

constexpr const char* kSpec = R"(
cdiVersion: 0.5.0
kind: nvidia.com/gpu
devices:
- name: "0"
  containerEdits:
    deviceNodes:
    - path: /dev/nvidia0
containerEdits:
  deviceNodes:
  - path: /dev/nvidiactl
  mounts:
  - hostPath: /usr/lib/libcuda.so.580
    containerPath: /usr/lib/libcuda.so.580
    options: [ro, bind]
)";

TEST_F(NodeFactsTest, OfAnEmptyMachineAreEmpty) {
  const NodeFacts found = facts();
  EXPECT_FALSE(found.driver);
  EXPECT_EQ(found.runtime, NodeFacts::Runtime::none);
  EXPECT_FALSE(found.toolkit);
  EXPECT_TRUE(found.nvidia_specs.empty());
  EXPECT_FALSE(found.kubelet);
}

TEST_F(NodeFactsTest, AreReadFromTheFilesOfTheMachine) {
  put("/proc/driver/nvidia/version", "NVRM version: 580.159.04\nGCC version: 12\n");
  put("/dev/nvidiactl");
  put("/etc/containerd/config.toml",
      "version = 2\nimports = ['/etc/containerd/conf.d/*.toml', 'more.toml']\n"
      "[plugins.'io.containerd.grpc.v1.cri']\nenable_cdi = false\n");
  put("/etc/containerd/conf.d/a.toml",
      "version = 2\n[plugins.'io.containerd.grpc.v1.cri']\nenable_cdi = true\n");
  put("/etc/containerd/conf.d/b.txt", "no toml at all [");
  put("/etc/containerd/more.toml", "version = 2\n");
  put("/etc/nvidia-container-runtime/config.toml", "");
  put("/etc/cdi/nvidia.yaml", kSpec);
  put("/etc/cdi/other.json", R"({"cdiVersion":"0.5.0","kind":"vendor.com/nic"})");
  put("/var/lib/kubelet/device-plugins/kubelet.sock");
  put("/var/lib/kubelet/device-plugins/nvidia-gpu.sock");
  const NodeFacts found = facts();
  EXPECT_EQ(found.driver, "NVRM version: 580.159.04");
  EXPECT_TRUE(found.control_device);
  ASSERT_EQ(found.runtime_files.size(), 3U);
  EXPECT_EQ(found.runtime_files[1].file, "/etc/containerd/conf.d/a.toml");
  EXPECT_EQ(found.runtime_files[1].content->cdi, true);
  EXPECT_EQ(found.runtime_files[2].file, "/etc/containerd/more.toml");
  ASSERT_TRUE(found.toolkit);
  EXPECT_TRUE(found.toolkit->content->accepts_variable);
  ASSERT_EQ(found.nvidia_specs.size(), 1U);
  ASSERT_TRUE(found.nvidia_specs[0].content) << found.nvidia_specs[0].content.error().message;
  EXPECT_EQ(found.missing_paths,
            (std::vector<std::string>{"/dev/nvidia0", "/usr/lib/libcuda.so.580"}));
  EXPECT_TRUE(found.kubelet);
  EXPECT_FALSE(found.podresources);
  EXPECT_EQ(found.foreign_plugins, std::vector<std::string>{"nvidia-gpu.sock"});
}

TEST_F(NodeFactsTest, OfFilesThatCannotBeReadSayWhy) {
  put("/etc/containerd/config.toml", "version = [");
  put("/etc/nvidia-container-runtime/config.toml", "= 3");
  put("/etc/cdi/nvidia.yaml", "kind: nvidia.com/gpu\ncdiVersion: 0.5.0\ndevices: {a: b}\n");
  const NodeFacts found = facts();
  ASSERT_EQ(found.runtime_files.size(), 1U);
  EXPECT_FALSE(found.runtime_files[0].content);
  EXPECT_FALSE(found.toolkit->content);
  ASSERT_EQ(found.nvidia_specs.size(), 1U);
  EXPECT_FALSE(found.nvidia_specs[0].content);
  EXPECT_FALSE(sound(examine(found).findings));
}

TEST_F(NodeFactsTest, OfAFolderInPlaceOfAFileAreAnError) {
  fs::create_directories(root_ + "/etc/containerd/config.toml");
  const NodeFacts found = facts();
  ASSERT_EQ(found.runtime_files.size(), 1U);
  EXPECT_FALSE(found.runtime_files[0].content);
}

TEST_F(NodeFactsTest, OfCrioComeFromAllItsFiles) {
  put("/etc/crio/crio.conf.d/99-nvidia.conf",
      "[crio.runtime.runtimes.nvidia]\nruntime_path = '/usr/bin/nvidia-container-runtime'\n");
  const NodeFacts found = facts();
  EXPECT_EQ(found.runtime, NodeFacts::Runtime::crio);
  ASSERT_EQ(found.runtime_files.size(), 1U);
  EXPECT_EQ(found.runtime_files[0].content->nvidia_runtimes, std::vector<std::string>{"nvidia"});
}

}  // namespace
}  // namespace stowage::doctor
