#include "core/engine/nominations.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "core/place/footprint.h"

namespace stowage::core {
namespace {

constexpr std::string_view kPrefix = "room/";

// The uid of the nomination's record in the ledger.
std::string record_uid(const std::string& pod) { return std::string(kPrefix) + pod; }

std::int32_t cards_wanted(const PodSpec& pod) {
  std::int32_t cards = 0;
  for (const auto& container : pod.containers) cards += container.gpu.count;
  return cards;
}

}  // namespace

void Nominations::open(Nomination made, Commands& out) {
  const std::string uid = made.pod.uid;
  close(uid);
  const Nomination& kept = all_.insert_or_assign(uid, std::move(made)).first->second;
  const Ledger::KeptCapacity part = keep(uid);
  ++opened_;
  if (kept.from_api) return;
  expect_use(kept);
  out.emplace_back(Nominate{.uid = uid,
                            .node = kept.node,
                            .cards = part.cards,
                            .wanted = cards_wanted(kept.pod),
                            .preempts = kept.preempts});
}

Ledger::KeptCapacity Nominations::keep(const std::string& uid) {
  const Nomination* made = find(uid);
  if (made == nullptr) return {};
  const NodeIndex node = ledger_.nodes().find(made->node);
  if (!node.valid() || !ledger_.nodes().present(node) || kept_for(uid).valid()) return {};
  return ledger_.keep_capacity(made->pod, record_uid(uid), node, made->target);
}

NodeIndex Nominations::lift(const std::string& uid) {
  if (!all_.contains(uid)) return {};
  const PodIndex kept = kept_for(uid);
  if (!kept.valid()) return {};
  const NodeIndex node = ledger_.pods().record(kept).node;
  ledger_.release(kept);
  return node;
}

NodeIndex Nominations::close(const std::string& uid) {
  const auto made = all_.find(uid);
  if (made == all_.end()) return {};
  const NodeIndex node = lift(uid);
  quotas_.expect_no_more(uid);
  all_.erase(made);
  return node;
}

NodeIndex Nominations::close(const std::string& uid, Commands& out) {
  const Nomination* made = find(uid);
  if (made == nullptr) return {};
  if (!made->from_api) out.emplace_back(Nominate{.uid = uid, .node = {}});
  return close(uid);
}

void Nominations::expect_use(const Nomination& made) {
  const NodeIndex node = ledger_.nodes().find(made.node);
  if (!made.from_api && node.valid()) quotas_.expect(made.pod, node, ledger_);
}

void Nominations::quotas_changed() {
  for (const auto& [uid, made] : all_) expect_use(made);
}

bool Nominations::over_quota(const std::string& uid) const {
  const Nomination* made = find(uid);
  if (made == nullptr || made->from_api) return false;
  const NodeIndex node = ledger_.nodes().find(made->node);
  return node.valid() && ledger_.nodes().present(node) &&
         !quotas_.leaves(made->pod, ledger_.nodes().spec(node), made->target);
}

const Nomination* Nominations::find(const std::string& uid) const {
  const auto found = all_.find(uid);
  return found == all_.end() ? nullptr : &found->second;
}

PodIndex Nominations::kept_for(const std::string& uid) const {
  return ledger_.pods().find(record_uid(uid));
}

const Nomination* Nominations::of_record(const PodRecord& record) const {
  if (record.state != PodState::nomination) return nullptr;
  return find(record.uid.substr(kPrefix.size()));
}

PodRecord Nominations::when_complete(const PodRecord& record) const {
  PodRecord then = record;
  const Nomination* made = of_record(record);
  if (made == nullptr) return then;
  then.resources = effective_resources(made->pod);
  then.charges.clear();
  if (!names_cards(made->target)) {
    then.unnamed.whole = unnamed_use(unnamed_asks(made->pod)).whole;
    return then;
  }
  then.asks.clear();
  then.unnamed = {};
  then.charges = footprint(made->pod, made->target);
  std::erase_if(then.charges, [&](const CardCharge& charge) {
    return charge.card >= ledger_.nodes().state(record.node).cards;
  });
  return then;
}

std::vector<std::string> Nominations::among(const std::vector<PodIndex>& records) const {
  std::vector<std::string> uids;
  for (const PodIndex record : records) {
    const Nomination* made = of_record(ledger_.pods().record(record));
    if (made != nullptr) uids.push_back(made->pod.uid);
  }
  return uids;
}

template <typename Condition>
std::vector<std::string> Nominations::where(Condition&& condition) const {
  std::vector<std::string> uids;
  for (const auto& [uid, made] : all_) {
    if (condition(made)) uids.push_back(uid);
  }
  return uids;
}

std::vector<std::string> Nominations::on_node(const std::string& node) const {
  return where([&](const Nomination& made) { return made.node == node; });
}

std::vector<std::string> Nominations::expired(base::Instant now) const {
  return where([&](const Nomination& made) { return made.until <= now; });
}

std::vector<std::string> Nominations::waiting_for(const std::string& victim) const {
  return where([&](const Nomination& made) {
    return std::find(made.victims.begin(), made.victims.end(), victim) != made.victims.end();
  });
}

std::vector<std::string> Nominations::below(std::int32_t priority) const {
  return where([&](const Nomination& made) { return made.pod.priority < priority; });
}

bool Nominations::any_below(std::int32_t priority) const {
  return std::any_of(all_.begin(), all_.end(),
                     [&](const auto& entry) { return entry.second.pod.priority < priority; });
}

std::size_t Nominations::for_starving() const {
  return where([](const Nomination& made) { return !made.preempts && !made.from_api; }).size();
}

bool Nominations::victims_pending(const Nomination& made) const {
  return std::any_of(made.victims.begin(), made.victims.end(),
                     [&](const std::string& uid) { return ledger_.pods().find(uid).valid(); });
}

}  // namespace stowage::core
