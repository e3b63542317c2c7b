// ClientSession: the first byte says how the rest, which a server sends, is split. The calls see
// the same for every split; each ends at most once, and buffers stay within their limits.
#include <algorithm>
#include <map>
#include <vector>

#include "fuzz/fuzz.h"
#include "fuzz/grpc_pieces.h"
#include "grpc/client_session.h"

namespace stowage::fuzz {
namespace {

constexpr grpc::ClientSessionOptions kOptions{
    .header_bytes_max = 2048, .buffered_bytes_max = 3000, .streams_max = 8};

grpc::CallRequest asking(grpc::CallRequest::Answer answer) {
  return {.method = "/t.S/M", .request = "q", .answer = answer, .response_bytes_max = 2000};
}

void drain(grpc::ClientSession& session) {
  while (!session.output(4096).empty()) {
  }
}

std::vector<grpc::CallEvent> run(std::string_view input, std::size_t piece, Answering answering) {
  grpc::ClientSession session(kOptions);
  static_cast<void>(session.begin(asking(grpc::CallRequest::Answer::one)));
  static_cast<void>(session.begin(asking(grpc::CallRequest::Answer::many)));
  drain(session);
  std::vector<grpc::CallEvent> events;
  for (; !input.empty(); input.remove_prefix(std::min(piece, input.size()))) {
    session.receive(input.substr(0, piece));
    if (answering == Answering::all_the_time) drain(session);
    for (grpc::CallEvent& event : session.take_events()) events.push_back(std::move(event));
    STOWAGE_CHECK(session.buffered_bytes() <= kOptions.buffered_bytes_max);
  }
  drain(session);
  for (grpc::CallEvent& event : session.take_events()) events.push_back(std::move(event));
  if (session.over()) STOWAGE_CHECK(session.why().size() <= kMaxMessage);
  if (session.calls() == 0) STOWAGE_CHECK(session.buffered_bytes() == 0);
  return events;
}

void check(const std::vector<grpc::CallEvent>& events) {
  std::map<grpc::StreamId, int> ends;
  for (const grpc::CallEvent& event : events) {
    STOWAGE_CHECK(event.message || event.end);
    STOWAGE_CHECK(ends[event.call] == 0);  // nothing comes after the end
    if (event.message) STOWAGE_CHECK(event.message->size() <= 2000);
    if (!event.end) continue;
    ++ends[event.call];
    STOWAGE_CHECK(event.end->message.size() <= kMaxMessage);
    STOWAGE_CHECK(event.end->ok() || event.end->by_peer || !event.end->message.empty());
    STOWAGE_CHECK(!event.message || event.end->ok());
  }
}

}  // namespace

void one(std::string_view input) {
  compare_cuts(input, run, check, [](const grpc::CallEvent& whole, const grpc::CallEvent& cut) {
    STOWAGE_CHECK(whole.call == cut.call && whole.message == cut.message);
    STOWAGE_CHECK(whole.end == cut.end && whole.untouched == cut.untouched);
  });
}

}  // namespace stowage::fuzz
