// One subcommand of the program: its flags and its action.
#pragma once

#include <functional>

namespace CLI {  // NOLINT(readability-identifier-naming): named by the library
class App;
}

namespace stowage::cmd {

struct Command {
  CLI::App* app = nullptr;
  std::function<int()> run;  // returns the exit code
};

}  // namespace stowage::cmd
