#include "extender/lobby.h"

#include <utility>

namespace stowage::extender {

Lobby::Lobby(net::EventLoop& loop, LobbyOptions options, Ends ends)
    : loop_(loop), options_(options), ends_(std::move(ends)), timer_(loop) {}

void Lobby::enter(Question question) {
  if (question.until == net::Moment{}) question.until = loop_.now() + options_.patience;
  if (ends_.open() || !patient(question)) return ends_.answer(std::move(question));
  ++waited_;
  wait(std::move(question));
}

bool Lobby::patient(const Question& question) const {
  return loop_.now() < question.until && waiting_.size() < options_.waiting_max;
}

void Lobby::wait(Question question) {
  const bool first = waiting_.empty();
  waiting_.push_back(std::move(question));
  if (first) timer_.start(options_.look, [this] { look(); });
}

void Lobby::look() {
  const bool open = ends_.open();
  std::vector<Question> due = std::exchange(waiting_, {});
  for (Question& question : due) {
    if (open || loop_.now() >= question.until) {
      ends_.answer(std::move(question));
    } else {
      wait(std::move(question));
    }
  }
}

}  // namespace stowage::extender
