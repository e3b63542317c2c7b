#include "doctor/runtime_config.h"

#include <gtest/gtest.h>

namespace stowage::doctor {
namespace {

TEST(Containerd, OfBothFormatsSaysWhatItSets) {
  const auto old = parse_containerd(R"(
version = 2
imports = ["/etc/containerd/conf.d/*.toml"]
[plugins."io.containerd.grpc.v1.cri"]
  enable_cdi = true
  cdi_spec_dirs = ["/etc/cdi", "/var/run/cdi"]
  [plugins."io.containerd.grpc.v1.cri".containerd]
    default_runtime_name = "nvidia"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.nvidia]
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.nvidia.options]
        BinaryName = "/usr/bin/nvidia-container-runtime"
)");
  ASSERT_TRUE(old) << old.error().message;
  EXPECT_EQ(*old, (RuntimeConfig{.cdi = true,
                                 .cdi_folders = {{"/etc/cdi", "/var/run/cdi"}},
                                 .default_runtime = "nvidia",
                                 .nvidia_runtimes = {"nvidia"},
                                 .version = 2,
                                 .imports = {"/etc/containerd/conf.d/*.toml"}}));
  const auto now = parse_containerd(R"(
version = 3
[plugins.'io.containerd.cri.v1.runtime']
  enable_cdi = false
  [plugins.'io.containerd.cri.v1.runtime'.containerd]
    default_runtime_name = 'runc'
    [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.gpu.options]
      BinaryName = '/usr/local/nvidia/toolkit/nvidia-container-runtime.cdi'
)");
  ASSERT_TRUE(now) << now.error().message;
  EXPECT_EQ(*now, (RuntimeConfig{.cdi = false,
                                 .cdi_folders = {},
                                 .default_runtime = "runc",
                                 .nvidia_runtimes = {"gpu"},
                                 .version = 3,
                                 .imports = {}}));
}

TEST(Containerd, WithoutAWordOnCardsSaysNothing) {
  for (const char* text : {"", "version = 2\n[plugins]\n", "[plugins.cri]\nenable_cdi = 'yes'\n",
                           "plugins = 3\n", "version = 1\nimports = 'x'\n"}) {
    const auto read = parse_containerd(text);
    ASSERT_TRUE(read) << text << read.error().message;
    EXPECT_FALSE(read->cdi) << text;
    EXPECT_TRUE(read->nvidia_runtimes.empty()) << text;
  }
}

TEST(Containerd, ThatCannotBeReadNamesTheLine) {
  const auto read = parse_containerd("version = 2\n[plugins\n");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().message.substr(0, 7), "line 2:");
  EXPECT_FALSE(parse_containerd("a = " + std::string(100'000, '[')));
}

TEST(Crio, NamesItsRuntimes) {
  const auto read = parse_crio(R"(
[crio.runtime]
default_runtime = "crun"
cdi_spec_dirs = ["/etc/cdi"]
[crio.runtime.runtimes.nvidia]
runtime_path = "/usr/bin/nvidia-container-runtime"
[crio.runtime.runtimes.crun]
runtime_path = "/usr/bin/crun"
)");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, (RuntimeConfig{.cdi = {},
                                  .cdi_folders = {{"/etc/cdi"}},
                                  .default_runtime = "crun",
                                  .nvidia_runtimes = {"nvidia"},
                                  .version = 0,
                                  .imports = {}}));
}

TEST(RuntimeConfigs, OfLaterFilesReplaceEarlierValues) {
  RuntimeConfig config{.cdi = true,
                       .cdi_folders = {{"/etc/cdi"}},
                       .default_runtime = "runc",
                       .nvidia_runtimes = {"nvidia"},
                       .version = 2,
                       .imports = {}};
  merge(config, {.cdi = false,
                 .cdi_folders = {},
                 .default_runtime = "nvidia",
                 .nvidia_runtimes = {"gpu", "nvidia"},
                 .version = 2,
                 .imports = {}});
  EXPECT_EQ(config.cdi, false);
  EXPECT_EQ(config.cdi_folders, (std::vector<std::string>{"/etc/cdi"}));
  EXPECT_EQ(config.default_runtime, "nvidia");
  EXPECT_EQ(config.nvidia_runtimes, (std::vector<std::string>{"gpu", "nvidia"}));
}

TEST(Toolkit, AcceptsTheVariableUnlessItSaysOtherwise) {
  EXPECT_TRUE(parse_toolkit("")->accepts_variable);
  EXPECT_TRUE(parse_toolkit("#accept-nvidia-visible-devices-envvar-when-unprivileged = false")
                  ->accepts_variable);
  EXPECT_FALSE(parse_toolkit("accept-nvidia-visible-devices-envvar-when-unprivileged = false\n"
                             "[nvidia-container-runtime]\nmode = 'auto'\n")
                   ->accepts_variable);
}

}  // namespace
}  // namespace stowage::doctor
