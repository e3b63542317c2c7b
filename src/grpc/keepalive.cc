#include "grpc/keepalive.h"

#include <utility>

namespace stowage::grpc {

Keepalive::Keepalive(net::EventLoop& loop, const KeepaliveOptions& options, Deps deps)
    : loop_(loop), options_(options), deps_(std::move(deps)), timer_(loop) {}

void Keepalive::set_busy(bool busy) {
  if (busy == busy_) return;
  busy_ = busy;
  if (busy) return watch();
  waiting_ = false;
  timer_.cancel();
}

void Keepalive::heard(std::uint64_t progress) {
  progress_ = progress;
  waiting_ = false;
  if (busy_) watch();
}

void Keepalive::watch() {
  timer_.start(options_.ping_after, [this] { silent(); });
}

void Keepalive::silent() {
  if (waiting_) {
    const auto lost = deps_.lost;
    return lost();
  }
  const bool free = !has_pinged_ || progress_ != pinged_progress_;
  const net::Moment next = pinged_at_ + options_.ping_again;
  if (!free && loop_.now() < next) {
    timer_.start(next - loop_.now(), [this] { silent(); });
    return;
  }
  has_pinged_ = true;
  waiting_ = true;
  pinged_at_ = loop_.now();
  pinged_progress_ = progress_;
  timer_.start(options_.ping_timeout, [this] { silent(); });
  const auto ping = deps_.ping;
  ping();
}

}  // namespace stowage::grpc
