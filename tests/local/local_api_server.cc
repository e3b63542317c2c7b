// Serves an empty local cluster, for tests: prints the address and runs until a signal ends it.
#include <chrono>
#include <csignal>
#include <cstdio>

#include "local/api_server.h"

int main() {
  using namespace stowage;
  net::EventLoop loop;
  local::StoreOptions options;
  options.now = [] {
    return std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now());
  };
  local::Api api(options);
  local::ApiServer server(loop, api, {});
  if (const auto listening = server.listen(); !listening) {
    std::fprintf(stderr, "%s\n", listening.error().message.c_str());
    return 1;
  }
  loop.on_signals({SIGINT, SIGTERM}, [&loop](int) { loop.stop(); });
  std::printf("%s\n", server.url().c_str());
  std::fflush(stdout);
  loop.run();
  return 0;
}
