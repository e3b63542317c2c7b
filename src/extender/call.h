// One request on its way through the extender. Belongs to the loop's thread, except between
// on_engine() and what follows it, when it is the engine's.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "extender/extender.h"

namespace stowage::extender {

struct Extender::Call {
  Verb verb = Verb::filter;
  net::ServerRequest request;
  std::shared_ptr<net::Responder> responder;
  net::Moment began;

  // filter, prioritize
  codec::ExtenderArgs args;
  core::FilterAsk ask;  // of both
  core::FilterAnswer answer;
  core::Scores scores;
  std::optional<core::Place> held;  // what is kept for the pod by this call
  bool still_held = false;          // the place of the answer, once it was written
  std::int64_t decided = 0;         // when it was chosen, as it is written

  // bind
  codec::BindingArgs binding;
  core::ClaimAnswer claim;

  // preempt
  codec::PreemptionArgs preemption;
  core::PreemptAsk preempt_ask;
  core::PreemptAnswer preempt_answer;

  // status
  struct CardLine {
    std::int32_t milli_free = 0;
    std::int32_t memory_free = 0;
    std::int32_t memory = 0;
  };
  std::map<std::string, std::vector<CardLine>> cards;  // by node

  // of the pod
  dialect::PodObject object;
  core::PodSpec spec;
  std::string dialect;
};

}  // namespace stowage::extender
