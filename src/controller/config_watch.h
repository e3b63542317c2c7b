// Notices that the file of the configuration has changed. Its bytes decide, not its times: a
// mounted ConfigMap is exchanged behind a link.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "net/event_loop.h"

namespace stowage::controller {

class ConfigWatch {
 public:
  struct Options {
    std::string path;
    std::string text;  // as it was read last
    net::Duration every = std::chrono::seconds{2};
  };
  struct Ends {
    std::function<void(const std::string& text)> changed;  // not told twice of the same bytes
    std::function<void(const std::string& why)> unreadable;
  };
  ConfigWatch(net::EventLoop& loop, Options options, Ends ends);

  void start();
  void stop() { timer_.cancel(); }
  // At once. False: there is nothing new.
  bool look();

 private:
  Options options_;
  Ends ends_;
  std::string trouble_;
  net::Timer timer_;
};

}  // namespace stowage::controller
