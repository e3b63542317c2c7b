#include "gpu/nvml_answers.h"

namespace stowage::gpu {

bool Answers::good(nvml::Return code) {
  switch (code) {
    case nvml::kSuccess: answered_ = true; return true;
    case nvml::kNotSupported:
    case nvml::kNoPermission:
    case nvml::kNoData: answered_ = true; break;
    case nvml::kFunctionNotFound: break;
    case nvml::kUninitialized:
    case nvml::kDriverNotLoaded:
    case nvml::kVersionMismatch: ending_ = code; break;
    case nvml::kGpuIsLost:
    case nvml::kGpuNotFound:
      lost_ = true;
      worst_ = code;
      break;
    case nvml::kResetRequired:
      answered_ = true;
      reset_required_ = true;
      break;
    default:
      if (worst_ == nvml::kSuccess) worst_ = code;
  }
  return false;
}

void Answers::add(const Answers& other) {
  if (other.ending_ != nvml::kSuccess) ending_ = other.ending_;
  if (worst_ == nvml::kSuccess || (other.lost_ && !lost_)) worst_ = other.worst_;
  answered_ = answered_ || other.answered_;
  lost_ = lost_ || other.lost_;
  reset_required_ = reset_required_ || other.reset_required_;
}

}  // namespace stowage::gpu
