#include "mps/client_limits.h"

#include <algorithm>

#include <fmt/format.h>

namespace stowage::mps {
namespace {

// Not /tmp/nvidia-mps, which NVIDIA's own specification mounts where it exists.
constexpr const char* kInContainer = "/run/stowage/mps";

}  // namespace

ClientSettings client_settings(const CardFolder& folder, const Share& share) {
  ClientSettings settings{.env = {fmt::format("CUDA_MPS_PIPE_DIRECTORY={}", kInContainer)},
                          .host_path = folder.pipe(),
                          .container_path = kInContainer};
  if (share.milli > 0) {
    // Rounded up: half a percent less would be less than was asked for.
    const std::int32_t percent = std::clamp((share.milli + 9) / 10, 1, 100);
    settings.env.push_back(fmt::format("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE={}", percent));
  }
  if (share.memory_mib > 0) {
    settings.env.push_back(fmt::format("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0={}M", share.memory_mib));
  }
  return settings;
}

}  // namespace stowage::mps
