#include "local/controllers/jobs.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/backoff.h"
#include "base/number.h"
#include "local/defaults.h"

namespace stowage::local {
namespace {

using std::chrono::microseconds;
using std::chrono::seconds;

constexpr std::int64_t kPodsAtOnce = 200;  // then other work runs
constexpr microseconds kRetry = seconds{5};
constexpr microseconds kFirstRest = seconds{1};  // after a failure; doubles with each
constexpr microseconds kLongestRest = seconds{60};
constexpr std::string_view kIndex = "batch.kubernetes.io/job-completion-index";

bool has_condition(const json::object& tree, std::string_view type) {
  const json::object* condition = find_condition(tree, type);
  return condition != nullptr && text_at(*condition, "status") == "True";
}

std::optional<std::int64_t> index_of(const StoredObject& pod) {
  const std::string* text = find_label(pod.labels, kIndex);
  return text == nullptr ? std::nullopt : base::parse_number<std::int64_t>(*text);
}

// "0,2-4"
std::string index_list(const std::set<std::int64_t>& indexes) {
  std::string text;
  for (auto at = indexes.begin(); at != indexes.end();) {
    const std::int64_t first = *at;
    std::int64_t last = first;
    while (++at != indexes.end() && *at == last + 1) last = *at;
    if (!text.empty()) text += ',';
    text += first == last       ? fmt::format("{}", first)
            : last == first + 1 ? fmt::format("{},{}", first, last)
                                : fmt::format("{}-{}", first, last);
  }
  return text;
}

void give_index(json::object& pod, const std::string& job, std::int64_t index) {
  const std::string text = std::to_string(index);
  json::object& metadata = make_object(pod, "metadata");
  metadata["generateName"] = fmt::format("{}-{}-", job, index);
  make_object(metadata, "labels")[kIndex] = text;
  make_object(metadata, "annotations")[kIndex] = text;
  json::object& spec = make_object(pod, "spec");
  spec["hostname"] = fmt::format("{}-{}", job, index);
  for (json::value& container : make_array(spec, "containers")) {
    if (json::object* one = container.if_object()) {
      make_array(*one, "env").push_back({{"name", "JOB_COMPLETION_INDEX"}, {"value", text}});
    }
  }
}

}  // namespace

struct Jobs::Spec {
  explicit Spec(const json::object& tree)
      : parallelism(int_at(tree, "spec.parallelism").value_or(1)),
        completions(int_at(tree, "spec.completions")),
        backoff_limit(int_at(tree, "spec.backoffLimit").value_or(6)),
        deadline(int_at(tree, "spec.activeDeadlineSeconds")),
        suspended(true_at(tree, "spec.suspend")),
        indexed(text_at(tree, "spec.completionMode") == "Indexed" && completions.has_value()) {}

  std::int64_t parallelism;
  std::optional<std::int64_t> completions;
  std::int64_t backoff_limit;
  std::optional<std::int64_t> deadline;
  bool suspended;
  bool indexed;

