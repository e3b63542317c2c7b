// Questions of kube-scheduler that come by the API server: schedule/filter, prioritize, preempt.
// The extender answers them; here only nodes are left out of whose cards nobody knows anything.
//
// A pod that names a model of card (annotation nvidia.com/gpu.model) goes only where an agent
// tells, right now, what cards there are. Other nodes are dropped before the extender is asked, so
// that it keeps nothing on them, and the answer says why: as FailedAndUnresolvableNodes, for
// evicting pods would not make an agent talk. All other pods and nodes are passed on as they came.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "codec/extender.h"
#include "metricsapi/request.h"
#include "net/http_server.h"
#include "reports/book.h"

namespace stowage::metricsapi {

struct ScheduleDoor {
  // Puts the question to the extender, which may live on another thread. `answer` is called once,
  // on the loop's thread; dropped without a call, it answers with an error. Unset: there is none.
  using Answer = std::function<void(net::HttpResponse)>;
  std::function<void(ScheduleVerb verb, std::string body, Answer answer)> ask;
};

class Schedule {
 public:
  // The book outlives it.
  Schedule(reports::Book& book, ScheduleDoor door) : book_(book), door_(std::move(door)) {}

  void serve(ScheduleVerb verb, std::string body, std::shared_ptr<net::Responder> responder);

 private:
  void judge(ScheduleVerb verb, std::string body, std::shared_ptr<net::Responder> responder);
  void preempt(std::string body, std::shared_ptr<net::Responder> responder);
  // Why nothing is known of the node's cards; empty if something is.
  [[nodiscard]] std::string_view trouble_of(const std::string& node) const;

  reports::Book& book_;
  ScheduleDoor door_;
  codec::ExtenderDecoder decoder_;
};

}  // namespace stowage::metricsapi
