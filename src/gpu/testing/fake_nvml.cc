// A library with the functions of NVML and no driver, to test code that loads and calls NVML
// without a card. The environment variable STOWAGE_FAKE_NVML names a file with its answers, which
// is read again with each call:
//
//   driver 550.54.15
//   fail init 9                 the result of a function; before the first card: of all cards
//   card GPU-a                  begins a card
//   name NVIDIA H100 80GB HBM3
//   number 0                    minor
//   brand 14
//   mode 3                      of computing: 3 is EXCLUSIVE_PROCESS
//   pci 0 1b 0                  domain, bus and device, in hex
//   memory 81559 551 700        MiB in all, reserved, used
//   utilisation 37
//   power 123456
//   temperature 41
//   ecc 0
//   rows 0                      1: bad memory could not be replaced
//   recovery 0
//   process c 4711 500          c, g or m (compute, graphics, MPS), pid, MiB or -
//   link 0 switch               or: link 0 gpu 1 (the index of the card), link 0 down
//   near 1 40                   the path to the card with that index, as NVML counts
//   peer 1 5                    the two may not communicate over NVLink
//   events 108                  events that can be registered for, in hex
//   fail power 3                or: fail all 15, fail hardware 15 (all that needs the card itself)
//   mig MIG-a 7 0               begins an instance of the card: its id, GPU and compute instance
//   slices 1 1 9856             of GPU and compute, MiB
//   event 0 8 79                of a card, type in hex, data; two more numbers: the instances
//   gap                         instead of a mig: a free position
//
// Handles of an earlier session, or of none, abort the program: real ones may do that too.
// FAKE_NVML_OLD leaves out what drivers before 450 did not have.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>

#include "gpu/testing/fake_nvml_script.h"

namespace stowage::gpu::nvml {
namespace {

// ---- sessions and handles

std::uintptr_t session = 0;  // 0: not started
std::uintptr_t sessions = 0;
bool has_set = false;
[[maybe_unused]] std::size_t next_event = 0;
[[maybe_unused]] std::set<std::uint32_t> registered;

[[noreturn]] void misused(const char* what) {
  std::fprintf(stderr, "fake NVML: %s\n", what);
  std::abort();
}

Device handle_of(std::uint32_t card, std::uint32_t instance) {
  const std::uintptr_t bits = (session << 20U) | ((card + 1U) << 8U) | instance;
  return reinterpret_cast<Device>(bits);  // NOLINT(performance-no-int-to-ptr): never followed
}

// A card or an instance, by handle; `code` is the scripted result of this function.
struct Found {
  Script script;
  std::uint32_t card = 0;
  const Entry* entry = nullptr;
  Return code = kSuccess;
};

// "all" matches all functions except those that open a session; "hardware" matches those that a
// library cannot answer from its memory.
bool covers(const std::string& name, const std::string& function) {
  static const std::set<std::string> kOfSession = {"init", "count", "wait", "set"};
  static const std::set<std::string> kFromMemory = {"handle", "uuid", "name"};
  if (name == function) return true;
  if (kOfSession.contains(function)) return false;
  return name == "all" || (name == "hardware" && !kFromMemory.contains(function));
}

Return scripted(const Script& script, const Entry* entry, const std::string& function) {
  const std::map<std::string, Return> none;
  for (const auto* fails : {entry == nullptr ? &none : &entry->fails, &script.fails}) {
    for (const auto& [name, code] : *fails) {
      if (covers(name, function)) return code;
    }
  }
  return kSuccess;
}

Found find(Device device, const char* function) {
  Found found{.script = read_script()};
  if (session == 0) {
    found.code = kUninitialized;
    return found;
  }
  const auto bits = reinterpret_cast<std::uintptr_t>(device);
  if (bits >> 20U != session) misused("a handle of another session");
  found.card = static_cast<std::uint32_t>((bits >> 8U) & 0xFFFU) - 1;
  const auto instance = static_cast<std::uint32_t>(bits & 0xFFU);
  if (found.card >= found.script.cards.size()) {
    found.code = kGpuIsLost;
    return found;
  }
  found.entry = &found.script.cards[found.card];
  if (instance > 0) {
    if (instance > found.entry->instances.size() || found.entry->instances[instance - 1].gap) {
      found.code = kNotFound;
      return found;
    }
    // Scripted failures of the card apply to its instances as well.
    found.code = scripted(found.script, found.entry, function);
    found.entry = &found.entry->instances[instance - 1];
    if (found.code != kSuccess) return found;
  }
  found.code = scripted(found.script, found.entry, function);
  return found;
}

template <typename Value>
Return give(const Found& found, const std::optional<Value>& value, Value* out) {
  if (found.code != kSuccess) return found.code;
  if (out == nullptr) return kInvalidArgument;
  if (!value) return kNotSupported;
  *out = *value;
  return kSuccess;
}

Return give_text(Return code, const std::string& text, char* out, std::uint32_t size) {
  if (code != kSuccess) return code;
  if (text.size() + 1 > size) return kInsufficientSize;
  std::memcpy(out, text.c_str(), text.size() + 1);
  return kSuccess;
}

template <typename Out>
Return give_list(const Found& found, char list, std::uint32_t* count, Out* out) {
  if (found.code != kSuccess) return found.code;
  const auto known = found.entry->processes.find(list);
  const std::vector<Process> none;
  const std::vector<Process>& all = known == found.entry->processes.end() ? none : known->second;
  const std::uint32_t room = *count;
  *count = static_cast<std::uint32_t>(all.size());
  if (all.size() > room) return kInsufficientSize;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if constexpr (std::is_same_v<Out, Process>) {
      out[i] = all[i];
    } else {
      out[i] = {.pid = all[i].pid, .memory = all[i].memory};
    }
  }
  return kSuccess;
}

}  // namespace

