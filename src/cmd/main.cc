#include <csignal>

#include "cmd/program.h"

int main(int argc, char** argv) {
  // A closed pipe is then an error of the write, which says what went wrong.
  std::signal(SIGPIPE, SIG_IGN);
  return stowage::cmd::run_program(argc, argv);
}
