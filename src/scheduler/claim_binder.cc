#include "scheduler/claim_binder.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "codec/patches.h"
#include "kube/object_path.h"
#include "kube/object_version.h"

namespace stowage::scheduler {
namespace {

using kube::ObjectOutcome;
using kube::ObjectResult;

constexpr int kConflictsMax = 5;  // for a volume that others change at the same time

struct Name {
  std::string ns;
  std::string name;
};
Name split(const std::string& claim) {
  const std::size_t slash = claim.find('/');
  if (slash == std::string::npos) return {.ns = {}, .name = claim};
  return {.ns = claim.substr(0, slash), .name = claim.substr(slash + 1)};
}

std::string claim_path(const std::string& claim) {
  const Name name = split(claim);
  return kube::core_path(name.ns, "persistentvolumeclaims", name.name);
}

std::string volume_path(const std::string& volume) {
  return "/api/v1/persistentvolumes/" + net::percent_encode(volume);
}

bool is_number(const std::string& text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// Versions are opaque by contract and numbers in practice. If they are not numbers, neither is
// newer.
bool newer(const std::string& version, const std::string& than) {
  if (!is_number(version) || !is_number(than)) return false;
  return version.size() != than.size() ? version.size() > than.size() : version > than;
}

}  // namespace

ClaimBinder::ClaimBinder(ClaimBinderOptions options, Deps deps)
    : options_(options),
      deps_(std::move(deps)),
      timer_(deps_.loop),
      alive_(std::make_shared<bool>(true)) {}

ClaimBinder::~ClaimBinder() { *alive_ = false; }

ClaimBinder::Reply ClaimBinder::guarded(const JobPtr& job, Reply reply) const {
  return [alive = alive_, job, reply = std::move(reply)](const ObjectOutcome& outcome) {
    if (*alive && !job->ended) reply(outcome);
  };
}

void ClaimBinder::bind(const Request& ask, Done done) {
  if (const auto old = jobs_.find(ask.uid); old != jobs_.end()) forget(JobPtr(old->second));
  auto job = std::make_shared<Job>();
  job->uid = ask.uid;
  job->node = ask.node;
  job->done = std::move(done);
  job->until = deps_.loop.now() + options_.limit;
  for (const core::ClaimStep& claim : ask.claims) {
    const ClaimView* view = deps_.claim(claim.claim);
    job->steps.push_back({.want = claim, .uid = view == nullptr ? std::string() : view->uid});
    by_claim_[claim.claim].insert(job->uid);
  }
  jobs_.emplace(job->uid, job);
  deps_.on_number(jobs_.size());
  if (!std::exchange(looking_, true)) timer_.start(options_.look_every, [this] { look(); });
  write_next(job);
}

void ClaimBinder::forget_all() {
  while (!jobs_.empty()) forget(JobPtr(jobs_.begin()->second));
}

// One step after the other: a step that was not written need not be undone.
void ClaimBinder::write_next(const JobPtr& job) {
  while (job->next < job->steps.size()) {
    Step& step = job->steps[job->next];
    bool bound = false;
    const std::string wrong = trouble(*job, step, bound);
    if (!wrong.empty()) return fail(job, wrong);
    const bool said =
        step.want.volume.empty() && deps_.claim(step.want.claim)->selected_node == job->node;
    if (!bound && !said) {
      if (!step.want.volume.empty()) return read_volume(job, job->next, 0);
      return write_node(job, step);
    }
    // A claim that already names our node counts as written by us.
    step.written = said;
    step.seen = said;
    ++job->next;
  }
  check(job);
}

void ClaimBinder::write_node(const JobPtr& job, Step& step) {
  step.written = true;  // assumed until the reply: it is undone if the time limit passes meanwhile
  deps_.objects.call({.what = fmt::format("write the node into claim {}", step.want.claim),
                      .target = claim_path(step.want.claim),
                      .body = codec::selected_node_patch(step.uid, job->node),
                      .lane = kube::Lane::bind},
                     guarded(job, [this, job, at = job->next](const ObjectOutcome& outcome) {
                       Step& written = job->steps[at];
                       // After a lost reply the write may have happened. Undoing a write that did
                       // not happen is harmless.
                       written.written = outcome.result == ObjectResult::done ||
                                         outcome.result == ObjectResult::failed;
                       if (outcome.result != ObjectResult::done) return fail(job, outcome.message);
                       written.version = kube::ObjectVersion().of(outcome.body);
                       step_written(job);
                     }));
}

// A volume may be assigned to another claim at the same moment. So it is read first, and the patch
// applies only to the version that was read.
void ClaimBinder::read_volume(const JobPtr& job, std::size_t step, int attempt) {
  const std::string& volume = job->steps[step].want.volume;
  deps_.objects.call({.what = fmt::format("read volume {}", volume),
                      .method = "GET",
                      .target = volume_path(volume),
                      .lane = kube::Lane::bind},
                     guarded(job, [this, job, step, attempt](const ObjectOutcome& outcome) {
                       volume_read(job, step, attempt, outcome);
                     }));
}

void ClaimBinder::volume_read(const JobPtr& job, std::size_t step, int attempt,
                              const ObjectOutcome& outcome) {
  const core::ClaimStep& want = job->steps[step].want;
  if (outcome.result != ObjectResult::done) return fail(job, outcome.message);
  const auto owner = codec::read_volume_owner(outcome.body);
  if (!owner) {
    return fail(job,
                fmt::format("volume {} cannot be read: {}", want.volume, owner.error().message));
  }
  if (owner->deleting) return fail(job, fmt::format("volume {} is being deleted", want.volume));
  const Name name = split(want.claim);
  const std::string& uid = job->steps[step].uid;
  const bool named = owner->claimed && owner->claim.ns == name.ns &&
                     owner->claim.name == name.name &&
                     (owner->claim.uid.empty() || owner->claim.uid == uid);
  if (owner->claimed && !named) {
    // The claim may belong to another tenant, and users read this message: it does not name the
    // claim.
    return fail(job, fmt::format("volume {} was bound to another claim meanwhile", want.volume));
  }
  if (named && owner->claim.uid == uid) return step_written(job);  // by us, in an earlier attempt
  write_volume(job, step, attempt,
               codec::claim_ref_patch({.volume_version = owner->resource_version,
                                       .claim = {.ns = name.ns, .name = name.name, .uid = uid},
                                       .by_us = !named}));
}

void ClaimBinder::write_volume(const JobPtr& job, std::size_t step, int attempt,
                               const std::string& body) {
  const std::string& volume = job->steps[step].want.volume;
  deps_.objects.call({.what = fmt::format("give volume {} to its claim", volume),
                      .target = volume_path(volume),
                      .body = body,
                      .lane = kube::Lane::bind},
                     guarded(job, [this, job, step, attempt](const ObjectOutcome& outcome) {
                       if (outcome.result == ObjectResult::done) return step_written(job);
                       if (outcome.result == ObjectResult::conflict && attempt < kConflictsMax) {
                         return read_volume(job, step, attempt + 1);
                       }
                       fail(job, outcome.message);
                     }));
}

void ClaimBinder::step_written(const JobPtr& job) {
  ++job->next;
  write_next(job);
}

// Why this claim cannot be bound; empty: no reason, and `bound` tells whether it is bound.
std::string ClaimBinder::trouble(const Job& job, Step& step, bool& bound) const {
  const std::string& name = step.want.claim;
  const ClaimView* view = deps_.claim(name);
  bound = false;
  if (view == nullptr || view->uid != step.uid) {
    return fmt::format("claim {} was deleted", name);
  }
  const std::string& volume = step.want.volume;
  if (!volume.empty() && !view->volume.empty() && view->volume != volume) {
    return fmt::format("claim {} was bound to volume {}, not to {}", name, view->volume, volume);
  }
  bound = view->bound;
  if (bound || !volume.empty()) return {};
  if (view->selected_node == job.node) {
    step.seen = true;
    return {};
  }
  if (!view->selected_node.empty()) {
    return fmt::format("claim {} is to be provisioned for node {}, not for {}", name,
                       view->selected_node, job.node);
  }
  const bool cleared = step.written && (step.seen || newer(view->resource_version, step.version));
  if (!cleared) return {};
  return fmt::format("the provisioner of claim {} rejected node {}", name, job.node);
}

void ClaimBinder::check(const JobPtr& job) {
  if (job->next < job->steps.size()) return;  // claims are checked once all are written
  bool all = true;
  for (Step& step : job->steps) {
    bool bound = false;
    const std::string wrong = trouble(*job, step, bound);
    if (!wrong.empty()) return fail(job, wrong);
    all = all && bound;
  }
  if (!all) return;
  ++counters_.bound;
  forget(job);
  job->done("");
}

void ClaimBinder::claim_changed(const std::string& claim) {
  const auto found = by_claim_.find(claim);
  if (found == by_claim_.end()) return;
  const std::set<std::string> uids = found->second;
  for (const std::string& uid : uids) {
    const auto job = jobs_.find(uid);
    if (job != jobs_.end()) check(JobPtr(job->second));
  }
}

// The pod is placed again only when no write of this attempt can arrive after the writes of the
// next one.
void ClaimBinder::fail(const JobPtr& job, const std::string& why) {
  ++counters_.failed;
  forget(job);
  undo(job, 0, why);
}

void ClaimBinder::undo(const JobPtr& job, std::size_t at, const std::string& why) {
  for (; at < job->steps.size(); ++at) {
    const Step& step = job->steps[at];
    const ClaimView* view = deps_.claim(step.want.claim);
    if (!step.written || view == nullptr || view->uid != step.uid || view->bound) continue;
    if (!view->volume.empty() || by_claim_.contains(step.want.claim))
      continue;  // other pods need
                 // it
    const bool ours = view->selected_node == job->node ||
                      (!step.seen && !newer(view->resource_version, step.version));
    if (!ours) continue;
    return deps_.objects.call({.what = fmt::format("take the node from claim {}", step.want.claim),
                               .target = claim_path(step.want.claim),
                               .body = codec::selected_node_patch(step.uid, ""),
                               .lane = kube::Lane::bind},
                              [this, alive = alive_, job, at, why](const ObjectOutcome&) {
                                if (*alive) undo(job, at + 1, why);
                              });
  }
  job->done(why);
}

void ClaimBinder::forget(const JobPtr& job) {
  job->ended = true;
  for (const Step& step : job->steps) {
    const auto found = by_claim_.find(step.want.claim);
    if (found == by_claim_.end()) continue;
    found->second.erase(job->uid);
    if (found->second.empty()) by_claim_.erase(found);
  }
  jobs_.erase(job->uid);
  deps_.on_number(jobs_.size());
}

void ClaimBinder::look() {
  const auto now = deps_.loop.now();
  std::vector<JobPtr> all;
  for (const auto& [uid, job] : jobs_) all.push_back(job);
  for (const JobPtr& job : all) {
    if (job->ended) continue;
    if (!deps_.pod_waits(job->uid)) {
      forget(job);
    } else if (!deps_.node_there(job->node)) {
      fail(job, fmt::format("node {} was deleted", job->node));
    } else if (now >= job->until) {
      ++counters_.timed_out;
      std::string open;
      for (const Step& step : job->steps) {
        const ClaimView* view = deps_.claim(step.want.claim);
        if (view != nullptr && view->bound) continue;
        open += (open.empty() ? "" : ", ") + step.want.claim;
      }
      fail(job,
           fmt::format("claims are not bound after {} seconds: {}",
                       std::chrono::duration_cast<std::chrono::seconds>(options_.limit).count(),
                       open));
    }
  }
  looking_ = !jobs_.empty();
  if (looking_) timer_.start(options_.look_every, [this] { look(); });
}

ClaimBinder::Counters ClaimBinder::counters() const {
  Counters counters = counters_;
  counters.waiting = jobs_.size();
  return counters;
}

}  // namespace stowage::scheduler