// The names are the library's.
// NOLINTBEGIN(readability-identifier-naming)
#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT Return nvmlInit_v2() {
  const Return code = scripted(read_script(), nullptr, "init");
  if (code != kSuccess) return code;
  session = ++sessions;
  return kSuccess;
}

EXPORT Return nvmlShutdown() {
  if (session == 0) return kUninitialized;
  if (has_set) misused("a set of events was not freed");
  session = 0;
  return kSuccess;
}

EXPORT const char* nvmlErrorString(Return code) {
  return code == kGpuIsLost ? "GPU is lost" : "Some Error";
}
EXPORT Return nvmlSystemGetDriverVersion(char* out, std::uint32_t size) {
  return give_text(kSuccess, read_script().driver, out, size);
}
EXPORT Return nvmlSystemGetNVMLVersion(char* out, std::uint32_t size) {
  return give_text(kSuccess, "12." + read_script().driver, out, size);
}

EXPORT Return nvmlDeviceGetCount_v2(std::uint32_t* count) {
  if (session == 0) return kUninitialized;
  const Script script = read_script();
  *count = static_cast<std::uint32_t>(script.cards.size());
  return scripted(script, nullptr, "count");
}
EXPORT Return nvmlDeviceGetHandleByIndex_v2(std::uint32_t index, Device* out) {
  const Found found = find(handle_of(index, 0), "handle");
  if (found.entry == nullptr) return session == 0 ? kUninitialized : kInvalidArgument;
  *out = handle_of(index, 0);
  return found.code;
}
EXPORT Return nvmlDeviceGetUUID(Device device, char* out, std::uint32_t size) {
  const Found found = find(device, "uuid");
  return give_text(found.code, found.entry == nullptr ? "" : found.entry->id, out, size);
}
EXPORT Return nvmlDeviceGetName(Device device, char* out, std::uint32_t size) {
  const Found found = find(device, "name");
  return give_text(found.code, found.entry == nullptr ? "" : found.entry->name, out, size);
}
EXPORT Return nvmlDeviceGetBrand(Device device, std::uint32_t* out) {
  const Found found = find(device, "brand");
  return found.entry == nullptr ? found.code : give(found, found.entry->brand, out);
}
EXPORT Return nvmlDeviceGetComputeMode(Device device, std::uint32_t* out) {
  const Found found = find(device, "mode");
  return found.entry == nullptr ? found.code : give(found, found.entry->mode, out);
}
EXPORT Return nvmlDeviceGetMinorNumber(Device device, std::uint32_t* out) {
  const Found found = find(device, "number");
  return found.entry == nullptr ? found.code : give(found, found.entry->number, out);
}
EXPORT Return nvmlDeviceGetPciInfo_v3(Device device, PciInfo* out) {
  const Found found = find(device, "pci");
  return found.entry == nullptr ? found.code : give(found, found.entry->pci, out);
}
EXPORT Return nvmlDeviceGetMemoryInfo(Device device, Memory* out) {
  const Found found = find(device, "memory");
  if (found.code != kSuccess) return found.code;
  if (!found.entry->memory) return kNotSupported;
  const MemoryV2& m = *found.entry->memory;
  *out = {.total = m.total, .free = m.free, .used = m.used + m.reserved};
  return kSuccess;
}
EXPORT Return nvmlDeviceGetUtilizationRates(Device device, Utilisation* out) {
  const Found found = find(device, "utilisation");
  if (found.code != kSuccess) return found.code;
  if (!found.entry->utilisation) return kNotSupported;
  *out = {.gpu = *found.entry->utilisation};
  return kSuccess;
}
EXPORT Return nvmlDeviceGetPowerUsage(Device device, std::uint32_t* out) {
  const Found found = find(device, "power");
  return found.entry == nullptr ? found.code : give(found, found.entry->power, out);
}
EXPORT Return nvmlDeviceGetTemperature(Device device, std::uint32_t, std::uint32_t* out) {
  const Found found = find(device, "temperature");
  return found.entry == nullptr ? found.code : give(found, found.entry->temperature, out);
}
EXPORT Return nvmlDeviceGetTotalEccErrors(Device device, std::uint32_t type, std::uint32_t counter,
                                          std::uint64_t* out) {
  const Found found = find(device, "ecc");
  if (type != kErrorUncorrected || counter != kCounterVolatile) misused("another counter");
  return found.entry == nullptr ? found.code : give(found, found.entry->ecc, out);
}
EXPORT Return nvmlDeviceGetTopologyCommonAncestor(Device a, Device b, std::uint32_t* out) {
  const Found found = find(a, "topology");
  const Found other = find(b, "topology");
  if (found.code != kSuccess) return found.code;
  const auto level = found.entry->near.find(other.card);
  const bool known = level != found.entry->near.end();
  return give(found, known ? std::optional(level->second) : std::nullopt, out);
}
EXPORT Return nvmlDeviceGetNvLinkState(Device device, std::uint32_t link, std::uint32_t* out) {
  const Found found = find(device, "link");
  if (found.code != kSuccess) return found.code;
  const auto known = found.entry->links.find(link);
  if (known == found.entry->links.end()) return kNotSupported;
  *out = known->second == -2 ? 0U : kEnabled;
  return kSuccess;
}
EXPORT Return nvmlDeviceGetNvLinkRemotePciInfo_v2(Device device, std::uint32_t link, PciInfo* out) {
  const Found found = find(device, "remote");
  if (found.code != kSuccess) return found.code;
  const int to = found.entry->links.at(link);
  if (to == -1) {
    *out = {.domain = 0, .bus = 0xC0, .device = link, .device_id = 0x22A310DE};
    return kSuccess;
  }
  return give(found, found.script.cards.at(static_cast<std::size_t>(to)).pci, out);
}
EXPORT Return nvmlDeviceGetComputeRunningProcesses(Device device, std::uint32_t* count,
                                                   ProcessV1* out) {
  return give_list(find(device, "processes"), 'c', count, out);
}
EXPORT Return nvmlDeviceGetGraphicsRunningProcesses(Device device, std::uint32_t* count,
                                                    ProcessV1* out) {
  return give_list(find(device, "processes"), 'g', count, out);
}

