#include "net/server_answer.h"

#include <utility>

#include "net/server_connection.h"

namespace stowage::net {

ServerAnswer::~ServerAnswer() {
  if (connection_ == nullptr) return;
  ServerConnection& connection = *connection_;
  connection.forget_answer();
  if (step_ == Step::fresh) {
    connection.send({.status = 500,
                     .headers = {{"Content-Type", "text/plain; charset=utf-8"}},
                     .body = "the request was not answered\n"});
  } else if (step_ == Step::begun) {
    connection.abort();  // the peer must not mistake half an answer for a complete one
  }
}

void ServerAnswer::send(HttpResponse response) {
  if (connection_ == nullptr || step_ != Step::fresh) return;
  step_ = Step::complete;
  connection_->send(std::move(response));
}

void ServerAnswer::begin(HttpResponse head) {
  if (connection_ == nullptr || step_ != Step::fresh) return;
  step_ = Step::begun;
  connection_->begin(head);
}

void ServerAnswer::upgrade(std::string protocol, std::function<void(std::string_view)> data) {
  if (connection_ == nullptr || step_ != Step::fresh) return;
  step_ = Step::begun;
  connection_->upgrade(std::move(protocol), std::move(data));
}

void ServerAnswer::write(std::shared_ptr<const std::string> chunk) {
  if (connection_ == nullptr || step_ != Step::begun) return;
  connection_->write(std::move(chunk));
}

void ServerAnswer::end() {
  if (connection_ == nullptr || step_ != Step::begun) return;
  step_ = Step::complete;
  connection_->end();
}

std::size_t ServerAnswer::backlog() const {
  return connection_ == nullptr ? 0 : connection_->backlog();
}

void ServerAnswer::abort() {
  if (connection_ == nullptr) return;
  ServerConnection& connection = *std::exchange(connection_, nullptr);
  connection.forget_answer();
  lost_ = true;
  connection.abort();
  if (closed_) on_closed(std::exchange(closed_, nullptr));
}

// If the connection is already gone, the callback is posted, not called from here.
void ServerAnswer::on_closed(std::function<void()> closed) {
  closed_ = std::move(closed);
  if (!lost_) return;
  loop_.post([weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self || !self->closed_) return;
    const std::function<void()> call = std::exchange(self->closed_, nullptr);
    call();
  });
}

// The callback may own the answer: destroying it is the last step.
void ServerAnswer::forget() {
  connection_ = nullptr;
  charge_.clear();
  const std::function<void()> dropped = std::exchange(closed_, nullptr);
}

void ServerAnswer::connection_lost() {
  connection_ = nullptr;
  lost_ = true;
  const std::function<void()> call = std::exchange(closed_, nullptr);
  if (call) call();
}

}  // namespace stowage::net
