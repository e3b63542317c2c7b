// Records of the charged pods, by uid. An index is reused after its pod is removed.
#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>  // lookup only
#include <vector>

#include "core/ledger/pod_record.h"
#include "core/model/ids.h"

namespace stowage::core {

class PodTable {
 public:
  [[nodiscard]] PodIndex find(const std::string& uid) const;  // invalid if absent
  [[nodiscard]] const PodRecord& record(PodIndex pod) const { return records_[pod.at()]; }
  [[nodiscard]] std::size_t count() const { return by_uid_.size(); }

  // Adds a record with only this uid at a free index. Requires: not known yet.
  PodIndex add(const std::string& uid);
  // Appends a copy of this record at the end. Requires: not known yet.
  PodIndex append(const PodRecord& record);
  void remove(PodIndex pod);
  [[nodiscard]] PodRecord& record(PodIndex pod) { return records_[pod.at()]; }

  // True if every record is found by uid or free. For audits.
  [[nodiscard]] bool complete() const { return by_uid_.size() + free_.size() == records_.size(); }

 private:
  std::vector<PodRecord> records_;
  std::vector<PodIndex> free_;
  std::unordered_map<std::string, PodIndex> by_uid_;  // lookup only
};

}  // namespace stowage::core
