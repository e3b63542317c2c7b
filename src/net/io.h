// The library's event loop. For src/net only.
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
  boost::asio::io_context context{1};  // run by one thread; any thread may post
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> keep_running{
      context.get_executor()};
  std::vector<std::unique_ptr<boost::asio::signal_set>> signals;
  base::Longest turns;
};

}  // namespace stowage::net
