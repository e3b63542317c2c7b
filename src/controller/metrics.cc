#include "controller/metrics.h"

#include <array>

#include "base/exposition.h"
#include "base/version.h"
#include "controller/metrics_parts.h"

namespace stowage::controller {
namespace {

using base::Exposition;
using Type = Exposition::Type;

void engine_metrics(const scheduler::Scheduler::Snapshot& snapshot, Exposition& out) {
  const auto& engine = snapshot.engine;
  const auto& counters = engine.counters;
  out.gauge("stowage_nodes", "Nodes in the ledger.", as_double(engine.nodes));
  out.gauge("stowage_pods_placed", "Pods in the ledger: reserved, being bound or bound.",
            as_double(engine.pods));
  out.family("stowage_pending_pods", Type::gauge,
             "Pending pods, by queue: active (not tried yet), unschedulable (no node fits), "
             "backoff (a bind failed).");
  out.sample(as_double(counters.waiting - counters.resting), {{"queue", "unschedulable"}});
  out.sample(as_double(counters.resting), {{"queue", "backoff"}});
  out.sample(as_double(snapshot.event_queue.pending), {{"queue", "active"}});
  out.gauge("stowage_binds_in_flight", "Pods that are being bound.", as_double(counters.binding));
  out.counter("stowage_decisions_total", "Scheduling attempts.", counters.decisions);
  out.counter("stowage_decisions_placed_total", "Scheduling attempts that found a node.",
              counters.bound);
  out.counter("stowage_decisions_refused_total", "Scheduling attempts that found no node.",
              counters.refused);
  out.counter("stowage_decisions_held_back_total",
              "Refusals of pods that would fit, to keep cards for pods that need several.",
              counters.held_back);
  out.counter("stowage_node_evaluations_total", "Nodes evaluated for a pod: the unit of work.",
              counters.nodes_judged);
  out.counter("stowage_price_model_updates_total",
              "Times that the price model of the policy dual-price changed.",
              counters.models_learned);
  out.gauge("stowage_shapes", "Shapes of pods in the cache.", as_double(counters.shapes));
  out.histogram("stowage_decision_seconds", "Duration of decisions about pods that arrived.",
                {.bounds = scheduler::kDecideSeconds,
                 .counts = engine.decides,
                 .sum = static_cast<double>(engine.decide_ns_sum) / 1e9});
  out.gauge("stowage_decision_seconds_max", "The longest decision since the start.",
            static_cast<double>(engine.decide_ns_max) / 1e9);
  out.family("stowage_refusals_total", Type::counter,
             "Refusals written to pods, by dominant reason.");
  for (const auto& [word, count] : snapshot.command_executor.refused_by) {
    out.sample(count, {{"reason", word}});
  }
}

void nomination_metrics(const scheduler::Scheduler::Snapshot& snapshot, Exposition& out) {
  const auto& counters = snapshot.engine.counters;
  const auto& command_executor = snapshot.command_executor;
  out.gauge("stowage_nominated_pods", "Pods for which capacity is kept on a node.",
            as_double(counters.nominations));
  out.counter("stowage_nominations_started_total",
              "Nominations: times that capacity began to be kept for a pod.",
              counters.nominations_opened);
  out.counter("stowage_preemptions_total",
              "Times that pods of lower priority were evicted for a pod.", counters.preemptions);
  out.counter("stowage_evictions_decided_total", "Pods that the scheduler decided to evict.",
              counters.evicted);
  out.family("stowage_evictions_total", Type::counter,
             "Evictions sent to the API server, by outcome.");
  out.sample(command_executor.evictions.deleted, {{"outcome", "deleted"}});
  out.sample(command_executor.evictions.gone, {{"outcome", "gone"}});
  out.sample(command_executor.evictions.failed, {{"outcome", "failed"}});
  out.family("stowage_nomination_writes_total", Type::counter,
             "Writes of nominatedNodeName, by outcome.");
  out.sample(command_executor.nominations.written, {{"outcome", "written"}});
  out.sample(command_executor.nominations.failed, {{"outcome", "failed"}});
  out.gauge("stowage_shapes_waiting_for_others",
            "Shapes of waiting pods that a change of other pods or volumes may help.",
            as_double(counters.by_others));
  out.gauge("stowage_binds_waiting_for_volumes", "Pods whose volume claims are being bound.",
            as_double(command_executor.claims.waiting));
  out.family("stowage_volume_binds_total", Type::counter,
             "Pods whose volume claims had to be bound first, by outcome.");
  out.sample(command_executor.claims.bound, {{"outcome", "bound"}});
  out.sample(command_executor.claims.failed - command_executor.claims.timed_out,
             {{"outcome", "failed"}});
  out.sample(command_executor.claims.timed_out, {{"outcome", "timed_out"}});
}

void picker_metrics(const scheduler::Scheduler::Snapshot& snapshot, Exposition& out) {
  const auto& pickers = snapshot.command_executor.pickers;
  if (pickers.empty()) return;
  out.family("stowage_picker_places_total", Type::counter,
             "Placements by profiles with a picker: chosen by the picker, or by the policy (also "
             "if the picker's node no longer fitted).");
  out.sample(snapshot.engine.counters.picked, {{"by", "picker"}});
  out.sample(snapshot.engine.counters.not_picked, {{"by", "policy"}});
  const auto each = [&](std::string_view name, Type type, std::string_view help, auto value) {
    out.family(name, type, help);
    for (const auto& [profile, counters] : pickers) {
      out.sample(value(counters), {{"profile", profile}});
    }
  };
  using Counters = scheduler::Picker::Counters;
  each("stowage_picker_requests_total", Type::counter, "Requests to the picker.",
       [](const Counters& c) { return c.asked; });
  each("stowage_picker_picked_total", Type::counter, "Answers of the picker that named a node.",
       [](const Counters& c) { return c.picked; });
  out.family("stowage_picker_fallbacks_total", Type::counter,
             "Pods placed by the policy instead of the picker, by profile and reason.");
  for (const auto& [profile, counters] : pickers) {
    for (std::size_t why = 0; why < scheduler::kNotPicked; ++why) {
      out.sample(counters.not_picked[why],
                 {{"profile", profile},
                  {"reason", scheduler::to_string(static_cast<scheduler::NotPicked>(why))}});
    }
  }
  each("stowage_picker_seconds_total", Type::counter,
       "Time from request to valid answer of the picker.",
       [](const Counters& c) { return static_cast<double>(c.nanos_sum) / 1e9; });
  each("stowage_picker_answers_total", Type::counter, "Answers in stowage_picker_seconds_total.",
       [](const Counters& c) { return c.answers; });
  each("stowage_picker_seconds_max", Type::gauge,
       "The slowest valid answer of the picker since the start.",
       [](const Counters& c) { return static_cast<double>(c.nanos_max) / 1e9; });
  each("stowage_picker_paused", Type::gauge, "1 while the picker gets no requests after failures.",
       [](const Counters& c) { return c.paused ? 1.0 : 0.0; });
}

void object_metrics(const scheduler::ClusterCache::Sizes& cluster_cache, Exposition& out) {
  out.gauge("stowage_unreadable_nodes",
            "Nodes that cannot be decoded: their last known state counts.",
            as_double(cluster_cache.unread_nodes));
}

void annotation_metrics(const scheduler::ClusterCache::Sizes& cluster_cache, Exposition& out) {
  out.gauge("stowage_pods_annotation_mismatch",
            "Bound pods whose annotations name other cards than the ledger.",
            as_double(cluster_cache.annotation_mismatched));
  out.counter("stowage_annotation_edits_total",
              "Times that annotations about the cards of a bound pod were edited.",
              cluster_cache.annotation_edits);
  out.counter("stowage_untrusted_annotations_total",
              "Pods with annotations of the scheduler that it did not write; they are ignored.",
              cluster_cache.untrusted);
}

void event_queue_metrics(const scheduler::Scheduler::Snapshot& snapshot, Exposition& out) {
  out.family("stowage_engine_queue_events", Type::gauge,
             "Events in the queue of the engine, by lane.");
  out.sample(as_double(snapshot.event_queue.replies), {{"lane", "replies"}});
  out.sample(as_double(snapshot.event_queue.objects), {{"lane", "objects"}});
  out.sample(as_double(snapshot.event_queue.pending), {{"lane", "pending"}});
  out.gauge("stowage_engine_silence_seconds", "Time since the engine's thread last answered.",
            snapshot.engine_silent_seconds);
  out.gauge("stowage_engine_longest_event_seconds",
            "The longest event of the last one to two minutes, in CPU time of the engine's thread.",
            std::chrono::duration<double>(snapshot.engine.longest_event).count());
  out.gauge("stowage_loop_longest_turn_seconds",
            "The longest turn of the event loop in the last one to two minutes, in CPU time of its "
            "thread.",
            std::chrono::duration<double>(snapshot.loop_longest_turn).count());
}

void bind_metrics(const scheduler::Scheduler::Snapshot& snapshot, Exposition& out) {
  const auto& binder = snapshot.binder;
  out.family("stowage_binds_total", Type::counter, "Binds sent to the API server, by outcome.");
  out.sample(binder.bound, {{"outcome", "bound"}});
  out.sample(binder.gone, {{"outcome", "gone"}});
  out.sample(binder.refused, {{"outcome", "refused"}});
  out.sample(binder.failed, {{"outcome", "failed"}});
  out.counter("stowage_binds_unknown_total",
              "Binds whose reply does not tell whether the pod is bound.", binder.unknown);
  const auto& events = snapshot.events;
  out.family("stowage_events_total", Type::counter, "Kubernetes events, by outcome.");
  out.sample(events.created, {{"outcome", "created"}});
  out.sample(events.merged, {{"outcome", "merged"}});
  out.sample(events.dropped + events.shed, {{"outcome", "dropped"}});
  out.sample(events.failed, {{"outcome", "failed"}});
  out.family("stowage_conditions_total", Type::counter, "PodScheduled conditions, by outcome.");
  out.sample(snapshot.conditions.written, {{"outcome", "written"}});
  out.sample(snapshot.conditions.unchanged, {{"outcome", "unchanged"}});
  out.sample(snapshot.conditions.dropped, {{"outcome", "dropped"}});
  out.sample(snapshot.conditions.failed, {{"outcome", "failed"}});
}

void watch_metrics(const scheduler::Scheduler::Snapshot& snapshot, Exposition& out) {
  const std::array<std::pair<const char*, const kube::ReflectorCounters*>, 2> watches{
      {{"nodes", &snapshot.nodes}, {"pods", &snapshot.pods}}};
  const auto each = [&](std::string_view name, std::string_view help,
                        std::uint64_t kube::ReflectorCounters::*field) {
    out.family(name, Type::counter, help);
    for (const auto& [resource, counters] : watches) {
      out.sample(counters->*field, {{"resource", resource}});
    }
  };
  each("stowage_lists_total", "Lists started.", &kube::ReflectorCounters::lists);
  each("stowage_watches_total", "Watches opened.", &kube::ReflectorCounters::watches);
  each("stowage_watch_events_total", "Events received.", &kube::ReflectorCounters::events);
  each("stowage_watch_failures_total", "Failures of lists and watches.",
       &kube::ReflectorCounters::failures);
  each("stowage_watch_decode_errors_total", "Events that could not be decoded.",
       &kube::ReflectorCounters::bad_lines);
}

void api_metrics(const kube::ApiCounters& api, Exposition& out) {
  out.family("stowage_api_calls_total", Type::counter,
             "Calls to the API server, by method and code (0: no reply).");
  for (const auto& call : api.calls) {
    out.sample(call.calls, {{"method", call.method}, {"code", std::to_string(call.code)}});
  }
  out.counter("stowage_api_retries_total", "Calls repeated after 429, 503 or 401.", api.retries);
  out.counter("stowage_api_throttled_total", "Replies with 429: the API server limits our rate.",
              api.throttled);
  out.gauge("stowage_api_in_flight", "Calls in flight.", as_double(api.in_flight));
  out.family("stowage_api_waiting", Type::gauge, "Calls that wait to be sent, by lane.");
  const std::array<const char*, kube::kLaneCount> lanes{"lease", "bind", "normal", "events"};
  for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
    out.sample(as_double(api.waiting[lane]), {{"lane", lanes[lane]}});
  }
}

void external_metrics(const scheduler::Scheduler::Snapshot& snapshot, Exposition& out) {
  const auto& counters = snapshot.engine.counters;
  out.gauge("stowage_holds", "Pods of other schedulers whose cards are held or being bound.",
            as_double(counters.held));
  out.counter("stowage_holds_expired_total", "Holds that expired before a bind.",
              counters.holds_expired);
  out.gauge("stowage_quota_namespaces", "Namespaces with a quota.",
            as_double(snapshot.quota.namespaces));
  out.counter("stowage_quota_unreadable_total",
              "Quotas that could not be read; the last valid ones count.",
              snapshot.quota.unreadable);
  out.gauge("stowage_quota_broken", "1 while the newest version of a quota cannot be read.",
            snapshot.quota.broken ? 1 : 0);
}

void extender_metrics(const std::vector<ExtenderSnapshot>& extenders, Exposition& out) {
  using extender::Verb;
  const auto each = [&](std::string_view name, std::string_view help, auto value) {
    out.family(name, Type::counter, help);
    for (const auto& extender : extenders) {
      for (std::size_t v = 0; v < extender::kVerbs; ++v) {
        out.sample(
            value(extender.counters.verbs[v]),
            {{"extender", extender.name}, {"verb", extender::to_string(static_cast<Verb>(v))}});
      }
    }
  };
  if (extenders.empty()) return;
  each("stowage_extender_calls_total", "Calls of kube-scheduler.",
       [](const auto& verb) { return verb.calls; });
  each("stowage_extender_errors_total", "Calls that were answered with an error.",
       [](const auto& verb) { return verb.errors; });
  each("stowage_extender_refused_total", "Filter calls that no node passed.",
       [](const auto& verb) { return verb.refused; });
  out.family("stowage_extender_requeued_total", Type::counter,
             "Refused pods that were annotated so that kube-scheduler tries them again.");
  for (const auto& extender : extenders) {
    out.sample(extender.counters.woken, {{"extender", extender.name}});
  }
  out.family("stowage_extender_waited_total", Type::counter,
             "Calls that waited until a replica could answer.");
  for (const auto& extender : extenders) {
    out.sample(extender.waited, {{"extender", extender.name}});
  }
  out.family("stowage_extender_forwarded_total", Type::counter,
             "Calls that were forwarded to the leader, by outcome.");
  for (const auto& extender : extenders) {
    const extender::Forwarder::Counters& forwarded = extender.forwarded;
    out.sample(forwarded.forwarded, {{"extender", extender.name}, {"outcome", "answered"}});
    out.sample(forwarded.failed, {{"extender", extender.name}, {"outcome", "failed"}});
    out.sample(forwarded.refused, {{"extender", extender.name}, {"outcome", "refused"}});
  }
  each("stowage_extender_seconds_total", "Time from a call's arrival to its answer.",
       [](const auto& verb) { return static_cast<double>(verb.nanos) / 1e9; });
}

void queue_metrics(const MetricsInput& input, Exposition& out) {
  const kube::ApiClientOptions api;
  const std::array<const char*, kube::kLaneCount> lanes{"lease", "bind", "normal", "events"};
  const auto each = [&](std::string_view name, std::string_view help, auto value) {
    out.family(name, Type::gauge, help);
    const auto sample = [&](std::string_view queue, std::size_t number, const std::string& of) {
      out.sample(as_double(number), {{"queue", std::string(queue)}, {"component", of}});
    };
    for (const auto& queue : input.scheduler.queues) {
      sample(to_string(queue.queue), value(queue), "scheduler");
    }
    for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
      const bool events = lane + 1 == lanes.size();
      const scheduler::QueueFill fill{.size = input.api.waiting[lane],
                                      .limit = events ? api.events_waiting_max : api.waiting_max};
      sample(lanes[lane], value(fill), "api");
    }
    for (const auto& extender : input.extenders) {
      for (const auto& queue : extender.queues) {
        sample(to_string(queue.queue), value(queue), "extender " + extender.name);
      }
    }
  };
  each("stowage_queue_size", "Entries of queues and caches that have a limit.",
       [](const scheduler::QueueFill& queue) { return queue.size; });
  each("stowage_queue_limit", "Limits of these queues and caches.",
       [](const scheduler::QueueFill& queue) { return queue.limit; });
}

