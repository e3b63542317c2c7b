// Leases of coordination.k8s.io/v1, by which several controllers agree on who leads.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "dialect/objects.h"

namespace stowage::codec {

struct Lease {
  std::string resource_version;
  std::string uid;     // another one if it was deleted and made anew
  std::string holder;  // empty: nobody's
  std::int32_t seconds = 0;
  std::string acquired;  // times as they are written: compared, never read
  std::string renewed;
  std::int32_t transitions = 0;
  dialect::Annotations annotations;
  friend bool operator==(const Lease&, const Lease&) = default;
};
[[nodiscard]] Result<Lease> read_lease(std::string_view json);

struct LeaseAsk {
  std::string ns;
  std::string name;
  // The patch is refused by the server if the lease has changed since this version.
  std::string resource_version;
  std::string holder;
  std::int32_t seconds = 15;
  std::int64_t acquired_micros = 0;  // 0: left as it is
  std::int64_t renewed_micros = 0;
  std::int32_t transitions = 0;
  dialect::Annotations annotations;
};
// A whole lease, to be created.
[[nodiscard]] std::string lease(const LeaseAsk& ask);
// Merge patch of one that is there. Fields that are not ours stay.
[[nodiscard]] std::string lease_patch(const LeaseAsk& ask);

}  // namespace stowage::codec
