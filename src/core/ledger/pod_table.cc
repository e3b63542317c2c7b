#include "core/ledger/pod_table.h"

#include "base/check.h"

namespace stowage::core {

PodIndex PodTable::find(const std::string& uid) const {
  const auto found = by_uid_.find(uid);
  return found == by_uid_.end() ? PodIndex{} : found->second;
}

PodIndex PodTable::add(const std::string& uid) {
  PodIndex index;
  if (free_.empty()) {
    index = PodIndex(records_.size());
    records_.emplace_back();
  } else {
    index = free_.back();
    free_.pop_back();
  }
  records_[index.at()].uid = uid;
  STOWAGE_CHECK(by_uid_.emplace(uid, index).second);
  return index;
}

PodIndex PodTable::append(const PodRecord& record) {
  const PodIndex index(records_.size());
  records_.push_back(record);
  STOWAGE_CHECK(by_uid_.emplace(record.uid, index).second);
  return index;
}

void PodTable::remove(PodIndex pod) {
  PodRecord& record = records_[pod.at()];
  by_uid_.erase(record.uid);
  record = PodRecord{};
  free_.push_back(pod);
}

}  // namespace stowage::core
