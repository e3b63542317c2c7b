// Leases of coordination.k8s.io/v1, which controllers use to elect a leader.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "dialect/objects.h"

namespace stowage::codec {

struct Lease {
  std::string resource_version;
  std::string uid;     // changes if the lease is deleted and created again
  std::string holder;  // empty: not held
  std::int32_t seconds = 0;
  std::string acquired;  // times as written: compared, never parsed
  std::string renewed;
  std::int32_t transitions = 0;
  dialect::Annotations annotations;
  friend bool operator==(const Lease&, const Lease&) = default;
};
[[nodiscard]] Result<Lease> read_lease(std::string_view json);

struct LeaseRequest {
  std::string ns;
  std::string name;
  // The server rejects the patch if the lease has changed since this version.
  std::string resource_version;
  std::string holder;
  std::int32_t seconds = 15;
  std::int64_t acquired_micros = 0;  // 0: unchanged
  std::int64_t renewed_micros = 0;
  std::int32_t transitions = 0;
  dialect::Annotations annotations;
};
// A complete lease to create.
[[nodiscard]] std::string lease(const LeaseRequest& ask);
// Merge patch of an existing lease. Other fields are unchanged.
[[nodiscard]] std::string lease_patch(const LeaseRequest& ask);

}  // namespace stowage::codec
