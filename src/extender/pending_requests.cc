#include "extender/pending_requests.h"

#include <utility>

namespace stowage::extender {

PendingRequests::PendingRequests(net::EventLoop& loop, PendingRequestsOptions options, Deps deps)
    : loop_(loop), options_(options), deps_(std::move(deps)), timer_(loop) {}

void PendingRequests::enter(PendingRequest question) {
  if (question.until == net::Moment{}) question.until = loop_.now() + options_.patience;
  if (deps_.open() || !patient(question)) return deps_.answer(std::move(question));
  ++waited_;
  wait(std::move(question));
}

bool PendingRequests::patient(const PendingRequest& question) const {
  return loop_.now() < question.until && waiting_.size() < options_.waiting_max;
}

void PendingRequests::wait(PendingRequest question) {
  const bool first = waiting_.empty();
  waiting_.push_back(std::move(question));
  if (first) timer_.start(options_.look, [this] { look(); });
}

void PendingRequests::look() {
  const bool open = deps_.open();
  std::vector<PendingRequest> due = std::exchange(waiting_, {});
  for (PendingRequest& question : due) {
    if (open || loop_.now() >= question.until) {
      deps_.answer(std::move(question));
    } else {
      wait(std::move(question));
    }
  }
}

}  // namespace stowage::extender
