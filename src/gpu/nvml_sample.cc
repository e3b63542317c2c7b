#include "gpu/nvml_sample.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

namespace stowage::gpu {
namespace {

using nvml::Device;
using nvml::Library;
using nvml::Return;

constexpr std::uint64_t kMib = std::uint64_t{1} << 20U;
constexpr std::uint32_t kFirstProcesses = 64;
constexpr std::uint32_t kMostProcesses = 8192;
constexpr int kProcessTries = 4;  // more may start between the two calls
// Values outside of these limits are errors of a sensor or driver, and are ignored.
constexpr std::int32_t kLeastCelsius = -60;
constexpr std::int32_t kMostCelsius = 200;
constexpr std::uint32_t kMostMilliwatts = 100'000'000;
constexpr std::uint32_t kMostPercent = 100;

std::int64_t to_mib(std::uint64_t bytes) { return static_cast<std::int64_t>(bytes / kMib); }

std::optional<std::int64_t> read_used(const Library& nvml, Device device, Answers& answers) {
  nvml::MemoryV2 exact{.version = nvml::kMemoryV2};
  if (answers.good(nvml::call(nvml.memory_v2, device, &exact))) return to_mib(exact.used);
  nvml::Memory memory;
  if (!answers.good(nvml::call(nvml.memory, device, &memory))) return std::nullopt;
  return to_mib(memory.used);
}

using ByPid = std::map<std::uint32_t, std::optional<std::int64_t>>;

// One list of the driver; false if it is not available.
template <typename Entry>
bool read_list(Return (*function)(Device, std::uint32_t*, Entry*), Device device, Answers& answers,
               ByPid& processes) {
  std::vector<Entry> entries(kFirstProcesses);
  for (int attempt = 0; attempt < kProcessTries; ++attempt) {
    auto count = static_cast<std::uint32_t>(entries.size());
    const Return code = nvml::call(function, device, &count, entries.data());
    if (code == nvml::kInsufficientSize && count < kMostProcesses) {
      entries.resize(std::max<std::size_t>(count, entries.size()) * 2);
      continue;
    }
    if (!answers.good(code)) return false;
    entries.resize(std::min<std::size_t>(count, entries.size()));
    for (const Entry& entry : entries) {
      // A program that computes and draws is in two lists, each with its total.
      auto& memory = processes[entry.pid];
      if (entry.memory == nvml::kNotAvailable) continue;
      memory = std::max(memory.value_or(0), to_mib(entry.memory));
    }
    return true;
  }
  return false;
}

std::optional<std::vector<Process>> read_processes(const Library& nvml, Device device,
                                                   Answers& answers) {
  ByPid found;
  bool known = false;
  if (nvml.compute_processes != nullptr) {
    known = read_list(nvml.compute_processes, device, answers, found);
    (void)read_list(nvml.graphics_processes, device, answers, found);
    (void)read_list(nvml.mps_processes, device, answers, found);
  } else {
    known = read_list(nvml.compute_processes_v1, device, answers, found);
    (void)read_list(nvml.graphics_processes_v1, device, answers, found);
  }
  if (!known) return std::nullopt;
  std::vector<Process> processes;
  for (const auto& [pid, memory] : found) processes.push_back({pid, memory});
  return processes;
}

// The simple function is older and deprecated.
std::optional<std::int32_t> read_celsius(const Library& nvml, Device device, Answers& answers) {
  nvml::Temperature exact{.version = nvml::kTemperatureV1, .sensor = nvml::kTemperatureGpu};
  if (answers.good(nvml::call(nvml.temperature, device, &exact))) return exact.celsius;
  std::uint32_t celsius = 0;
  if (!answers.good(nvml::call(nvml.temperature_plain, device, nvml::kTemperatureGpu, &celsius))) {
    return std::nullopt;
  }
  return static_cast<std::int32_t>(celsius);
}

// The sensors of a card, which instances do not have.
void read_sensors(const Library& nvml, Device device, Answers& answers, CardSample& sample) {
  nvml::Utilisation busy;
  if (answers.good(nvml::call(nvml.utilisation, device, &busy)) && busy.gpu <= kMostPercent) {
    sample.utilisation_permille = static_cast<std::int32_t>(busy.gpu * 10);
  }
  std::uint32_t value = 0;
  if (answers.good(nvml::call(nvml.power, device, &value)) && value <= kMostMilliwatts) {
    sample.power_mw = value;
  }
  const auto celsius = read_celsius(nvml, device, answers);
  if (celsius && *celsius >= kLeastCelsius && *celsius <= kMostCelsius) {
    sample.temperature_c = celsius;
  }
}

// The driver's recommended action for the card (since 565). Unset: not reported.
std::optional<bool> read_needs_reset(const Library& nvml, Device device, Answers& answers) {
  nvml::FieldValue field{.field = nvml::kFieldRecoveryAction};
  if (!answers.good(nvml::call(nvml.fields, device, 1, &field))) return std::nullopt;
  if (field.result != nvml::kSuccess || field.type != nvml::kValueUnsigned) return std::nullopt;
  std::uint32_t action = 0;
  std::memcpy(&action, field.value.data(), sizeof(action));
  return action != nvml::kRecoveryNone && action != nvml::kRecoveryDrainPeers &&
         action != nvml::kRecoveryDomain;
}

// Of the card as a whole, even if it is divided.
void read_errors(const Library& nvml, Device device, Answers& answers, CardSample& sample) {
  std::uint64_t errors = 0;
  if (answers.good(nvml::call(nvml.ecc_total, device, nvml::kErrorUncorrected,
                              nvml::kCounterVolatile, &errors))) {
    sample.ecc_uncorrected = errors;
  }
  std::uint32_t corrected = 0;
  std::uint32_t uncorrected = 0;
  std::uint32_t pending = 0;
  std::uint32_t failed = 0;
  if (answers.good(
          nvml::call(nvml.remapped_rows, device, &corrected, &uncorrected, &pending, &failed))) {
    sample.row_remap_failed = failed != 0;
  }
  sample.needs_reset = read_needs_reset(nvml, device, answers);
}

}  // namespace

BoardSample read_sample(const Library& nvml, const Board& board) {
  BoardSample result;
  CardSample whole;
  read_errors(nvml, board.device, result.answers, whole);
  for (const Unit& unit : board.units) {
    CardSample sample = whole;
    sample.id = unit.card.id;
    Answers answers;
    if (!board.divided) read_sensors(nvml, unit.device, answers, sample);
    sample.memory_used_mib = read_used(nvml, unit.device, answers);
    sample.processes = read_processes(nvml, unit.device, answers);
    if (!board.divided || answers.ending() != nvml::kSuccess) {
      result.answers.add(answers);
    } else if (answers.lost()) {
      result.instance_gone = true;  // destroyed since the last inventory
      continue;
    }
    result.units.push_back(std::move(sample));
  }
  if (result.answers.reset_required()) {
    for (CardSample& sample : result.units) sample.needs_reset = true;
  }
  return result;
}

}  // namespace stowage::gpu