void operating_metrics(const MetricsInput& input, Exposition& out) {
  out.counter("stowage_config_reloads_total", "Changed configurations that took effect.",
              input.reload.reloads);
  out.counter("stowage_config_reload_failures_total",
              "Changed configurations that could not be used.", input.reload.failures);
  out.gauge("stowage_config_loaded", "1 while the configuration of the file is in effect.",
            input.reload.newest ? 1 : 0);
  out.family("stowage_debug_requests_total", Type::counter,
             "Requests under /debug/ that the API server authorised or refused, by outcome.");
  out.sample(input.auth.allowed, {{"outcome", "allowed"}});
  out.sample(input.auth.refused, {{"outcome", "refused"}});
  out.sample(input.auth.failed, {{"outcome", "failed"}});
  if (!input.heap) return;
  out.family("stowage_heap_bytes", Type::gauge, "Memory of the allocator, by state.");
  out.sample(input.heap->used, {{"state", "used"}});
  out.sample(input.heap->cached, {{"state", "cached"}});
  out.sample(input.heap->free, {{"state", "free"}});
  out.sample(input.heap->released, {{"state", "released"}});
}

void leader_metrics(const MetricsInput& input, Exposition& out) {
  const Leadership::Snapshot& leadership = input.leadership;
  out.gauge("stowage_leader", "1 while this replica leads; only the leader decides.",
            leadership.leads ? 1 : 0);
  out.gauge("stowage_lease_transitions", "Transitions of the lease between replicas.",
            leadership.transitions);
  out.counter("stowage_leaderships_total", "Times that this replica became leader.",
              leadership.counters.acquired);
  out.counter("stowage_leaderships_unclean_total",
              "Times that this replica became leader by a lease that was not released.",
              leadership.counters.unclean);
  out.counter("stowage_leaderships_lost_total",
              "Times that this replica lost the lease while it led.", leadership.counters.lost);
  out.counter("stowage_lease_renewals_total", "Renewals of the lease.",
              leadership.counters.renewed);
  out.counter("stowage_lease_failures_total", "Calls about the lease that failed.",
              leadership.counters.failed);
  out.counter("stowage_binds_fenced_total",
              "Binds that were not sent because the lease was ending.",
              input.scheduler.binder.fenced);
  out.counter("stowage_card_conflicts_total",
              "Pods that had a share of a card that belonged to another pod.",
              input.scheduler.command_executor.conflicts);
}

}  // namespace

std::string render_metrics(const MetricsInput& input) {
  Exposition out;
  out.family("stowage_build_info", Type::gauge, "Always 1; the label is the version.");
  out.sample(1.0, {{"version", std::string(base::kVersion)}});
  out.gauge("stowage_ready", "1 while this replica decides, or can take over at once.",
            input.ready ? 1 : 0);
  leader_metrics(input, out);
  engine_metrics(input.scheduler, out);
  card_metrics(input.scheduler.survey, out);
  nomination_metrics(input.scheduler, out);
  picker_metrics(input.scheduler, out);
  external_metrics(input.scheduler, out);
  extender_metrics(input.extenders, out);
  object_metrics(input.scheduler.cluster_cache, out);
  annotation_metrics(input.scheduler.cluster_cache, out);
  agent_metrics(input, out);
  metrics_api_metrics(input, out);
  event_queue_metrics(input.scheduler, out);
  bind_metrics(input.scheduler, out);
  watch_metrics(input.scheduler, out);
  api_metrics(input.api, out);
  queue_metrics(input, out);
  operating_metrics(input, out);
  return out.take();
}

}  // namespace stowage::controller
