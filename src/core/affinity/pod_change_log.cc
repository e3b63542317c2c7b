#include "core/affinity/pod_change_log.h"

namespace stowage::core {

void PodChangeLog::drop_older_half() {
  changes_.erase(changes_.begin(), changes_.begin() + kMaxChanges / 2);
  start_ += kMaxChanges / 2;
}

void PodChangeLog::clear() {
  start_ = end();
  changes_ = {};
}

}  // namespace stowage::core
