// The cards of this machine: which ones exist, their state, and their faults.
//
// One thread calls a source, and every call may block as long as the driver does. A call that hangs
// in a driver cannot be cancelled, not even by closing its files: the thread stays in the kernel.
// So the owner of a source gives it its own thread, records when each call returned, and lets
// another thread watch that heartbeat. Cards without news for some rounds count as lost, and the
// process must be able to exit without joining that thread.
//
// A source never fails permanently. While the driver is unavailable, every call reports it and
// tries again; the cards that the machine had are reported as lost.
//
// Samples describe the current state of a card; faults describe what has happened since the last
// call. gpu/health.h decides what both mean for its health.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/model/node.h"

namespace stowage::gpu {

// For an instance of a card that is divided in hardware (MIG). The card itself cannot be assigned
// then: each of its compute instances can.
struct Mig {
  std::string parent;           // id of the card
  std::string profile;          // "1g.10gb", "1c.3g.20gb"
  std::int32_t position = 0;    // among the instances of the card; there may be gaps
  std::int32_t gpu_slices = 0;  // 0: not known
  std::int32_t compute_slices = 0;
  std::int32_t gpu_instance = 0;
  std::int32_t compute_instance = 0;
  friend bool operator==(const Mig&, const Mig&) = default;
};

struct CardInfo {
  std::string id;                     // "GPU-<uuid>", or "MIG-<uuid>" of an instance
  std::int32_t index = 0;             // the driver's current number; an instance has that of its
                                      // card
  std::optional<std::int32_t> minor;  // of /dev/nvidia<minor>
  std::string model;                  // "NVIDIA H100 80GB HBM3", "... MIG 1g.10gb"
  std::string brand = "Unknown";      // "Tesla", "GeForce", "NVIDIA"
  std::string bus_id;                 // "00000000:1B:00.0"; empty: not known
  // 0: unknown. Some cards share one memory with the CPU and have none of their own (GB10, Jetson);
  // the machine's memory must not be counted a second time.
  std::int32_t memory_mib = 0;
  std::int32_t numa = core::kUnknownNuma;  // of the nearest CPUs
  // Compute mode EXCLUSIVE_PROCESS: one process at a time may use it, for instance an MPS server.
  bool exclusive = false;
  bool answers = true;  // false: known from before, but does not answer now
  std::optional<Mig> mig;
  friend bool operator==(const CardInfo&, const CardInfo&) = default;
};

struct Inventory {
  std::vector<CardInfo> cards;  // by index, then by position; ids are unique
  core::LinkMatrix links;       // by position in `cards`; empty: nothing is known
  std::string driver_version;
  std::string nvml_version;
  // Changes when the driver was unloaded in between. All errors of the cards that a reset can
  // repair are then repaired.
  std::uint64_t driver_life = 0;
  friend bool operator==(const Inventory&, const Inventory&) = default;
};

struct Process {
  std::uint32_t pid = 0;  // as the driver sees it: on the machine, not in a container
  std::optional<std::int64_t> memory_mib;
  friend bool operator==(const Process&, const Process&) = default;
};

// Values that the card, the driver or our permissions do not provide are unset. An instance has no
// utilisation, power or temperature of its own; its errors are those of its card.
struct CardSample {
  std::string id;
  std::optional<std::int32_t> utilisation_permille;  // of the time, in the driver's last period
  std::optional<std::int64_t> memory_used_mib;       // excludes what the driver reserves
  std::optional<std::int64_t> power_mw;
  std::optional<std::int32_t> temperature_c;
  std::optional<std::uint64_t> ecc_uncorrected;   // since the driver was loaded
  std::optional<bool> row_remap_failed;           // bad memory that could not be replaced
  std::optional<bool> needs_reset;                // the driver reports it
  std::optional<std::vector<Process>> processes;  // each once, by pid
  friend bool operator==(const CardSample&, const CardSample&) = default;
};

enum class FaultKind : std::uint8_t {
  xid,                // an error that the driver reports by number
  lost,               // the card no longer answers
  ecc_uncorrected,    // uncorrectable memory was read
  row_remap_failure,  // bad memory, and no spare to replace it
  reset_required,
};
[[nodiscard]] const char* to_string(FaultKind kind);

// Something that has happened, reported once.
struct Fault {
  FaultKind kind = FaultKind::xid;
  std::string card;       // the id; a fault of a whole card is reported for each of its instances
  std::uint32_t xid = 0;  // only for kind xid
  std::string text;       // details from the source in a few words; may be empty
  friend auto operator<=>(const Fault&, const Fault&) = default;
};

class Source {
 public:
  Source() = default;
  virtual ~Source() = default;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  // All cards. A known card that does not answer stays, marked, as long as the driver counts it.
  // Cost: some hundred driver calls on a machine with eight cards.
  [[nodiscard]] virtual Result<Inventory> inventory() = 0;
  // The cards of the last inventory that answer; reads one first if none exists.
  [[nodiscard]] virtual Result<std::vector<CardSample>> sample() = 0;
  // The faults since the last call; does not wait. Useful also when the other calls fail: cards
  // that were lost are reported here.
  [[nodiscard]] virtual std::vector<Fault> faults() = 0;

  // Whether the last inventory is known to be out of date.
  [[nodiscard]] virtual bool stale() const = 0;
  // An error of the source itself while it still works; empty: none.
  [[nodiscard]] virtual std::string trouble() const = 0;
};

}  // namespace stowage::gpu
