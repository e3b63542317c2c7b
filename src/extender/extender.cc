#include "extender/extender.h"

#include <string>
#include <utility>

namespace stowage::extender {

Extender::Extender(ExtenderOptions options, Deps deps)
    : context_(std::move(options), std::move(deps)),
      external_pods_(kExternalPodsMax),
      waker_(context_, external_pods_),
      writer_(context_, external_pods_),
      filter_(context_, {.external_pods = external_pods_, .writer = writer_, .waker = waker_}),
      prioritize_(context_, {.external_pods = external_pods_, .writer = writer_}),
      bind_(context_, external_pods_),
      preempt_(context_),
      status_(context_, external_pods_) {}

Extender::Counters Extender::counters() const {
  return {
      .verbs = context_.counts(), .woken = waker_.woken(), .external_pods = external_pods_.size()};
}

void Extender::handle(Verb verb, net::ServerRequest request,
                      std::shared_ptr<net::Responder> responder) {
  Call call{.verb = verb,
            .request = std::move(request),
            .responder = std::move(responder),
            .began = context_.shared().loop.now()};
  ++context_.count(verb).calls;
  const bool reads = verb == Verb::status;
  const std::string& method = call.request.http.method;
  if (reads ? method != "GET" && method != "HEAD" : method != "POST") {
    return context_.send_text(call, 405,
                              reads ? "only GET is allowed here\n" : "only POST is allowed here\n");
  }
  if (!reads && call.request.http.body.empty()) {
    return context_.send_text(call, 400, "Please send a request body\n");
  }
  switch (verb) {
    case Verb::filter:
    case Verb::dry_run: return filter_.handle(std::move(call));
    case Verb::prioritize: return prioritize_.handle(std::move(call));
    case Verb::bind: return bind_.handle(std::move(call));
    case Verb::preempt: return preempt_.handle(std::move(call));
    case Verb::status: return status_.handle(std::move(call));
  }
}

}  // namespace stowage::extender
