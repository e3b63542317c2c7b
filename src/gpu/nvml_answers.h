// Summarizes the driver's answers about one card.
#pragma once

#include "gpu/nvml_library.h"

namespace stowage::gpu {

class Answers {
 public:
  // Records the answer to one call; returns true if it succeeded. "Not supported by this card" is
  // an answer too; "function not found" in the driver is not.
  bool good(nvml::Return code);
  void add(const Answers& other);

  // If not kSuccess, the session is over, and nothing else counts.
  [[nodiscard]] nvml::Return ending() const { return ending_; }
  // The driver reports the card as lost, or none of its answers is valid.
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
