// The cards of this machine: which there are, how they are doing, and what went wrong with them.
//
// One thread calls a source, and every call may block for as long as the driver likes. A call into
// a driver that hangs can not be cancelled, not even by closing its files: the thread stays in the
// kernel. So whoever owns a source gives it a thread of its own, notes the time at which each call
// has returned, and lets another thread watch that heartbeat: cards that have not been heard of for
// some rounds are to be treated as lost, and the process must be able to end without joining.
//
// A source does not fail for good. While the driver is away every call says so, and goes on
// trying; what the machine had before is told as lost.
//
// Samples say how a card is now, faults what has happened to it since they were last asked for.
// What both mean for its health is decided elsewhere (gpu/health.h).
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/model/node.h"

namespace stowage::gpu {

// Of an instance of a card that is divided in hardware (MIG). The card itself is then none that
// can be handed out: each of its compute instances is one.
struct Mig {
  std::string parent;           // the id of the card
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
  std::int32_t index = 0;             // as the driver counts now; an instance has that of its card
  std::optional<std::int32_t> minor;  // of /dev/nvidia<minor>
  std::string model;                  // "NVIDIA H100 80GB HBM3", "... MIG 1g.10gb"
  std::string brand = "Unknown";      // "Tesla", "GeForce", "NVIDIA"
  std::string bus_id;                 // "00000000:1B:00.0"; empty: not known
  // 0: nobody says how much. So it is where card and CPU share one memory and the driver gives the
  // card none of its own (GB10, Jetson); that of the machine must not be counted a second time.
  std::int32_t memory_mib = 0;
  std::int32_t numa = core::kUnknownNuma;  // the node of the CPUs that it is near to
  bool answers = true;                     // false: known from before, and silent now
  std::optional<Mig> mig;
  friend bool operator==(const CardInfo&, const CardInfo&) = default;
};

struct Inventory {
  std::vector<CardInfo> cards;  // by index, then by position; no two with the same id
  core::LinkMatrix links;       // by place in `cards`; empty: nothing is known
  std::string driver_version;
  std::string nvml_version;
  // Another number than before: the driver had been away in between, and with it all that went
  // wrong in the cards but can be mended by a reset.
  std::uint64_t driver_life = 0;
  friend bool operator==(const Inventory&, const Inventory&) = default;
};

struct Process {
  std::uint32_t pid = 0;  // as the driver sees it: of the machine, not of a container
  std::optional<std::int64_t> memory_mib;
  friend bool operator==(const Process&, const Process&) = default;
};

// Unset is what the card, the driver or our rights do not tell. An instance has no utilisation,
// power and temperature of its own; its errors are those of its card.
struct CardSample {
  std::string id;
  std::optional<std::int32_t> utilisation_permille;  // of the time, in the driver's last period
  std::optional<std::int64_t> memory_used_mib;       // without what the driver keeps for itself
  std::optional<std::int64_t> power_mw;
  std::optional<std::int32_t> temperature_c;
  std::optional<std::uint64_t> ecc_uncorrected;   // since the driver was loaded
  std::optional<bool> row_remap_failed;           // bad memory that could not be replaced
  std::optional<bool> needs_reset;                // the driver itself says so
  std::optional<std::vector<Process>> processes;  // each once, by pid
  friend bool operator==(const CardSample&, const CardSample&) = default;
};

enum class FaultKind : std::uint8_t {
  xid,                // an error that the driver reports by number
  lost,               // the card does not answer any more
  ecc_uncorrected,    // memory that could not be corrected was read
  row_remap_failure,  // bad memory, and no spare to replace it
  reset_required,
};
[[nodiscard]] const char* to_word(FaultKind kind);

// Something that has happened, told once.
struct Fault {
  FaultKind kind = FaultKind::xid;
  std::string card;       // the id; what hits a card as a whole is told for each of its instances
  std::uint32_t xid = 0;  // only where it is one
  std::string text;       // what the source can add, in a few words; may be empty
  friend auto operator<=>(const Fault&, const Fault&) = default;
};

class Source {
 public:
  Source() = default;
  virtual ~Source() = default;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  // All cards there are. One that was there and has gone silent stays, marked, for as long as the
  // driver still counts it. Cost: some hundred calls of the driver on a machine with eight cards.
  [[nodiscard]] virtual Result<Inventory> inventory() = 0;
  // The cards of the last inventory that answer; reads one first if there is none.
  [[nodiscard]] virtual Result<std::vector<CardSample>> sample() = 0;
  // What happened since the last call; does not wait for more. Worth asking also when the others
  // fail: what was lost by that is told here.
  [[nodiscard]] virtual std::vector<Fault> faults() = 0;

  // True if the last inventory is known to be out of date.
  [[nodiscard]] virtual bool stale() const = 0;
  // What is wrong with the source itself although it goes on, in words; empty: nothing.
  [[nodiscard]] virtual std::string trouble() const = 0;
};

}  // namespace stowage::gpu
