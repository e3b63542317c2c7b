#include "mps/client_limits.h"

#include <gtest/gtest.h>

namespace stowage::mps {
namespace {

TEST(ClientSettings, LimitWhatTheShareHas) {
  const std::string pipe = "CUDA_MPS_PIPE_DIRECTORY=/run/stowage/mps";
  const struct {
    Share share;
    std::vector<std::string> env;
  } rows[] = {
      {{.milli = 250, .memory_mib = 3072},
       {pipe, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=25", "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=3072M"}},
      {{.milli = 251}, {pipe, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=26"}},
      {{.milli = 1}, {pipe, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=1"}},
      {{.milli = 1000}, {pipe, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=100"}},
      {{.memory_mib = 1}, {pipe, "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=1M"}},
      {{}, {pipe}},
  };
  for (const auto& row : rows) {
    const ClientSettings settings = client_settings({.path = "/run/stowage/mps/GPU-a"}, row.share);
    EXPECT_EQ(settings.env, row.env);
    EXPECT_EQ(settings.host_path, "/run/stowage/mps/GPU-a/pipe");
    EXPECT_EQ(settings.container_path, "/run/stowage/mps");
  }
}

}  // namespace
}  // namespace stowage::mps