#ifndef FAKE_NVML_OLD
EXPORT Return nvmlDeviceGetMemoryInfo_v2(Device device, MemoryV2* out) {
  const Found found = find(device, "memory");
  if (out->version != kMemoryV2) misused("a structure without its version");
  return found.entry == nullptr ? found.code : give(found, found.entry->memory, out);
}
EXPORT Return nvmlDeviceGetTemperatureV(Device device, Temperature* out) {
  const Found found = find(device, "temperature");
  if (out->version != kTemperatureV1) misused("a structure without its version");
  std::uint32_t celsius = 0;
  const Return code =
      found.entry == nullptr ? found.code : give(found, found.entry->temperature, &celsius);
  out->celsius = static_cast<std::int32_t>(celsius);
  return code;
}
EXPORT Return nvmlDeviceGetComputeRunningProcesses_v3(Device device, std::uint32_t* count,
                                                      Process* out) {
  return give_list(find(device, "processes"), 'c', count, out);
}
EXPORT Return nvmlDeviceGetGraphicsRunningProcesses_v3(Device device, std::uint32_t* count,
                                                       Process* out) {
  return give_list(find(device, "processes"), 'g', count, out);
}
EXPORT Return nvmlDeviceGetMPSComputeRunningProcesses_v3(Device device, std::uint32_t* count,
                                                         Process* out) {
  return give_list(find(device, "processes"), 'm', count, out);
}
EXPORT Return nvmlDeviceGetMigMode(Device device, std::uint32_t* current, std::uint32_t* pending) {
  const Found found = find(device, "mig");
  if (found.code != kSuccess) return found.code;
  *current = found.entry->divided ? kEnabled : 0U;
  *pending = *current;
  return kSuccess;
}
EXPORT Return nvmlDeviceGetMaxMigDeviceCount(Device device, std::uint32_t* out) {
  *out = 7;
  return find(device, "mig").code;
}
EXPORT Return nvmlDeviceGetMigDeviceHandleByIndex(Device device, std::uint32_t index, Device* out) {
  const Found found = find(device, "mig");
  if (found.code != kSuccess) return found.code;
  const auto& instances = found.entry->instances;
  if (index >= instances.size() || instances[index].gap) return kNotFound;
  *out = handle_of(found.card, index + 1);
  return kSuccess;
}
EXPORT Return nvmlDeviceGetGpuInstanceId(Device device, std::uint32_t* out) {
  const Found found = find(device, "mig");
  if (found.entry != nullptr) *out = found.entry->gpu_instance;
  return found.code;
}
EXPORT Return nvmlDeviceGetComputeInstanceId(Device device, std::uint32_t* out) {
  const Found found = find(device, "mig");
  if (found.entry != nullptr) *out = found.entry->compute_instance;
  return found.code;
}
EXPORT Return nvmlDeviceGetAttributes_v2(Device device, Attributes* out) {
  const Found found = find(device, "slices");
  return found.entry == nullptr ? found.code : give(found, found.entry->slices, out);
}
EXPORT Return nvmlDeviceGetNvLinkRemoteDeviceType(Device device, std::uint32_t link,
                                                  std::uint32_t* out) {
  const Found found = find(device, "remote_type");
  if (found.code != kSuccess) return found.code;
  *out = found.entry->links.at(link) == -1 ? kRemoteSwitch : kRemoteGpu;
  return kSuccess;
}
EXPORT Return nvmlDeviceGetP2PStatus(Device a, Device b, std::uint32_t caps, std::uint32_t* out) {
  const Found found = find(a, "peer");
  const Found other = find(b, "peer");
  if (caps != kPeerNvlink) misused("another ability of peers");
  if (found.code != kSuccess) return found.code;
  const auto status = found.entry->peer.find(other.card);
  *out = status == found.entry->peer.end() ? kPeerOk : status->second;
  return kSuccess;
}
EXPORT Return nvmlDeviceGetRemappedRows(Device device, std::uint32_t* corrected,
                                        std::uint32_t* uncorrected, std::uint32_t* pending,
                                        std::uint32_t* failed) {
  const Found found = find(device, "rows");
  *corrected = *uncorrected = *pending = 0;
  return found.entry == nullptr ? found.code : give(found, found.entry->rows, failed);
}
EXPORT Return nvmlDeviceGetFieldValues(Device device, std::int32_t count, FieldValue* values) {
  const Found found = find(device, "fields");
  if (found.code != kSuccess) return found.code;
  for (std::int32_t i = 0; i < count; ++i) {
    const bool known = values[i].field == kFieldRecoveryAction && found.entry->recovery;
    values[i].result = known ? kSuccess : kNotSupported;
    values[i].type = kValueUnsigned;
    if (known) std::memcpy(values[i].value.data(), &*found.entry->recovery, 4);
  }
  return kSuccess;
}

