// Where questions wait for a moment when nobody can answer them: the lead changes hands, all pods
// are being read once more, or a new configuration is put in force. kube-scheduler would take an
// error for a failed attempt, and make the pod wait much longer.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "extender/options.h"
#include "net/event_loop.h"
#include "net/http_server.h"

namespace stowage::extender {

struct LobbyOptions {
  // Less than kube-scheduler's own time limit for an extender, which is 5 seconds unless it is set.
  net::Duration patience = std::chrono::seconds{3};
  net::Duration look = std::chrono::milliseconds{20};  // how often it is tried again
  std::size_t waiting_max = 256;                       // beyond: answered as things stand
};

struct Question {
  Verb verb = Verb::filter;
  net::ServerRequest request;
  std::shared_ptr<net::Responder> responder;
  net::Moment until{};  // when waiting is over
};

class Lobby {
 public:
  struct Ends {
    std::function<bool()> open;            // could a question be answered now?
    std::function<void(Question)> answer;  // well, or with words why not
  };
  Lobby(net::EventLoop& loop, LobbyOptions options, Ends ends);

  // Answers at once if that can be done well, or waiting is over; else later.
  void enter(Question question);
  // For one that just could not be answered: tries again a little later.
  void wait(Question question);
  // Those who wait, for somebody else to answer.
  [[nodiscard]] std::vector<Question> take() { return std::exchange(waiting_, {}); }
  // Is there time left to try once more?
  [[nodiscard]] bool patient(const Question& question) const;

  [[nodiscard]] const LobbyOptions& options() const { return options_; }
  [[nodiscard]] std::size_t waiting() const { return waiting_.size(); }
  [[nodiscard]] std::uint64_t waited() const { return waited_; }  // questions, all told

 private:
  void look();

  net::EventLoop& loop_;
  const LobbyOptions options_;
  const Ends ends_;
  std::vector<Question> waiting_;
  net::Timer timer_;
  std::uint64_t waited_ = 0;
};

}  // namespace stowage::extender
