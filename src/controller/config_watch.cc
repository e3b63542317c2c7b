#include "controller/config_watch.h"

#include <utility>

#include "controller/config.h"

namespace stowage::controller {

ConfigWatch::ConfigWatch(net::EventLoop& loop, Options options, Deps deps)
    : options_(std::move(options)), deps_(std::move(deps)), timer_(loop) {}

void ConfigWatch::start() {
  timer_.start(options_.every, [this] {
    look();
    start();
  });
}

bool ConfigWatch::look() {
  auto text = read_config_text(options_.path);
  if (!text) {
    const bool node_update = trouble_ != text.error().message;
    trouble_ = text.error().message;
    if (node_update) deps_.unreadable(trouble_);
    return false;
  }
  trouble_.clear();
  if (*text == options_.text) return false;
  options_.text = *text;
  deps_.changed(*text);
  return true;
}

}  // namespace stowage::controller