  [[nodiscard]] std::int64_t succeeded(const Tally& tally) const {
    return indexed ? std::ssize(tally.indexes) : std::ssize(tally.succeeded);
  }
};

Jobs::Jobs(Api& api, WorkQueue& queue, PodIndex& pods)
    : api_(api),
      queue_(queue),
      pods_(pods),
      work_(api.store(), queue, [this](const ObjectName& name) { look(name); }) {
  watch_ = follow(api_.store(), Kind::job, [this](const WatchEvent& event) { upsert(event); });
  for (const auto& [name, pod] : pods_.all()) upsert_pod(&pod);
  pods_.on_change([this](const PodFacts* after, const PodFacts* before) {
    upsert_pod(after != nullptr ? after : before);
  });
}

void Jobs::upsert(const WatchEvent& event) {
  if (event.change == Change::deleted) {
    jobs_.erase(event.object->uid);
    return;
  }
  jobs_[event.object->uid].name = event.object->name;
  work_.add(event.object->name);
}

void Jobs::upsert_pod(const PodFacts* pod) {
  const auto found = jobs_.find(pod->object->owner_uid);
  if (found == jobs_.end()) return;
  Tally& tally = found->second;
  const auto index = index_of(*pod->object);
  if (pod->phase() == "Succeeded" && tally.succeeded.insert(pod->object->uid).second && index) {
    tally.indexes.insert(*index);
  }
  if (pod->phase() == "Failed" && tally.failed.insert(pod->object->uid).second) {
    tally.last_failure = queue_.now();
  }
  work_.add(tally.name);
}

void Jobs::look(const ObjectName& name) {
  const ObjectPtr job = api_.store().get(Kind::job, name);
  if (job == nullptr || job->deleting || !jobs_.contains(job->uid)) return;
  const json::object tree = job->tree();
  if (has_condition(tree, "Complete") || has_condition(tree, "Failed")) {
    return remove_after_end(job, tree);
  }
  const Spec spec(tree);
  const Tally tally = jobs_.at(job->uid);
  if (!conclude(job, tree, spec, tally)) return;
  if (spec.suspended) {
    stop_pods(job->uid, 0);
  } else {
    run(job, tree, spec, tally);
  }
  api_.store().deliver();
  report(job, spec, tally);
}

bool Jobs::conclude(const ObjectPtr& job, const json::object& tree, const Spec& spec,
                    const Tally& tally) {
  const auto& pods = pods_.owned_by(job->uid);
  const bool idle =
      std::none_of(pods.begin(), pods.end(), [](const auto& pod) { return pod.second.active(); });
  const std::int64_t succeeded = spec.succeeded(tally);
  const bool complete = spec.completions ? succeeded >= *spec.completions : succeeded > 0 && idle;
  if (complete) {
    end(job, tally,
        {"Complete", "CompletionsReached", "Reached expected number of succeeded pods"});
    return false;
  }
  if (std::ssize(tally.failed) > spec.backoff_limit) {
    end(job, tally,
        {"Failed", "BackoffLimitExceeded", "Job has reached the specified backoff limit"});
    return false;
  }
  if (!spec.deadline || spec.suspended) return true;
  const WallTime started = parse_time(text_at(tree, "status.startTime")).value_or(queue_.now());
  const WallTime deadline = started + seconds{*spec.deadline};
  if (queue_.now() >= deadline) {
    end(job, tally,
        {"Failed", "DeadlineExceeded", "Job was active longer than specified deadline"});
    return false;
  }
  work_.add_after(job->name, deadline - queue_.now());
  return true;
}

void Jobs::run(const ObjectPtr& job, const json::object& tree, const Spec& spec,
               const Tally& tally) {
  const auto& pods = pods_.owned_by(job->uid);
  const std::int64_t active =
      std::count_if(pods.begin(), pods.end(), [](const auto& pod) { return pod.second.active(); });
  std::int64_t wanted = spec.parallelism;
  if (spec.completions) {
    wanted = std::min(wanted, *spec.completions - spec.succeeded(tally));
  } else if (spec.succeeded(tally) > 0) {
    wanted = std::min(wanted, active);  // one pod has found that the work is done
  }
  if (active > wanted) return stop_pods(job->uid, wanted);
  if (active == wanted) return;
  if (!tally.failed.empty()) {
    const auto failures = static_cast<std::uint32_t>(tally.failed.size());
    const auto rest = base::Backoff::nth(kFirstRest, kLongestRest, failures);
    const WallTime until = tally.last_failure + std::chrono::floor<microseconds>(rest);
    if (until > queue_.now()) return work_.add_after(job->name, until - queue_.now());
  }
  add_pods(job, tree, spec, tally, std::min(wanted - active, kPodsAtOnce));
  if (wanted - active > kPodsAtOnce) work_.add(job->name);
}

void Jobs::add_pods(const ObjectPtr& job, const json::object& tree, const Spec& spec,
                    const Tally& tally, std::int64_t count) {
  std::set<std::int64_t> taken = tally.indexes;
  for (const auto& [name, pod] : pods_.owned_by(job->uid)) {
    const auto index = index_of(*pod.object);
    if (index && pod.active()) taken.insert(*index);
  }
  std::int64_t index = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    json::object pod = pod_of_template(*job, tree);
    if (spec.indexed) {
      while (taken.contains(index)) ++index;
      if (index >= *spec.completions) return;
      taken.insert(index);
      give_index(pod, job->name.name, index);
    }
    if (!api_.create(Kind::pod, job->name.ns, std::move(pod))) {
      return work_.add_after(job->name, kRetry);
    }
  }
}

