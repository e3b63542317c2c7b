#include "gpu/testing/nvml_script.h"

namespace stowage::gpu::testing {

const char* const kFakeNvml = STOWAGE_FAKE_NVML_NEW;
const char* const kOldFakeNvml = STOWAGE_FAKE_NVML_OLD;

}  // namespace stowage::gpu::testing