EXPORT Return nvmlEventSetCreate(EventSet* out) {
  const Return code = scripted(read_script(), nullptr, "set");
  if (code != kSuccess) return code;
  if (has_set) misused("a second set of events");
  has_set = true;
  registered.clear();
  *out = reinterpret_cast<EventSet>(session);  // NOLINT(performance-no-int-to-ptr)
  return kSuccess;
}
EXPORT Return nvmlEventSetFree(EventSet set) {
  if (!has_set || reinterpret_cast<std::uintptr_t>(set) != session) misused("no such set");
  has_set = false;
  return kSuccess;
}
EXPORT Return nvmlDeviceGetSupportedEventTypes(Device device, std::uint64_t* out) {
  const Found found = find(device, "events");
  return found.entry == nullptr ? found.code : give(found, found.entry->events, out);
}
EXPORT Return nvmlDeviceRegisterEvents(Device device, std::uint64_t types, EventSet) {
  const Found found = find(device, "register");
  if (found.code != kSuccess) return found.code;
  if ((types & ~found.entry->events.value_or(0)) != 0) return kNotSupported;
  // Earlier events are not reported.
  if (registered.empty()) next_event = found.script.events.size();
  registered.insert(found.card);
  return kSuccess;
}
EXPORT Return nvmlEventSetWait_v2(EventSet, Event* out, std::uint32_t) {
  const Script script = read_script();
  const Return code = scripted(script, nullptr, "wait");
  if (code != kSuccess) return code;
  while (next_event < script.events.size()) {
    const Told& told = script.events[next_event++];
    if (!registered.contains(told.card)) continue;
    *out = told.event;
    out->device = handle_of(told.card, 0);
    return kSuccess;
  }
  return kTimeout;
}
#endif
// NOLINTEND(readability-identifier-naming)

}  // namespace stowage::gpu::nvml
