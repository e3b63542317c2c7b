#include "core/engine/pending_binds.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/backoff.h"

namespace stowage::core {
namespace {

constexpr std::chrono::seconds kFirstRest{1};
constexpr std::chrono::seconds kLongestRest{10};

}  // namespace

void PendingBinds::start(const std::string& uid, PendingBind&& bind) {
  binds_.insert_or_assign(uid, std::move(bind));
}

std::optional<PendingBind> PendingBinds::take(const std::string& uid) {
  const auto found = binds_.find(uid);
  if (found == binds_.end()) return std::nullopt;
  PendingBind taken = std::move(found->second);
  binds_.erase(found);
  return taken;
}

std::optional<PendingBind> PendingBinds::take(const std::string& uid, std::uint64_t generation) {
  const auto found = binds_.find(uid);
  const bool asked = found != binds_.end() && found->second.generation != 0;
  return asked && found->second.generation == generation ? take(uid) : std::nullopt;
}

base::Instant PendingBinds::failed(const std::string& uid, base::Instant now) {
  const std::uint32_t failures = ++failures_[uid];
  return {now.ns + base::Backoff::nth(kFirstRest, kLongestRest, failures).count()};
}

void PendingBinds::forget(const std::string& uid) {
  binds_.erase(uid);
  failures_.erase(uid);
}

void PendingBinds::clear() {
  binds_.clear();
  failures_.clear();
}

std::vector<std::string> PendingBinds::uids() const {
  std::vector<std::string> uids;
  for (const auto& [uid, bind] : binds_) uids.push_back(uid);
  std::sort(uids.begin(), uids.end());
  return uids;
}

}  // namespace stowage::core
