// Runs a program to its end and collects its output.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace stowage::kube {

struct ChildRequest {
  std::string command;  // looked up in PATH if it has no slash
  std::vector<std::string> args;
  std::vector<std::string> env;  // the whole environment, as NAME=value
  std::chrono::nanoseconds time_limit = std::chrono::seconds{60};
  std::size_t out_bytes_max = std::size_t{1} << 20U;
  std::size_t err_bytes_kept = 2048;  // of standard error, the end is kept
};

struct ChildEnd {
  std::string out;
  std::string err_tail;
  int exit_code = 0;  // 128 + n if signal n ended it
};

// Blocks the calling thread: do not call it on the loop's thread. The program has no input, runs in
// its own process group and inherits no open file. The whole group is killed, and an error is
// returned, at the time limit, when it prints too much, or when `cancelled` becomes true.
[[nodiscard]] Result<ChildEnd> run_child(const ChildRequest& ask,
                                         const std::atomic<bool>& cancelled);

// The environment of this process as NAME=value, with `added` on top.
[[nodiscard]] std::vector<std::string> child_environment(
    const std::vector<std::pair<std::string, std::string>>& added);

}  // namespace stowage::kube