void Jobs::stop_pods(const std::string& uid, std::int64_t keep) {
  std::vector<ObjectPtr> active;
  for (const auto& [name, pod] : pods_.owned_by(uid)) {
    if (pod.active()) active.push_back(pod.object);
  }
  const auto kept = std::min<std::size_t>(active.size(), static_cast<std::size_t>(keep));
  for (std::size_t i = kept; i < active.size(); ++i) {
    static_cast<void>(
        api_.remove(Kind::pod, active[i]->name, {.preconditions = {active[i]->uid, ""}}));
  }
}

void Jobs::report(const ObjectPtr& job, const Spec& spec, const Tally& tally) {
  std::int64_t active = 0;
  std::int64_t ready = 0;
  std::int64_t leaving = 0;
  for (const auto& [name, pod] : pods_.owned_by(job->uid)) {
    active += pod.active() ? 1 : 0;
    ready += pod.active() && pod.ready() ? 1 : 0;
    leaving += pod.object->deleting && !pod.ended() ? 1 : 0;
  }
  static_cast<void>(api_.update(
      Kind::job, job->name, Part::status, [&](json::object& changed) -> ApiResult<bool> {
        if (text_at(changed, "metadata.uid") != job->uid) return false;
        json::object& status = make_object(changed, "status");
        set_count(status, "active", active);
        status["ready"] = ready;
        status["terminating"] = leaving;
        set_count(status, "succeeded", spec.succeeded(tally));
        set_count(status, "failed", std::ssize(tally.failed));
        status["uncountedTerminatedPods"].emplace_object();
        if (spec.indexed && !tally.indexes.empty()) {
          status["completedIndexes"] = index_list(tally.indexes);
        }
        if (!spec.suspended && !status.contains("startTime")) {
          status["startTime"] = time_text(queue_.now());
        }
        if (spec.suspended || has_condition(changed, "Suspended")) {
          set_condition(status,
                        {"Suspended", spec.suspended ? "True" : "False",
                         spec.suspended ? "JobSuspended" : "JobResumed",
                         spec.suspended ? "Job suspended" : "Job resumed"},
                        queue_.now());
        }
        if (spec.suspended) status.erase("startTime");
        return true;
      }));
}

void Jobs::end(const ObjectPtr& job, const Tally& tally, const Verdict& verdict) {
  stop_pods(job->uid, 0);
  api_.store().deliver();
  report(job, Spec(job->tree()), tally);
  static_cast<void>(api_.update(
      Kind::job, job->name, Part::status, [&](json::object& changed) -> ApiResult<bool> {
        if (text_at(changed, "metadata.uid") != job->uid) return false;
        json::object& status = make_object(changed, "status");
        const bool good = verdict.type == "Complete";
        const WallTime now = queue_.now();
        set_condition(status,
                      {good ? "SuccessCriteriaMet" : "FailureTarget", "True", verdict.reason,
                       verdict.message},
                      now);
        set_condition(status, {verdict.type, "True", verdict.reason, verdict.message}, now);
        if (good) status["completionTime"] = time_text(now);
        return true;
      }));
}

void Jobs::remove_after_end(const ObjectPtr& job, const json::object& tree) {
  const auto ttl = int_at(tree, "spec.ttlSecondsAfterFinished");
  if (!ttl) return;
  WallTime ended = queue_.now();
  for (const std::string_view type : {"Complete", "Failed"}) {
    const json::object* one = find_condition(tree, type);
    if (one != nullptr) ended = parse_time(text_at(*one, "lastTransitionTime")).value_or(ended);
  }
  const WallTime until = ended + seconds{*ttl};
  if (until > queue_.now()) return work_.add_after(job->name, until - queue_.now());
  static_cast<void>(api_.remove(Kind::job, job->name, {.preconditions = {job->uid, ""}}));
}

}  // namespace stowage::local
