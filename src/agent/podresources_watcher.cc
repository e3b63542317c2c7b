#include "agent/podresources_watcher.h"

#include <algorithm>
#include <utility>

#include "kube/pacing.h"

namespace stowage::agent {

struct PodResourcesWatcher::Impl : std::enable_shared_from_this<PodResourcesWatcher::Impl> {
  Impl(net::EventLoop& on, PodResources& of, const WatcherOptions& given, Deps given_deps)
      : loop(on),
        resources(of),
        options(given),
        deps(std::move(given_deps)),
        timer(on),
        backoff(given.backoff_min, given.backoff_max, given.seed) {
    contact.since = loop.now();
    contact.why = "the kubelet has not answered yet";
  }

  void ask() {
    asking = true;
    refresh_asked = false;
    asked_at = loop.now();
    resources.list([weak = weak_from_this()](Result<std::vector<PodDevices>> result) {
      const auto self = weak.lock();
      if (self && !self->stopped) self->take(std::move(result));
    });
  }

  void take(Result<std::vector<PodDevices>> result) {
    asking = false;
    PodChanges changes;
    Contact now = contact;
    if (result) {
      changes = changes_between(pods, *result);
      pods = std::move(*result);
      backoff.reset();
      now.in_touch = true;
      now.why.clear();
      now.heard = loop.now();
    } else {
      now.in_touch = false;
      now.why = std::move(result.error().message);
    }
    if (now.in_touch != contact.in_touch) now.since = loop.now();
    const bool news = now.in_touch != contact.in_touch || now.why != contact.why;
    contact = std::move(now);
    // Before the callbacks: they may stop it.
    ask_after(contact.in_touch ? options.every : backoff.next());
    if (refresh_asked) hurry();
    if (!changes.empty() && deps.on_changes) deps.on_changes(changes);
    if (news && !stopped && deps.on_contact) deps.on_contact(contact);
  }

  void ask_after(net::Duration pause) {
    due = after(loop, pause);
    timer.start(pause, [this] { ask(); });
  }

  // Moves the next request forward, as far as the minimum interval allows.
  void hurry() {
    const net::Moment soon = std::max(asked_at + options.refresh_asked, loop.now());
    if (soon < due) ask_after(soon - loop.now());
  }

  void refresh_soon() {
    if (!started || stopped) return;
    refresh_asked = true;
    if (!asking) hurry();
  }

  void stop() {
    stopped = true;
    timer.cancel();
  }

  net::EventLoop& loop;
  PodResources& resources;
  WatcherOptions options;
  Deps deps;
  net::Timer timer;
  kube::JitteredBackoff backoff;
  bool started = false;
  bool stopped = false;
  bool asking = false;
  bool refresh_asked = false;  // since the last request
  net::Moment asked_at{};
  net::Moment due{};
  std::vector<PodDevices> pods;
  Contact contact;
};

PodResourcesWatcher::PodResourcesWatcher(net::EventLoop& loop, PodResources& resources,
                                         const WatcherOptions& options, Deps deps)
    : impl_(std::make_shared<Impl>(loop, resources, options, std::move(deps))) {}
PodResourcesWatcher::~PodResourcesWatcher() { impl_->stop(); }

void PodResourcesWatcher::start() {
  impl_->started = true;
  impl_->ask();
}
void PodResourcesWatcher::stop() { impl_->stop(); }
void PodResourcesWatcher::refresh_soon() { impl_->refresh_soon(); }
const std::vector<PodDevices>& PodResourcesWatcher::pods() const { return impl_->pods; }
const Contact& PodResourcesWatcher::contact() const { return impl_->contact; }

}  // namespace stowage::agent
