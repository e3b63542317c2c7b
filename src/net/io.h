// The event loop of the library underneath. For src/net alone.
#pragma once

#include <memory>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

#include "base/longest.h"
#include "net/event_loop.h"

namespace stowage::net {

struct EventLoop::Io {
  boost::asio::io_context context{1};  // one thread runs it; any may post
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> keep_running{
      context.get_executor()};
  std::vector<std::unique_ptr<boost::asio::signal_set>> signals;
  base::Longest turns;
};

}  // namespace stowage::net
