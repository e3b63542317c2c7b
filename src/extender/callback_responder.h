// Takes the one answer to a request that did not come over a connection.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "net/http_server.h"

namespace stowage::extender {

using Answer = std::function<void(net::HttpResponse)>;

class CallbackResponder final : public net::Responder {
 public:
  explicit CallbackResponder(Answer answer) : answer_(std::move(answer)) {}
  ~CallbackResponder() override {
    if (answer_) answer_({.status = 503, .body = "the request was not answered\n"});
  }
  CallbackResponder(const CallbackResponder&) = delete;
  CallbackResponder& operator=(const CallbackResponder&) = delete;

  void send(net::HttpResponse response) override {
    if (const Answer answer = std::exchange(answer_, nullptr)) answer(std::move(response));
  }
  // Extenders send complete answers.
  void begin(net::HttpResponse) override { abort(); }
  void upgrade(std::string, std::function<void(std::string_view)>) override { abort(); }
  void write(std::shared_ptr<const std::string>) override {}
  void end() override {}
  [[nodiscard]] std::size_t backlog() const override { return 0; }
  void abort() override { send({.status = 502, .body = "the answer was aborted\n"}); }
  void on_closed(std::function<void()>) override {}

 private:
  Answer answer_;
};

}  // namespace stowage::extender
