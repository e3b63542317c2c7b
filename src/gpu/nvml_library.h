// NVML, loaded on demand: a machine without cards does not have it, and we run there too.
//
// Not thread-safe: one thread loads, calls and unloads it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>

#include "base/result.h"
#include "gpu/nvml_api.h"

namespace stowage::gpu::nvml {

// A table of function pointers, one for each function of NVML that is used. Null if the driver is
// too old or too new to have the function; call() then reports that.
struct Functions {
  Return (*init)() = nullptr;
  Return (*shutdown)() = nullptr;
  const char* (*error_string)(Return) = nullptr;
  Return (*driver_version)(char*, std::uint32_t) = nullptr;
  Return (*nvml_version)(char*, std::uint32_t) = nullptr;

  Return (*count)(std::uint32_t*) = nullptr;
  Return (*by_index)(std::uint32_t, Device*) = nullptr;
  Return (*uuid)(Device, char*, std::uint32_t) = nullptr;
  Return (*name)(Device, char*, std::uint32_t) = nullptr;
  Return (*brand)(Device, std::uint32_t*) = nullptr;
  Return (*minor)(Device, std::uint32_t*) = nullptr;
  Return (*compute_mode)(Device, std::uint32_t*) = nullptr;
  Return (*pci)(Device, PciInfo*) = nullptr;
  Return (*memory)(Device, Memory*) = nullptr;
  Return (*memory_v2)(Device, MemoryV2*) = nullptr;

  Return (*mig_mode)(Device, std::uint32_t* current, std::uint32_t* pending) = nullptr;
  Return (*mig_most)(Device, std::uint32_t*) = nullptr;
  Return (*mig_by_index)(Device, std::uint32_t, Device*) = nullptr;
  Return (*gpu_instance)(Device, std::uint32_t*) = nullptr;
  Return (*compute_instance)(Device, std::uint32_t*) = nullptr;
  Return (*attributes)(Device, Attributes*) = nullptr;

  Return (*topology)(Device, Device, std::uint32_t*) = nullptr;
  Return (*link_state)(Device, std::uint32_t, std::uint32_t*) = nullptr;
  Return (*link_remote)(Device, std::uint32_t, PciInfo*) = nullptr;
  Return (*link_remote_type)(Device, std::uint32_t, std::uint32_t*) = nullptr;
  Return (*peer_status)(Device, Device, std::uint32_t, std::uint32_t*) = nullptr;

  Return (*utilisation)(Device, Utilisation*) = nullptr;
  Return (*power)(Device, std::uint32_t*) = nullptr;
  Return (*temperature)(Device, Temperature*) = nullptr;
  Return (*temperature_plain)(Device, std::uint32_t, std::uint32_t*) = nullptr;
  Return (*ecc_total)(Device, std::uint32_t, std::uint32_t, std::uint64_t*) = nullptr;
  Return (*remapped_rows)(Device, std::uint32_t*, std::uint32_t*, std::uint32_t*,
                          std::uint32_t*) = nullptr;
  Return (*fields)(Device, std::int32_t, FieldValue*) = nullptr;
  Return (*compute_processes)(Device, std::uint32_t*, Process*) = nullptr;
  Return (*graphics_processes)(Device, std::uint32_t*, Process*) = nullptr;
  Return (*mps_processes)(Device, std::uint32_t*, Process*) = nullptr;
  Return (*compute_processes_v1)(Device, std::uint32_t*, ProcessV1*) = nullptr;
  Return (*graphics_processes_v1)(Device, std::uint32_t*, ProcessV1*) = nullptr;

  Return (*event_set_create)(EventSet*) = nullptr;
  Return (*event_set_free)(EventSet) = nullptr;
  Return (*event_types)(Device, std::uint64_t*) = nullptr;
  Return (*event_register)(Device, std::uint64_t, EventSet) = nullptr;
  Return (*event_wait)(EventSet, Event*, std::uint32_t) = nullptr;
};

// The functions of a library that stays loaded as long as this object lives.
class Library : public Functions {
 public:
  // `path` as for dlopen(): a plain name is searched in the system's library paths. Fails if there
  // is none, or if it lacks functions that all versions have.
  [[nodiscard]] static Result<std::unique_ptr<Library>> load(const std::string& path);
  ~Library();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  // "GPU is lost (NVML error 15)"
  [[nodiscard]] std::string words(Return code) const;

 private:
  explicit Library(void* handle) : handle_(handle) {}
  void find_all();

  void* handle_ = nullptr;
};

template <typename... Parameters>
[[nodiscard]] Return call(Return (*function)(Parameters...),
                          std::type_identity_t<Parameters>... arguments) {
  return function == nullptr ? kFunctionNotFound : function(arguments...);
}

// Text from a driver's buffer: up to its terminator, printable characters only.
[[nodiscard]] std::string clean_text(const char* buffer, std::size_t size);

}  // namespace stowage::gpu::nvml
