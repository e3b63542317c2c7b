// Requests of kube-scheduler through the API server: schedule/filter, prioritize, preempt. The
// extender answers them; this class only drops nodes whose cards are unknown.
//
// A pod that names a card model (annotation nvidia.com/gpu.model) goes only to nodes with a current
// agent report about their cards. Other nodes are dropped before the extender is asked, so that it
// holds nothing on them. The answer lists them in FailedAndUnresolvableNodes, because evicting pods
// would not help. All other pods and nodes are passed on unchanged.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "codec/extender.h"
#include "metricsapi/request.h"
#include "net/http_server.h"
#include "reports/report_cache.h"

namespace stowage::metricsapi {

struct ScheduleServer {
  // Sends the request to the extender, which may live on another thread. `answer` is called once,
  // on the loop's thread; if it is destroyed without a call, it answers with an error. Unset: there
  // is no extender.
  using Answer = std::function<void(net::HttpResponse)>;
  std::function<void(ScheduleVerb verb, std::string body, Answer answer)> ask;
};

class Schedule {
 public:
  // The report cache outlives it.
  Schedule(reports::ReportCache& report_cache, ScheduleServer door)
      : report_cache_(report_cache), door_(std::move(door)) {}

  void serve(ScheduleVerb verb, std::string body, const std::shared_ptr<net::Responder>& responder);

 private:
  void judge(ScheduleVerb verb, std::string body, const std::shared_ptr<net::Responder>& responder);
  void preempt(std::string body, const std::shared_ptr<net::Responder>& responder);
  // Why the node's cards are unknown; empty if they are known.
  [[nodiscard]] std::string_view trouble_of(const std::string& node) const;

  reports::ReportCache& report_cache_;
  ScheduleServer door_;
  codec::ExtenderDecoder decoder_;
};

}  // namespace stowage::metricsapi
