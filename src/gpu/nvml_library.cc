#include "gpu/nvml_library.h"

#include <cstring>
#include <dlfcn.h>

#include <fmt/format.h>

namespace stowage::gpu::nvml {
namespace {

constexpr std::size_t kMostWords = 128;

template <typename Function>
void find(void* handle, Function& function, const char* name) {
  // The only conversion from dlsym()'s pointer to a function without compiler warnings.
  void* const symbol = ::dlsym(handle, name);
  static_assert(sizeof(symbol) == sizeof(function));
  std::memcpy(&function, &symbol, sizeof(function));
}

template <typename Function>
void find(void* handle, Function& function, const char* name, const char* older) {
  find(handle, function, name);
  if (function == nullptr) find(handle, function, older);
}

}  // namespace

std::string clean_text(const char* buffer, std::size_t size) {
  std::string text(buffer, ::strnlen(buffer, size));
  for (char& c : text) {
    if (c < ' ' || c > '~') c = '?';
  }
  return text;
}

Result<std::unique_ptr<Library>> Library::load(const std::string& path) {
  // Not RTLD_GLOBAL: its symbols must not affect ours.
  void* const handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* const why = ::dlerror();
    return fail(fmt::format(
        "cannot load NVML: {}; install the NVIDIA driver, or name the cards with --cards "
        "fake:FILE",
        why == nullptr ? path : why));
  }
  std::unique_ptr<Library> library(new Library(handle));
  library->find_all();
  const bool whole = library->init != nullptr && library->shutdown != nullptr &&
                     library->count != nullptr && library->by_index != nullptr &&
                     library->uuid != nullptr;
  if (!whole) return fail(fmt::format("{} is not NVML: it lacks the functions of NVML", path));
  return library;
}

Library::~Library() { ::dlclose(handle_); }

void Library::find_all() {
  find(handle_, init, "nvmlInit_v2");
  find(handle_, shutdown, "nvmlShutdown");
  find(handle_, error_string, "nvmlErrorString");
  find(handle_, driver_version, "nvmlSystemGetDriverVersion");
  find(handle_, nvml_version, "nvmlSystemGetNVMLVersion");

  find(handle_, count, "nvmlDeviceGetCount_v2");
  find(handle_, by_index, "nvmlDeviceGetHandleByIndex_v2");
  find(handle_, uuid, "nvmlDeviceGetUUID");
  find(handle_, name, "nvmlDeviceGetName");
  find(handle_, brand, "nvmlDeviceGetBrand");
  find(handle_, minor, "nvmlDeviceGetMinorNumber");
  find(handle_, pci, "nvmlDeviceGetPciInfo_v3");
  find(handle_, compute_mode, "nvmlDeviceGetComputeMode");
  find(handle_, memory, "nvmlDeviceGetMemoryInfo");
  find(handle_, memory_v2, "nvmlDeviceGetMemoryInfo_v2");

  find(handle_, mig_mode, "nvmlDeviceGetMigMode");
  find(handle_, mig_most, "nvmlDeviceGetMaxMigDeviceCount");
  find(handle_, mig_by_index, "nvmlDeviceGetMigDeviceHandleByIndex");
  find(handle_, gpu_instance, "nvmlDeviceGetGpuInstanceId");
  find(handle_, compute_instance, "nvmlDeviceGetComputeInstanceId");
  find(handle_, attributes, "nvmlDeviceGetAttributes_v2");

  find(handle_, topology, "nvmlDeviceGetTopologyCommonAncestor");
  find(handle_, link_state, "nvmlDeviceGetNvLinkState");
  find(handle_, link_remote, "nvmlDeviceGetNvLinkRemotePciInfo_v2");
  find(handle_, link_remote_type, "nvmlDeviceGetNvLinkRemoteDeviceType");
  find(handle_, peer_status, "nvmlDeviceGetP2PStatus");

  find(handle_, utilisation, "nvmlDeviceGetUtilizationRates");
  find(handle_, power, "nvmlDeviceGetPowerUsage");
  find(handle_, temperature, "nvmlDeviceGetTemperatureV");
  find(handle_, temperature_plain, "nvmlDeviceGetTemperature");
  find(handle_, ecc_total, "nvmlDeviceGetTotalEccErrors");
  find(handle_, remapped_rows, "nvmlDeviceGetRemappedRows");
  find(handle_, fields, "nvmlDeviceGetFieldValues");
  // The third versions differ from the second in behaviour, not in structure.
  find(handle_, compute_processes, "nvmlDeviceGetComputeRunningProcesses_v3",
       "nvmlDeviceGetComputeRunningProcesses_v2");
  find(handle_, graphics_processes, "nvmlDeviceGetGraphicsRunningProcesses_v3",
       "nvmlDeviceGetGraphicsRunningProcesses_v2");
  find(handle_, mps_processes, "nvmlDeviceGetMPSComputeRunningProcesses_v3",
       "nvmlDeviceGetMPSComputeRunningProcesses_v2");
  find(handle_, compute_processes_v1, "nvmlDeviceGetComputeRunningProcesses");
  find(handle_, graphics_processes_v1, "nvmlDeviceGetGraphicsRunningProcesses");

  find(handle_, event_set_create, "nvmlEventSetCreate");
  find(handle_, event_set_free, "nvmlEventSetFree");
  find(handle_, event_types, "nvmlDeviceGetSupportedEventTypes");
  find(handle_, event_register, "nvmlDeviceRegisterEvents");
  find(handle_, event_wait, "nvmlEventSetWait_v2");
}

std::string Library::words(Return code) const {
  const char* const text = error_string == nullptr ? nullptr : error_string(code);
  if (text == nullptr) return fmt::format("NVML error {}", code);
  return fmt::format("{} (NVML error {})", clean_text(text, kMostWords), code);
}

}  // namespace stowage::gpu::nvml
