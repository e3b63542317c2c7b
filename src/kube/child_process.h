// Runs a program to its end and collects what it prints.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace stowage::kube {

struct ChildAsk {
  std::string command;  // looked up in PATH if it has no slash
  std::vector<std::string> args;
  std::vector<std::string> env;  // all of it, as NAME=value
  std::chrono::nanoseconds time_limit = std::chrono::seconds{60};
  std::size_t out_bytes_max = std::size_t{1} << 20U;
  std::size_t err_bytes_kept = 2048;  // the end of what goes to standard error
};

struct ChildEnd {
  std::string out;
  std::string err_tail;
  int exit_code = 0;  // 128 + n if it was ended by the signal n
};

// Blocks the calling thread: not for the loop's. The program has no input, runs in a process group
// of its own and inherits no open file. At the time limit, when it prints too much, or when
// `cancelled` becomes true the whole group is killed, and an error says so.
[[nodiscard]] Result<ChildEnd> run_child(const ChildAsk& ask, const std::atomic<bool>& cancelled);

// The environment of this process as NAME=value, with `added` on top.
[[nodiscard]] std::vector<std::string> child_environment(
    const std::vector<std::pair<std::string, std::string>>& added);

}  // namespace stowage::kube
