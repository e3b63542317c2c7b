#include "checks.h"

#include <utility>

#include <fmt/format.h>

#include "local/call.h"

namespace stowage::faults {
namespace {

constexpr std::uint64_t kPrime = 0x100000001b3ULL;

}  // namespace

void Checks::violate(std::string what) {
  if (!violation_.empty()) return;
  violation_ = fmt::format("after {:.3f} s: {}",
                           std::chrono::duration<double>(side_.world().elapsed()).count(), what);
}

void Checks::acted(const ApiSide::Acted& acted) {
  ++counts_.calls;
  const auto mix = [&](std::string_view text) {
    for (const char c : text) digest_ = (digest_ ^ static_cast<unsigned char>(c)) * kPrime;
  };
  mix(acted.sender);
  mix(acted.request.method);
  mix(acted.request.target);
  mix(std::to_string(acted.response.status));
  mix(std::to_string(side_.world().elapsed().count()));
  if (acted.request.method != "POST" || acted.response.status != 201) return;
  const auto call = local::parse_call(acted.request);
  if (call && call->subresource == "binding") bound(acted.sender, call->object());
}

bool Checks::live(const std::string& uid, const Gift& gift) const {
  const local::ObjectPtr pod = side_.store().get(local::Kind::pod, gift.pod);
  if (pod == nullptr || pod->uid != uid) return false;
  const std::string_view phase = pod->field("status.phase");
  return phase != "Succeeded" && phase != "Failed";
}

void Checks::bound(const std::string& sender, const local::ObjectName& name) {
  const PodView pod = view_of(*side_.store().get(local::Kind::pod, name));
  if (!bound_.insert(pod.uid).second) violate(fmt::format("pod {} is bound twice", name.name));
  const bool ours = sender.starts_with("replica");
  if (ours) {
    ++counts_.bound;
    check_lease(sender, pod);
    if (pod.shares.empty() || pod.cards_node != pod.node ||
        !is_what_it_asks(shape_of(plan_, pod.number), pod.shares)) {
      violate(fmt::format("{} bound pod {} to {} with the cards {}", sender, name.name, pod.node,
                          pod.cards_text));
    }
  } else if (pod.cards_node == pod.node && !pod.shares.empty()) {
    ++counts_.promised;
  } else {
    return;
  }
  gifts_[pod.uid] = {.pod = name, .node = pod.node, .by = sender, .shares = pod.shares};
  for (const Share& share : pod.shares) check_card(pod.node, share.card);
}

// Under the assumptions of api_side.h nothing that a leader sent is acted on once another has the
// lease.
void Checks::check_lease(const std::string& sender, const PodView& pod) {
  const local::ObjectPtr lease = side_.store().get(local::Kind::lease, {"kube-system", "stowage"});
  if (lease == nullptr) return violate(fmt::format("{} binds, but there is no lease", sender));
  const json::object tree = lease->tree();
  const std::string_view holder = local::text_at(tree, "spec.holderIdentity");
  if (holder == sender) return;
  violate(fmt::format("pod {} is bound by {} while \"{}\" holds the lease", pod.name.name, sender,
                      holder));
}

void Checks::check_card(const std::string& node, const std::string& card) {
  const NodeShape shape = node_shape(plan_, pod_number(node));
  std::int64_t milli = 0;
  std::int64_t memory = 0;
  std::int64_t users = 0;
  std::string who;
  for (const auto& [uid, gift] : gifts_) {
    if (gift.node != node) continue;
    for (const Share& share : gift.shares) {
      if (share.card != card || !live(uid, gift)) continue;
      milli += share.milli;
      memory += share.memory_mib;
      ++users;
      who += fmt::format(" {} ({} milli, {} MiB, by {})", gift.pod.name, share.milli,
                         share.memory_mib, gift.by);
    }
  }
  const bool shared = shape.inventory && shape.slots > 0;
  if (milli > 1000 || memory > shape.memory_mib || (shared && users > shape.slots)) {
    violate(fmt::format("card {} of {} is given away twice:{}", card, node, who));
  }
}

}  // namespace stowage::faults
