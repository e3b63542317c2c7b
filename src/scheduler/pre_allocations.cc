#include "scheduler/pre_allocations.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "dialect/absent_cards.h"
#include "dialect/dialect.h"

namespace stowage::scheduler {

std::optional<Notice> PreAllocations::see(PodCache::Entry& entry,
                                          const dialect::PodObject& object) {
  PreAllocation& pre_allocation = entry.pre_allocation;
  if (leads_ && pre_allocation.version == object.resource_version) return std::nullopt;
  pre_allocation.version = object.resource_version;
  pre_allocation.told = false;
  unreported_.erase(object.uid);
  deps_.signatures.forget(object.uid);
  if (pre_allocation.proved &&
      deps_.signatures.withdrawn_at(object).value_or(0) > pre_allocation.made) {
    pre_allocation.proved.reset();
    pre_allocation.over = true;
  }
  const Signatures::PreAllocationCheck said = deps_.signatures.pre_allocation_origin(object);
  std::optional<Notice> notice = unproved(pre_allocation, object, said);
  if (!keep(pre_allocation, object, said) || !leads_) return notice;
  if (auto held = read(unreported_.at(object.uid))) announce(std::move(*held));
  return notice;
}

// Returns false if no pre-allocation of the pod counts.
bool PreAllocations::keep(PreAllocation& pre_allocation, const dialect::PodObject& object,
                          const Signatures::PreAllocationCheck& said) {
  const bool ours = said.origin == Signatures::Origin::ours;
  // A user who may edit the pod can write back an old annotation with its signature.
  const bool put_back =
      said.made < pre_allocation.made || (said.made == pre_allocation.made && pre_allocation.over);
  const bool keeps = pre_allocation.proved && !pre_allocation.over;
  const bool counts = ours ? !put_back : said.counts() && !keeps;
  if (!counts && !keeps) return false;
  Unreported unreported{.object = object, .is_signed = ours, .whole = ours && !said.edited};
  unreported.object.rules = {};
  if (counts) {
    if (pre_allocation.made != said.made || said.made == 0) {
      pre_allocation.made = said.made;
      pre_allocation.seen = clock_.now();
      pre_allocation.over = false;
    }
    pre_allocation.proved.reset();
    if (ours) {
      dialect::Annotations& texts = unreported.object.annotations;
      texts[std::string(dialect::kPreAllocatedNodeAnnotation)] = said.node;
      pre_allocation.proved_whole = unreported.whole;
      pre_allocation.proved = std::make_unique<dialect::Annotations>();
      for (const std::string& key : dialect::pre_allocation_annotations(unreported.object)) {
        pre_allocation.proved->emplace(key, texts.at(key));
      }
    }
  } else {
    // Removed or edited, but not by us: the pod may still be bound by it.
    unreported.object.annotations = *pre_allocation.proved;
    unreported.is_signed = true;
    unreported.whole = pre_allocation.proved_whole;
  }
  unreported.seen = pre_allocation.seen;
  unreported_[object.uid] = std::move(unreported);
  return true;
}

std::optional<Notice> PreAllocations::unproved(PreAllocation& pre_allocation,
                                               const dialect::PodObject& object,
                                               const Signatures::PreAllocationCheck& said) {
  using Origin = Signatures::Origin;
  if (said.node.empty() || (said.counts() && !said.edited)) return std::nullopt;
  if (said.origin == Origin::none && !dialect::pre_allocated_node(object)) return std::nullopt;
  if (std::exchange(pre_allocation.untrusted, true)) return std::nullopt;
  ++untrusted_;
  std::string text =
      "the annotations with a pre-allocated node and cards have no signature of the scheduler; "
      "they are ignored";
  if (said.edited) {
    text =
        "the annotations with the pre-allocated node and cards were changed after they were "
        "signed; the signed values count";
  } else if (said.origin == Origin::unknown) {
    text =
        "the annotations with a pre-allocated node and cards are signed by an unknown key; they "
        "are ignored until the key is known";
  }
  return notice_of(Notice::Kind::untrusted, object, std::move(text));
}

// Unset: it does not count, or it is unsigned and its node lacks the cards.
std::optional<core::PodHeld> PreAllocations::read(const Unreported& unreported) const {
  const dialect::PodObject& object = unreported.object;
  const auto node_name = dialect::pre_allocated_node(object);
  const core::NodeSpec* there = node_name ? deps_.nodes.find(*node_name) : nullptr;
  if (!node_name || (there == nullptr && !unreported.is_signed)) return std::nullopt;
  core::NodeSpec on = there != nullptr ? *there : core::NodeSpec{.name = *node_name};
  // Some of its cards may be missing, and the pod may still be bound by it.
  if (unreported.is_signed) dialect::add_absent_cards(object, on);
  auto spec = dialect::to_spec(
      object, deps_.nodes.reading({.floor_whole_cards = true, .placed_by_others = true}));
  if (!spec) return std::nullopt;
  const std::int64_t now = clock_.unix_nanos();
  auto pre_allocation = dialect::read_pre_allocation({.object = object,
                                                      .pod = *spec,
                                                      .node = on,
                                                      .unix_nanos = now,
                                                      .is_signed = unreported.is_signed});
  if (!pre_allocation) return std::nullopt;
  spec->profile = *profile_;
  const std::int64_t limit = std::chrono::nanoseconds(bind_limit_).count();
  // Its time was written by the clock of another machine, which may differ from ours by any amount.
  // One that we signed lasts from when it was first seen here. Unsigned ones hold cards only if
  // they are free, and no longer than their time says.
  const std::int64_t age = unreported.is_signed
                               ? clock_.now().ns - unreported.seen.ns
                               : std::max<std::int64_t>(now - pre_allocation->made_unix_nanos, 0);
  const bool outdated = unreported.whole && dialect::pre_allocation_outdated(object, *spec, on);
  const std::int64_t left = pre_allocation->broken || outdated ? 0 : limit - age;
  return core::PodHeld{.pod = std::move(*spec),
                       .node = std::move(pre_allocation->node),
                       .cards = core::by_id(pre_allocation->cards, on),
                       .made = pre_allocation->made_unix_nanos,
                       .until = {clock_.now().ns + left},
                       .is_signed = unreported.is_signed};
}

void PreAllocations::announce_all(const std::string& node) {
  std::vector<core::PodHeld> pre_allocations;
  for (const auto& [uid, unreported] : unreported_) {
    if (!node.empty() && dialect::pre_allocated_node(unreported.object) != node) continue;
    if (auto pre_allocation = read(unreported))
      pre_allocations.push_back(std::move(*pre_allocation));
  }
  // Of two unsigned ones on the same card, the later one counts: the earlier one had ended when the
  // later one was made.
  std::stable_sort(pre_allocations.begin(), pre_allocations.end(),
                   [](const core::PodHeld& a, const core::PodHeld& b) { return a.made > b.made; });
  for (core::PodHeld& pre_allocation : pre_allocations) announce(std::move(pre_allocation));
}

void PreAllocations::announce(core::PodHeld pre_allocation) {
  const dialect::PodObject object = unreported_.extract(pre_allocation.pod.uid).mapped().object;
  PodCache::Entry& entry = *deps_.pods.find(pre_allocation.pod.uid);
  entry.pre_allocation.told = true;
  entry.nominated.clear();  // the pre-allocation replaces it
  deps_.decision_clock.saw(pre_allocation.made, pre_allocation.is_signed);
  if (on_pre_allocation_) {
    on_pre_allocation_({.uid = pre_allocation.pod.uid,
                        .ns = object.ns,
                        .name = object.name,
                        .made = pre_allocation.made,
                        .until = pre_allocation.until,
                        .node = pre_allocation.node});
  }
  pre_allocation.until = core::kUntilTold;
  deps_.event_queue.put_pod(std::move(pre_allocation));
}

void PreAllocations::ended(const std::string& uid) {
  if (PodCache::Entry* entry = deps_.pods.find(uid)) entry->pre_allocation.over = true;
}

void PreAllocations::asked_again(const std::string& uid) {
  if (PodCache::Entry* entry = deps_.pods.find(uid)) entry->pre_allocation.proved.reset();
}

void PreAllocations::forget(PodCache::Entry& entry) {
  unreported_.erase(*entry.uid);
  entry.pre_allocation.proved.reset();
}

bool PreAllocations::outdated(const dialect::PodObject& unbound) const {
  const Signatures::PreAllocationCheck said = deps_.signatures.pre_allocation_origin(unbound);
  const core::NodeSpec* there = deps_.nodes.find(said.node);
  if (said.origin != Signatures::Origin::ours || said.edited || there == nullptr) return false;
  core::NodeSpec on = *there;
  dialect::add_absent_cards(unbound, on);
  const auto spec = dialect::to_spec(
      unbound, deps_.nodes.reading({.floor_whole_cards = true, .placed_by_others = true}));
  return spec && dialect::pre_allocation_outdated(unbound, *spec, on);
}

dialect::Annotations PreAllocations::withdrawal(const dialect::PodObject& pod) {
  return deps_.signatures.withdrawal(
      {.uid = pod.uid, .unix_nanos = deps_.decision_clock.next(pod)});
}

void PreAllocations::node_changed(const std::string& node) {
  if (!leads_) return;
  announce_all(node);
  if (on_other_cards_) on_other_cards_(node);
}

void PreAllocations::lead() {
  leads_ = true;
  announce_all({});
}

}  // namespace stowage::scheduler
