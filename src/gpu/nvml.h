// The cards as the driver has them, by NVML.
//
//   closed --NVML loads and starts--> open --it says that it is not started, that there is no
//     ^                                 |    driver, or that there is another than it is made for
//     '-- after a pause, which doubles -'
//
// - A card that the driver calls lost, or about which it gives no sensible answer any more, is told
//   as lost once and stays in the inventory, marked. A session shows a card that comes back only
//   when it is opened anew, so that is done while one is missing, ever more rarely.
// - When the session ends all cards are told as lost. They answer again in the first sample of the
//   next session that has them.
// - What a card, a driver of some age, a hypervisor's guest or our rights do not offer is left
//   unset and is no error: NVML offers nothing for granted but the number of cards and their ids.
//
// For the pids of processes to be of use, and for instances to show all of theirs, we have to run
// as root in the pid namespace of the machine.
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
  std::string library = "libnvidia-ml.so.1";  // as dlopen() takes it
  std::string sys = "/sys";
  std::chrono::nanoseconds retry_first = std::chrono::seconds{1};  // to open, after it failed
  std::chrono::nanoseconds retry_most = std::chrono::seconds{60};
  // To open anew while cards are missing. Not often: where nobody else holds the driver open, the
  // cards are switched off and set up again by that.
  std::chrono::nanoseconds look_first = std::chrono::seconds{10};
  std::chrono::nanoseconds look_most = std::chrono::minutes{5};
  std::function<base::Instant()> now;  // empty: the system's steady clock
};

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
  // The session is over by the word of the driver.
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
  // Boards whose events come, also of those that have been lost since: what happened to a card
  // before that may be told after it.
  std::map<nvml::Device, std::string> watched_;
  std::vector<Board> boards_;  // of the last inventory; without devices while closed
  std::vector<Fault> pending_;
  std::string driver_version_;
  std::string nvml_version_;
  std::string trouble_;
  std::uint64_t driver_life_ = 0;
  bool driver_away_ = true;  // since the last session there was none, or another one
  bool stale_ = true;
  std::size_t missing_ = 0;  // cards that are counted and do not answer
  Pause reopen_;
  Pause look_;
  Pause events_again_;
};

}  // namespace stowage::gpu
