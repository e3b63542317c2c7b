// What the driver's answers about one card amount to.
#pragma once

#include "gpu/nvml_library.h"

namespace stowage::gpu {

class Answers {
 public:
  // Takes note of the answer to one call; true if it worked. That a card has no such value is an
  // answer too. That the driver has no such function is none.
  bool good(nvml::Return code);
  void add(const Answers& other);

  // Not kSuccess: the session is over, and nothing else counts.
  [[nodiscard]] nvml::Return ending() const { return ending_; }
  // The driver says that the card is lost, or not one of its answers makes sense.
  [[nodiscard]] bool lost() const { return lost_ || (!answered_ && worst_ != nvml::kSuccess); }
  [[nodiscard]] nvml::Return why() const { return worst_; }
  [[nodiscard]] bool reset_required() const { return reset_required_; }

 private:
  nvml::Return ending_ = nvml::kSuccess;
  nvml::Return worst_ = nvml::kSuccess;
  bool answered_ = false;
  bool lost_ = false;
  bool reset_required_ = false;
};

}  // namespace stowage::gpu
