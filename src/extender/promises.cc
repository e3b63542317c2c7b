// Promises that end. kube-scheduler binds by them itself, and what we watch may lag or have broken
// off unnoticed: before the cards of a promise are given to others, the pod is looked up.
#include <utility>
#include <vector>

#include "extender/call.h"

namespace stowage::extender {
namespace {

constexpr std::chrono::seconds kLookEvery{1};
constexpr std::chrono::seconds kAgain{5};  // after a look that told nothing
constexpr std::size_t kLookedUpMax = 64;   // each time

}  // namespace

void Extender::look_up_promises() {
  promise_timer_.start(kLookEvery, [this] { look_up_promises(); });
  const bool leads = !ends_.leads || ends_.leads();
  const auto now = ends_.shared.loop.now();
  std::size_t looked_up = 0;
  for (auto& [uid, guest] : guests_.entries()) {
    if (guest.look_up == net::Moment{} || (leads && guest.look_up > now)) continue;
    // Who does not lead holds nothing; and a pod that is on a node has what it has.
    if (!leads || ends_.shared.roster.standing(uid) != nullptr) {
      guest.look_up = {};
    } else if (++looked_up <= kLookedUpMax) {
      look_up(guest);
    }
  }
}

void Extender::look_up(Guest& guest) {
  guest.look_up = ends_.shared.loop.now() + kAgain;
  const std::string uid = guest.object.uid;
  const net::Moment asked_for = guest.look_up;
  ends_.shared.pods.read({.ns = guest.object.ns, .name = guest.object.name},
                         [this, alive = alive_, uid, asked_for](
                             tl::expected<dialect::PodObject, kube::PodAccess::ReadError> pod) {
                           Guest* known = *alive ? guests_.find(uid) : nullptr;
                           // Meanwhile it may have been promised anew, or we lead no longer.
                           if (known == nullptr || known->look_up != asked_for) return;
                           if (!pod && !pod.error().absent) return;
                           known->look_up = {};
                           scheduler::Mailbox& mailbox = ends_.shared.mailbox;
                           if (!pod || pod->uid != uid || pod->ended())
                             return mailbox.put_reply(core::PodGone{uid});
                           if (pod->node.empty()) return mailbox.put_reply(core::BindFailed{uid});
                           ends_.shared.roster.see_pod(std::move(*pod));
                         });
}

}  // namespace stowage::extender
