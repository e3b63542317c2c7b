// One request on its way through the extender. Each handler derives its own type from Call, with
// what the verb adds.
//
// A call belongs to the loop's thread, except inside the `work` of CallContext::on_engine(), when
// it belongs to the engine's thread.
#pragma once

#include <memory>
#include <string>

#include "core/model/pod.h"
#include "dialect/objects.h"
#include "extender/options.h"
#include "net/event_loop.h"
#include "net/http_server.h"

namespace stowage::extender {

struct Call {
  Verb verb = Verb::filter;
  net::ServerRequest request;
  std::shared_ptr<net::Responder> responder;
  net::Moment began;

  // The pod that the request is about, once it has been read.
  dialect::PodObject object;
  core::PodSpec spec;
  std::string dialect;  // empty: it asks for no cards
};

}  // namespace stowage::extender
