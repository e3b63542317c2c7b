#include "scheduler/signatures.h"

#include <algorithm>
#include <utility>

#include "dialect/dialect.h"
#include "dialect/times.h"

namespace stowage::scheduler {
namespace {

using Check = kube::SealCheck::Result;

// The largest difference between the clocks of the API server and of replicas.
constexpr std::int64_t kClockSlackSeconds = 10;
// A pod with pre-allocated cards is bound within this time: volumes may take 600 seconds.
constexpr std::int64_t kPreAllocationMax = 660 * dialect::kNanosPerSecond;

}  // namespace

std::int64_t placed_at(const dialect::PodObject& object) {
  auto moment = dialect::parse_moment(object.scheduled_since);
  if (!moment) moment = dialect::parse_moment(object.created);
  return std::max<std::int64_t>(moment.value_or(1), 1);
}

std::set<std::string> Signatures::use_keys(kube::Keys keys) {
  keys_ = std::move(keys);
  return std::exchange(unknown_key_, {});
}

bool Signatures::signed_since(std::int64_t unix_nanos) const {
  if (!keys_->began_unix) return false;
  return unix_nanos / dialect::kNanosPerSecond - kClockSlackSeconds > *keys_->began_unix;
}

// A version that did not sign, or another program, told its scheduler the node.
bool Signatures::pre_allocated_before_signing(const dialect::PodObject& object) const {
  if (dialect::pre_allocated_in_our_words(object)) return false;  // always signed
  const auto created = dialect::parse_moment(object.created);
  if (created && signed_since(*created)) return false;
  if (!created && keys_->began_unix) return false;
  const auto made = dialect::pre_allocated_at(object);
  return !made || !signed_since(*made);
}

Signatures::Proof Signatures::proof_of(const dialect::PodObject& bound, const Checked& check) {
  unknown_key_.erase(bound.uid);
  // That check may have used fewer keys than are known now.
  const bool checked = check && check->result != Check::unknown;
  const auto result = checked ? check->result : kube::check_seal(*keys_, bound, bound.node).result;
  switch (result) {
    case Check::good: return Proof::good;
    case Check::bad: return Proof::bad;
    case Check::unknown: meet_unknown_key(bound.uid); return Proof::bad;
    case Check::none: break;
  }
  if (!placed_since_signing(bound)) return Proof::too_old;
  // Pre-allocated before signing began and bound since.
  const bool soon = !signed_since(placed_at(bound) - kPreAllocationMax);
  return soon && dialect::pre_allocated_at(bound) && pre_allocated_before_signing(bound)
             ? Proof::too_old
             : Proof::bad;
}

void Signatures::meet_unknown_key(const std::string& uid) {
  unknown_key_.insert(uid);
  if (on_unknown_key_) on_unknown_key_();
}

// If our own text is signed, node and time are those in the signed text.
Signatures::PreAllocationCheck Signatures::pre_allocation_origin(
    const dialect::PodObject& unbound) {
  const auto named = dialect::pre_allocated_node(unbound);
  const auto ours = keys_ ? dialect::signed_node(unbound) : std::nullopt;
  PreAllocationCheck said{.node = ours ? *ours : named.value_or(""),
                          .made = dialect::pre_allocated_at(unbound).value_or(0)};
  if (said.node.empty()) return said;
  if (!keys_) {
    said.origin = Origin::unsigned_ours;
    return said;
  }
  const kube::SealCheck check = kube::check_seal(*keys_, unbound, said.node);
  switch (check.result) {
    case Check::good:
      if (check.purpose != dialect::Purpose::pre_allocation) break;
      said.origin = Origin::ours;
      said.made = check.unix_nanos;
      said.edited = !check.dialect_good;
      break;
    case Check::none:
      if (pre_allocated_before_signing(unbound)) said.origin = Origin::unsigned_ours;
      break;
    case Check::unknown:
      meet_unknown_key(unbound.uid);
      said.origin = Origin::unknown;
      break;
    case Check::bad: break;
  }
  return said;
}

bool Signatures::decided_after(const dialect::PodObject& unbound, std::int64_t decided) {
  const PreAllocationCheck said = pre_allocation_origin(unbound);
  if (said.origin == Origin::unknown) return true;
  const bool later = said.origin == Origin::ours && said.made > decided;
  return later || withdrawn_at(unbound).value_or(0) > decided;
}

bool Signatures::trusts_pre_allocation(const dialect::PodObject& unbound) {
  const PreAllocationCheck said = pre_allocation_origin(unbound);
  return said.counts() && dialect::pre_allocated_node(unbound) == said.node;
}

dialect::Annotations Signatures::withdrawal(const kube::Withdrawal& of) const {
  if (!keys_ || !keys_->signs) return {};
  return {{std::string(dialect::kSignatureAnnotation), kube::withdrawal(*keys_, of)}};
}

}  // namespace stowage::scheduler
