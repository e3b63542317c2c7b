// Our server for a client with the real gRPC (kubelet/caller). Runs until SIGINT or SIGTERM.
//
//   grpc_server SOCKET
//
// /t.S/Echo answers with the request, /t.S/Fail with the status "CODE words", /t.S/Count "N SIZE"
// with that many messages, /t.S/Watch with numbers repeatedly, /t.S/Hold never, /t.S/Drop
// destroys the responder, and /t.S/Closed returns how many watches the peer has closed.
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "grpc/server.h"
#include "net/event_loop.h"

namespace {

using namespace stowage;
using grpc::Responder;
using grpc::ServerRequest;
using Answer = std::shared_ptr<Responder>;

struct Watch {
  explicit Watch(net::EventLoop& loop) : timer(loop) {}

  void tick() {
    answer->write(std::to_string(count++));
    timer.start(std::chrono::milliseconds{5}, [this] { tick(); });
  }

  Answer answer;
  net::Timer timer;
  int count = 0;
};

struct Handlers {
  void fail(const ServerRequest& request, const Answer& answer) const {
    char* rest = nullptr;
    const long code = std::strtol(request.message.c_str(), &rest, 10);
    answer->end({static_cast<grpc::Code>(code), rest + 1});
  }
  void count(const ServerRequest& request, const Answer& answer) const {
    char* rest = nullptr;
    const long count = std::strtol(request.message.c_str(), &rest, 10);
    const auto size = std::strtoul(rest, nullptr, 10);
    for (long i = 0; i < count; ++i) answer->write(std::string(size, 'x'));
    answer->end({});
  }
  void watch(Answer answer) {
    const auto at = watches.emplace(watches.end(), loop);
    at->answer = std::move(answer);
    at->answer->on_closed([this, at] {
      ++closed;
      watches.erase(at);
    });
    at->tick();
  }

  net::EventLoop& loop;
  std::vector<Answer> held;
  std::list<Watch> watches;
  int closed = 0;
};

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    std::fprintf(stderr, "usage: grpc_server SOCKET\n");
    return 2;
  }
  net::EventLoop loop;
  Handlers handlers{.loop = loop};
  const auto server = grpc::Server::listen(
      loop, {.socket = arguments[1]},
      {{"/t.S/Echo", [](ServerRequest request,
                        const Answer& answer) { answer->send(std::move(request.message)); }},
       {"/t.S/Fail", [&](const ServerRequest& request,
                         const Answer& answer) { handlers.fail(request, answer); }},
       {"/t.S/Count", [&](const ServerRequest& request,
                          const Answer& answer) { handlers.count(request, answer); }},
       {"/t.S/Watch",
        [&](const ServerRequest&, Answer answer) { handlers.watch(std::move(answer)); }},
       {"/t.S/Hold",
        [&](const ServerRequest&, Answer answer) { handlers.held.push_back(std::move(answer)); }},
       {"/t.S/Drop", [](const ServerRequest&, const Answer&) {}},
       {"/t.S/Closed", [&](const ServerRequest&, const Answer& answer) {
          answer->send(std::to_string(handlers.closed));
        }}});
  if (!server) {
    std::fprintf(stderr, "%s\n", server.error().message.c_str());
    return 1;
  }
  loop.on_signals({SIGINT, SIGTERM}, [&loop](int) { loop.stop(); });
  std::printf("ready\n");
  std::fflush(stdout);
  loop.run();
  return 0;
}
