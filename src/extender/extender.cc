#include "extender/extender.h"

#include <utility>

#include <fmt/format.h>

#include "extender/call.h"
#include "kube/clock.h"

namespace stowage::extender {
namespace {}  // namespace

Extender::Extender(ExtenderOptions options, Ends ends)
    : options_(std::move(options)),
      ends_(std::move(ends)),
      guests_(kGuestsMax),
      waker_(ends_.shared.loop),
      alive_(std::make_shared<bool>(true)) {
  wake_refused();
}

Extender::~Extender() { *alive_ = false; }

Extender::Counters Extender::counters() const {
  Counters counters = counters_;
  counters.guests = guests_.size();
  return counters;
}

void Extender::handle(Verb verb, net::ServerRequest request,
                      std::shared_ptr<net::Responder> responder) {
  auto call = std::make_shared<Call>();
  call->verb = verb;
  call->request = std::move(request);
  call->responder = std::move(responder);
  call->began = ends_.shared.loop.now();
  ++counters_.verbs[static_cast<std::size_t>(verb)].calls;
  const bool reads = verb == Verb::status;
  const std::string& method = call->request.http.method;
  if (reads ? method != "GET" && method != "HEAD" : method != "POST") {
    return send_text(call, 405, reads ? "only GET is possible here\n" : "send a POST\n");
  }
  if (!reads && call->request.http.body.empty()) {
    return send_text(call, 400, "Please send a request body\n");
  }
  switch (verb) {
    case Verb::filter:
    case Verb::dry_run: return filter(call);
    case Verb::prioritize: return prioritize(call);
    case Verb::bind: return bind(call);
    case Verb::preempt: return preempt(call);
    case Verb::status: return status(call);
  }
}

// The call holds the way to answer, which belongs to the loop's thread: the engine's thread gives
// its share of it away, so that it can never be the one to end it.
void Extender::on_engine(const CallPtr& call, Work work,
                         std::function<void(const CallPtr&)> after) {
  ends_.shared.mailbox.ask(
      [alive = alive_, &loop = ends_.shared.loop, call = CallPtr(call), work = std::move(work),
       after = std::move(after)](const scheduler::Mailbox::Hearing& hearing) mutable {
        work(*call, hearing);
        loop.post([alive, call = std::move(call), after = std::move(after)] {
          if (*alive) after(call);
        });
      });
}

void Extender::send(const CallPtr& call, net::HttpResponse response, bool good) {
  VerbCount& count = counters_.verbs[static_cast<std::size_t>(call->verb)];
  if (!good) ++count.errors;
  count.nanos += static_cast<std::uint64_t>(
      std::chrono::nanoseconds(ends_.shared.loop.now() - call->began).count());
  call->responder->send(std::move(response));
}

void Extender::send_json(const CallPtr& call, std::string body, bool good) {
  send(call,
       {.status = 200, .headers = {{"Content-Type", "application/json"}}, .body = std::move(body)},
       good);
}

void Extender::send_text(const CallPtr& call, int status, std::string text) {
  send(call,
       {.status = status,
        .headers = {{"Content-Type", "text/plain; charset=utf-8"}},
        .body = std::move(text)},
       false);
}

std::uint32_t Extender::profile_for(std::string_view dialect) const {
  std::uint32_t profile = ends_.first_profile;
  for (const auto& policy : options_.policies) {
    if (policy.dialect.empty() || policy.dialect == dialect) return profile;
    ++profile;
  }
  return ends_.first_profile;
}

Status Extender::read_spec(Call& call) const {
  dialect::ReadOptions options = ends_.shared.roster.nodes().reading(options_.reading);
  options.placed_by_others = true;
  const auto reading = dialect::read(call.object, options);
  if (reading && *reading) call.dialect = (*reading)->dialect;
  STOWAGE_TRY(spec, dialect::to_spec(call.object, options));
  call.spec = std::move(spec);
  call.spec.profile = profile_for(call.dialect);
  if (options_.mode == Mode::count) call.spec.naming = core::Naming::never;
  return {};
}

std::int64_t Extender::unix_nanos() const { return kube::unix_nanos(ends_.shared.wall_clock()); }

}  // namespace stowage::extender
