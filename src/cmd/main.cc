#include <csignal>

#include "cmd/program.h"

int main(int argc, char** argv) {
  // A closed pipe then becomes a write error, which is reported.
  std::signal(SIGPIPE, SIG_IGN);
  return stowage::cmd::run_program(argc, argv);
}
