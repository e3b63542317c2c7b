// The part of NVML's binary interface that we use, declared from its documentation (NVIDIA, "NVML
// API Reference"). The library comes with the driver of the machine: we neither build with its
// header nor link to it. Names are ours; layouts and numbers are the library's, which are stable:
// changed ones get another name (_v2, _v3).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace stowage::gpu::nvml {

using Return = int;
inline constexpr Return kSuccess = 0;
inline constexpr Return kUninitialized = 1;
inline constexpr Return kInvalidArgument = 2;
inline constexpr Return kNotSupported = 3;
inline constexpr Return kNoPermission = 4;
inline constexpr Return kNotFound = 6;
inline constexpr Return kInsufficientSize = 7;
inline constexpr Return kDriverNotLoaded = 9;
inline constexpr Return kTimeout = 10;
inline constexpr Return kFunctionNotFound = 13;
inline constexpr Return kGpuIsLost = 15;
inline constexpr Return kResetRequired = 16;
inline constexpr Return kVersionMismatch = 18;  // the versions of library and kernel driver differ
inline constexpr Return kNoData = 21;
inline constexpr Return kGpuNotFound = 28;
inline constexpr Return kUnknown = 999;

struct DeviceStruct;
struct EventSetStruct;
using Device = DeviceStruct*;
using EventSet = EventSetStruct*;

inline constexpr std::size_t kNameBytes = 96;
inline constexpr std::size_t kUuidBytes = 96;
inline constexpr std::size_t kVersionBytes = 80;

struct PciInfo {
  std::array<char, 16> legacy_id{};
  std::uint32_t domain = 0;
  std::uint32_t bus = 0;
  std::uint32_t device = 0;
  std::uint32_t device_id = 0;  // the vendor in the lower half
  std::uint32_t subsystem_id = 0;
  std::array<char, 32> id{};
};
static_assert(sizeof(PciInfo) == 68 && offsetof(PciInfo, id) == 36);
inline constexpr std::uint32_t kVendorMask = 0xFFFF;
inline constexpr std::uint32_t kVendorNvidia = 0x10DE;

struct Memory {
  std::uint64_t total = 0;
  std::uint64_t free = 0;
  std::uint64_t used = 0;  // includes what the driver reserves
};
static_assert(sizeof(Memory) == 24);

struct MemoryV2 {
  std::uint32_t version = 0;
  std::uint64_t total = 0;
  std::uint64_t reserved = 0;
  std::uint64_t free = 0;
  std::uint64_t used = 0;
};
static_assert(sizeof(MemoryV2) == 40 && offsetof(MemoryV2, total) == 8);
// Structures that may grow begin with their own size and version.
inline constexpr std::uint32_t kMemoryV2 = sizeof(MemoryV2) | (2U << 24U);

struct Utilisation {
  std::uint32_t gpu = 0;  // percent
  std::uint32_t memory = 0;
};

struct Temperature {
  std::uint32_t version = 0;
  std::uint32_t sensor = 0;
  std::int32_t celsius = 0;
};
static_assert(sizeof(Temperature) == 12);
inline constexpr std::uint32_t kTemperatureV1 = sizeof(Temperature) | (1U << 24U);

struct ProcessV1 {
  std::uint32_t pid = 0;
  std::uint64_t memory = 0;
};
static_assert(sizeof(ProcessV1) == 16 && offsetof(ProcessV1, memory) == 8);

struct Process {
  std::uint32_t pid = 0;
  std::uint64_t memory = 0;  // kNotAvailable: not reported
  std::uint32_t gpu_instance = 0;
  std::uint32_t compute_instance = 0;
};
static_assert(sizeof(Process) == 24 && offsetof(Process, gpu_instance) == 16);
inline constexpr std::uint64_t kNotAvailable = ~std::uint64_t{0};

struct Attributes {
  std::uint32_t multiprocessors = 0;
  std::uint32_t copy_engines = 0;
  std::uint32_t decoders = 0;
  std::uint32_t encoders = 0;
  std::uint32_t jpeg_engines = 0;
  std::uint32_t optical_flow_engines = 0;
  std::uint32_t gpu_slices = 0;
  std::uint32_t compute_slices = 0;
  std::uint64_t memory_mib = 0;
};
static_assert(sizeof(Attributes) == 40 && offsetof(Attributes, memory_mib) == 32);

struct Event {
  Device device = nullptr;
  std::uint64_t type = 0;
  std::uint64_t data = 0;  // the number of an XID
  std::uint32_t gpu_instance = 0;
  std::uint32_t compute_instance = 0;
};
static_assert(sizeof(Event) == 32 && offsetof(Event, gpu_instance) == 24);
inline constexpr std::uint64_t kEventXid = 0x8;
inline constexpr std::uint64_t kEventMigChange = 0x100;
inline constexpr std::uint32_t kNoInstance = 0xFFFFFFFF;

struct FieldValue {
  std::uint32_t field = 0;
  std::uint32_t scope = 0;
  std::int64_t timestamp = 0;
  std::int64_t latency_us = 0;
  std::int32_t type = 0;
  Return result = kSuccess;
  // A union in the library, in native byte order, as wide as `type` says.
  std::array<std::byte, 8> value{};
};
static_assert(sizeof(FieldValue) == 40 && offsetof(FieldValue, value) == 32);
inline constexpr std::uint32_t kFieldRecoveryAction = 230;
inline constexpr std::int32_t kValueUnsigned = 1;  // 32 bits of `value`
inline constexpr std::uint32_t kRecoveryNone = 0;
// Two that are not resets: programs that use several cards together have to end, or several
// machines have to reconnect. All others are some kind of reset, or a reboot.
inline constexpr std::uint32_t kRecoveryDrainPeers = 3;
inline constexpr std::uint32_t kRecoveryDomain = 5;

inline constexpr std::uint32_t kExclusiveProcess = 3;  // compute mode
inline constexpr std::uint32_t kEnabled = 1;           // of features, links, MIG mode
inline constexpr std::uint32_t kTemperatureGpu = 0;
inline constexpr std::uint32_t kErrorUncorrected = 1;
inline constexpr std::uint32_t kCounterVolatile = 0;

// The most that any card has; a card refuses requests beyond its own number.
inline constexpr std::uint32_t kMaxLinks = 36;
inline constexpr std::uint32_t kRemoteGpu = 0;
inline constexpr std::uint32_t kRemoteSwitch = 2;
inline constexpr std::uint32_t kRemoteUnknown = 255;

// The distance between two cards: what the path between them crosses.
inline constexpr std::uint32_t kTopologyInternal = 0;
inline constexpr std::uint32_t kTopologySingle = 10;
inline constexpr std::uint32_t kTopologyMultiple = 20;
inline constexpr std::uint32_t kTopologyHostBridge = 30;
inline constexpr std::uint32_t kTopologyNode = 40;
inline constexpr std::uint32_t kTopologySystem = 50;

inline constexpr std::uint32_t kPeerNvlink = 2;
inline constexpr std::uint32_t kPeerOk = 0;
inline constexpr std::uint32_t kPeerUnknown = 6;

}  // namespace stowage::gpu::nvml
