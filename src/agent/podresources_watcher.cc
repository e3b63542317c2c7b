#include "agent/podresources_watcher.h"

#include <algorithm>
#include <utility>

#include "kube/pacing.h"

namespace stowage::agent {

struct PodResourcesWatcher::Body : std::enable_shared_from_this<PodResourcesWatcher::Body> {
  Body(net::EventLoop& on, PodResources& of, const WatcherOptions& given, Ends given_ends)
      : loop(on),
        resources(of),
        options(given),
        ends(std::move(given_ends)),
        timer(on),
        backoff(given.backoff_min, given.backoff_max, given.seed) {
    contact.since = loop.now();
    contact.why = "the kubelet has not answered yet";
  }

  void ask() {
    asking = true;
    nudged = false;
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
    // Before anybody is told: they may stop it.
    ask_after(contact.in_touch ? options.every : backoff.next());
    if (nudged) hurry();
    if (!changes.empty() && ends.on_changes) ends.on_changes(changes);
    if (news && !stopped && ends.on_contact) ends.on_contact(contact);
  }

  void ask_after(net::Duration pause) {
    due = after(loop, pause);
    timer.start(pause, [this] { ask(); });
  }

  // As soon as nudges allow, if that is sooner.
  void hurry() {
    const net::Moment soon = std::max(asked_at + options.nudged, loop.now());
    if (soon < due) ask_after(soon - loop.now());
  }

  void nudge() {
    if (!started || stopped) return;
    nudged = true;
    if (!asking) hurry();
  }

  void stop() {
    stopped = true;
    timer.cancel();
  }

  net::EventLoop& loop;
  PodResources& resources;
  WatcherOptions options;
  Ends ends;
  net::Timer timer;
  kube::JitteredBackoff backoff;
  bool started = false;
  bool stopped = false;
  bool asking = false;
  bool nudged = false;  // since the last list was asked for
  net::Moment asked_at{};
  net::Moment due{};
  std::vector<PodDevices> pods;
  Contact contact;
};

PodResourcesWatcher::PodResourcesWatcher(net::EventLoop& loop, PodResources& resources,
                                         const WatcherOptions& options, Ends ends)
    : body_(std::make_shared<Body>(loop, resources, options, std::move(ends))) {}
PodResourcesWatcher::~PodResourcesWatcher() { body_->stop(); }

void PodResourcesWatcher::start() {
  body_->started = true;
  body_->ask();
}
void PodResourcesWatcher::stop() { body_->stop(); }
void PodResourcesWatcher::nudge() { body_->nudge(); }
const std::vector<PodDevices>& PodResourcesWatcher::pods() const { return body_->pods; }
const Contact& PodResourcesWatcher::contact() const { return body_->contact; }

}  // namespace stowage::agent
