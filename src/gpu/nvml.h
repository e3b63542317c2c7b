// The cards of the driver, by NVML.
//
//   closed --NVML loads and starts--> open --it reports that it is not initialized, that there is
//     ^                                 |    no driver, or that the driver's version differs
//     '-- after a pause, which doubles -'
//
// - A card that the driver calls lost, or that gives no valid answer any more, is reported as lost
//   once and stays in the inventory, marked. A session shows a card that comes back only after it
//   is reopened. So it is reopened while a card is missing, at growing intervals.
// - When the session ends, all cards are reported as lost. They answer again in the first sample of
//   the next session that has them.
// - Values that a card, an old driver, a virtual machine or our permissions do not provide are
//   unset, which is no error: NVML guarantees only the number of cards and their ids.
//
// For useful pids, and to see all processes of instances, we must run as root in the pid namespace
// of the machine.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/backoff.h"
#include "base/instant.h"
#include "gpu/nvml_boards.h"
#include "gpu/nvml_library.h"
#include "gpu/source.h"

namespace stowage::gpu {

struct NvmlOptions {
  std::string library = "libnvidia-ml.so.1";  // argument of dlopen()
  std::string sys = "/sys";
  std::chrono::nanoseconds retry_first = std::chrono::seconds{1};  // after opening failed
  std::chrono::nanoseconds retry_most = std::chrono::seconds{60};
  // For reopening while cards are missing. Not often: if no other process holds the driver open,
  // reopening switches the cards off and sets them up again.
  std::chrono::nanoseconds look_first = std::chrono::seconds{10};
  std::chrono::nanoseconds look_most = std::chrono::minutes{5};
  std::function<base::Instant()> now;  // empty: the system's steady clock
};

// Large because a session, its boards and its events end together, and three pauses decide when
// each is tried again.
class NvmlSource final : public Source {
 public:
  explicit NvmlSource(NvmlOptions options);
  ~NvmlSource() override;

  [[nodiscard]] Result<Inventory> inventory() override;
  [[nodiscard]] Result<std::vector<CardSample>> sample() override;
  [[nodiscard]] std::vector<Fault> faults() override;
  [[nodiscard]] bool stale() const override { return stale_; }
  [[nodiscard]] std::string trouble() const override { return trouble_; }

 private:
  // A pause that doubles each time it is taken.
  struct Pause {
    base::Backoff backoff;
    bool taken = false;  // since the last reset
    base::Instant until{};
    void take(base::Instant now);
    void reset();
  };

  [[nodiscard]] Status open();
  [[nodiscard]] tl::unexpected<Error> refused(std::string why);
  void close();
  // The driver's answer ends the session.
  [[nodiscard]] tl::unexpected<Error> end_session(nvml::Return code);
  void lose(Board& board, const std::string& why);
  void lose_all(const std::string& why);
  void look_for_missing();
  void merge(Boards fresh);
  void keep_silent(Silent silent, std::vector<Board>& known, std::vector<Board>& merged);
  void watch_events();
  void take_events();
  void take_event(const nvml::Event& event);
  [[nodiscard]] Inventory describe() const;

  NvmlOptions options_;
  std::unique_ptr<nvml::Library> nvml_;  // null: closed
  nvml::EventSet events_ = nullptr;
  // Boards with events, including those that were lost since: events from before the loss may
  // arrive after it.
  std::map<nvml::Device, std::string> watched_;
  std::vector<Board> boards_;  // of the last inventory; without devices while closed
  std::vector<Fault> pending_;
  std::string driver_version_;
  std::string nvml_version_;
  std::string trouble_;
  std::uint64_t driver_life_ = 0;
  bool driver_away_ = true;  // no driver, or another one, since the last session
  bool stale_ = true;
  std::size_t missing_ = 0;  // cards that are counted but do not answer
  Pause reopen_;
  Pause look_;
  Pause events_again_;
};

}  // namespace stowage::gpu
