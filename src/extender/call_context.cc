#include "extender/call_context.h"

#include <chrono>
#include <utility>

#include "dialect/dialect.h"
#include "kube/clock.h"

namespace stowage::extender {

CallContext::CallContext(ExtenderOptions options, Deps deps)
    : options_(std::move(options)),
      deps_(std::move(deps)),
      counts_(),
      alive_(std::make_shared<bool>(true)) {}

CallContext::~CallContext() { *alive_ = false; }

std::string CallContext::not_ready() const {
  const std::string why = deps_.not_ready();
  return why.empty() ? why : "Stowage cannot answer yet: " + why;
}

std::int64_t CallContext::unix_nanos() const { return kube::unix_nanos(deps_.shared.wall_clock()); }

std::uint32_t CallContext::profile_for(std::string_view dialect) const {
  std::uint32_t profile = deps_.first_profile;
  for (const auto& policy : options_.policies) {
    if (policy.dialect.empty() || policy.dialect == dialect) return profile;
    ++profile;
  }
  return deps_.first_profile;
}

Status CallContext::read_spec(Call& call) const {
  dialect::ReadOptions options = deps_.shared.cluster_cache.nodes().reading(options_.reading);
  options.placed_by_others = true;
  const auto reading = dialect::read(call.object, options);
  if (reading && *reading) call.dialect = (*reading)->dialect;
  STOWAGE_TRY_ASSIGN(call.spec, dialect::to_spec(call.object, options));
  call.spec.profile = profile_for(call.dialect);
  if (options_.mode == Mode::count) call.spec.naming = core::Naming::never;
  return {};
}

void CallContext::send(const Call& call, net::HttpResponse response, bool good) {
  VerbCount& counted = count(call.verb);
  if (!good) ++counted.errors;
  counted.nanos += static_cast<std::uint64_t>(
      std::chrono::nanoseconds(deps_.shared.loop.now() - call.began).count());
  call.responder->send(std::move(response));
}

void CallContext::send_json(const Call& call, std::string body, bool good) {
  send(call,
       {.status = 200, .headers = {{"Content-Type", "application/json"}}, .body = std::move(body)},
       good);
}

void CallContext::send_text(const Call& call, int status, std::string text) {
  send(call,
       {.status = status,
        .headers = {{"Content-Type", "text/plain; charset=utf-8"}},
        .body = std::move(text)},
       false);
}

void CallContext::warn(const Call& call, kube::EventReason reason, std::string note) {
  deps_.shared.recorder.record({.regarding = {.kind = "Pod",
                                              .ns = call.object.ns,
                                              .name = call.object.name,
                                              .uid = call.object.uid},
                                .type = kube::EventType::warning,
                                .reason = reason,
                                .action = "Filtering",
                                .note = std::move(note)});
}

}  // namespace stowage::extender
