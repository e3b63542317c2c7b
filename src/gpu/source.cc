#include "gpu/source.h"

namespace stowage::gpu {

const char* to_string(FaultKind kind) {
  switch (kind) {
    case FaultKind::xid: return "xid";
    case FaultKind::lost: return "lost";
    case FaultKind::ecc_uncorrected: return "ecc_uncorrected";
    case FaultKind::row_remap_failure: return "row_remap_failure";
    case FaultKind::reset_required: return "reset_required";
  }
  return "unknown";
}

}  // namespace stowage::gpu
