// Detects changes of the configuration file. It compares the content, not times: a mounted
// ConfigMap is replaced behind a link.
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
    std::string text;  // content at the last read
    net::Duration every = std::chrono::seconds{2};
  };
  struct Deps {
    std::function<void(const std::string& text)> changed;  // called once per content
    std::function<void(const std::string& why)> unreadable;
  };
  ConfigWatch(net::EventLoop& loop, Options options, Deps deps);

  void start();
  void stop() { timer_.cancel(); }
  // Checks at once. Returns false if nothing changed.
  bool look();

 private:
  Options options_;
  Deps deps_;
  std::string trouble_;
  net::Timer timer_;
};

}  // namespace stowage::controller
