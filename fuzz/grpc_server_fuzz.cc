// ServerSession: the first byte says how the rest, which a client sends, is split. The same
// requests result from every split; each call is begun, requested and closed in that order and at
// most once, and buffers stay within their limits.
#include <algorithm>
#include <map>
#include <vector>

#include "fuzz/fuzz.h"
#include "fuzz/grpc_pieces.h"
#include "grpc/server_session.h"

namespace stowage::fuzz {
namespace {

using grpc::ServerEvent;
using Kind = ServerEvent::Kind;

constexpr grpc::ServerSessionOptions kOptions{.header_bytes_max = 2048,
                                              .request_bytes_max = 1000,
                                              .buffered_bytes_max = 1500,
                                              .streams_max = 8};

void work(grpc::ServerSession& session, std::vector<ServerEvent>& events, Answering answering) {
  for (ServerEvent& event : session.take_events()) {
    if (answering == Answering::all_the_time && event.kind == Kind::request) {
      session.write(event.call, event.message);
      if (event.message.size() % 2 == 0) session.write(event.call, "more");
      session.end(event.call, {grpc::Code::ok, event.message});
    }
    events.push_back(std::move(event));
  }
  if (answering == Answering::at_the_end) return;
  while (!session.output(4096).empty()) {
  }
}

std::vector<ServerEvent> run(std::string_view input, std::size_t piece, Answering answering) {
  grpc::ServerSession session(kOptions);
  std::vector<ServerEvent> events;
  for (; !input.empty(); input.remove_prefix(std::min(piece, input.size()))) {
    session.receive(input.substr(0, piece));
    work(session, events, answering);
    STOWAGE_CHECK(session.buffered_bytes() <= kOptions.buffered_bytes_max);
    STOWAGE_CHECK(session.streams() <= kOptions.streams_max);
  }
  while (!session.output(4096).empty()) {
  }
  work(session, events, answering);
  if (session.over()) STOWAGE_CHECK(session.why().size() <= kMaxMessage);
  if (session.calls() == 0) STOWAGE_CHECK(session.buffered_bytes() == 0);
  return events;
}

void check(const std::vector<ServerEvent>& events) {
  std::map<grpc::StreamId, Kind> last;
  for (const ServerEvent& event : events) {
    const auto known = last.find(event.call);
    if (event.kind == Kind::begun) {
      STOWAGE_CHECK(known == last.end());
      STOWAGE_CHECK(event.method.size() <= kOptions.header_bytes_max);
    } else {
      STOWAGE_CHECK(known != last.end() && known->second < event.kind);
      STOWAGE_CHECK(event.message.size() <= kOptions.request_bytes_max);
    }
    last[event.call] = event.kind;
  }
}

}  // namespace

void one(std::string_view input) {
  compare_cuts(input, run, check, [](const ServerEvent& whole, const ServerEvent& cut) {
    STOWAGE_CHECK(whole.kind == cut.kind && whole.call == cut.call);
    STOWAGE_CHECK(whole.method == cut.method && whole.message == cut.message);
    STOWAGE_CHECK(whole.timeout == cut.timeout);
  });
}

}  // namespace stowage::fuzz
