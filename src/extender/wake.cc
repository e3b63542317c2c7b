// Pods that were refused, and for which there is room by now.
#include <algorithm>
#include <utility>

#include "core/engine/engine.h"
#include "extender/call.h"

namespace stowage::extender {
namespace {

constexpr std::chrono::seconds kLookEvery{1};
constexpr std::size_t kLookedAtMax = 256;  // each time

}  // namespace

void Extender::look_again_later(Guest& guest) {
  if (!guest.waits) guest.backoff.reset();
  guest.waits = true;
  guest.look_at = ends_.shared.loop.now() + guest.backoff.peek();
}

void Extender::wake_refused() {
  waker_.start(kLookEvery, [this] { wake_refused(); });
  if (ends_.leads && !ends_.leads()) return;
  const auto now = ends_.shared.loop.now();
  std::vector<Guest*> due;
  for (auto& [uid, guest] : guests_.entries()) {
    if (!guest.waits || guest.look_at > now) continue;
    guest.waits = ends_.shared.roster.pods().standing(uid) == nullptr;  // else bound, by whomever
    if (guest.waits) due.push_back(&guest);
  }
  std::sort(due.begin(), due.end(),
            [](const Guest* a, const Guest* b) { return a->look_at < b->look_at; });
  if (due.size() > kLookedAtMax) due.resize(kLookedAtMax);
  auto specs = std::make_shared<std::vector<core::PodSpec>>();
  for (Guest* guest : due) {
    guest->look_at = now + kLookEvery;
    specs->push_back(guest->spec);
  }
  if (specs->empty()) return;
  ends_.shared.mailbox.ask([this, alive = alive_, &loop = ends_.shared.loop,
                            specs](const scheduler::Mailbox::Hearing& hearing) {
    auto uids = std::make_shared<std::vector<std::string>>();
    for (const auto& spec : *specs) {
      if (hearing.engine.fits_somewhere(spec)) uids->push_back(spec.uid);
    }
    if (uids->empty()) return;
    loop.post([this, alive, uids] {
      if (!*alive) return;
      for (const auto& uid : *uids) touch(uid);
    });
  });
}

// kube-scheduler may refuse it again for reasons of its own: the pauses grow.
void Extender::touch(const std::string& uid) {
  Guest* guest = guests_.find(uid);
  if (guest == nullptr || !guest->waits) return;
  guest->backoff.next();
  guest->look_at = ends_.shared.loop.now() + guest->backoff.peek();
  ++counters_.woken;
  const codec::MetadataAsk patch{.uid = uid,
                                 .annotations = {{std::string(dialect::kRetryAnnotation),
                                                  std::to_string(unix_nanos() / 1'000'000'000)}},
                                 .labels = {}};
  ends_.shared.pods.write(
      {.ns = guest->object.ns, .name = guest->object.name}, patch,
      [this, alive = alive_, uid, name = guest->spec.name](const std::string& error) {
        if (!*alive || error.empty()) return;
        if (ends_.shared.roster.pods().uid_of(name) != uid) guests_.forget(uid);
      });
}

}  // namespace stowage::extender
