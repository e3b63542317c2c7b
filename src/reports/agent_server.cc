#include "reports/agent_server.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace stowage::reports {
namespace {

using net::HttpResponse;
using ResponderPtr = std::shared_ptr<net::Responder>;

constexpr std::chrono::seconds kTidyEvery{10};

void refuse(const ResponderPtr& responder, int status, std::string why, net::Headers headers = {}) {
  headers.emplace_back("Content-Type", "text/plain; charset=utf-8");
  responder->send({.status = status, .headers = std::move(headers), .body = std::move(why) + "\n"});
}

}  // namespace

AgentServer::AgentServer(AgentServerOptions options, Deps deps)
    : options_(std::move(options)),
      deps_(std::move(deps)),
      timer_(deps_.loop),
      rate_limiter_(options_.rate_limiter) {
  timer_.start(options_.look, [this] { look(); });
}

AgentServer::~AgentServer() { send_away(); }

void AgentServer::serve(const net::ServerRequest& request, ResponderPtr responder) {
  if (!net::asks_for(request.http, codec::kReportsProtocol)) {
    return refuse(
        responder, 426,
        fmt::format("this endpoint is for agents: upgrade to {}", codec::kReportsProtocol),
        {{"Upgrade", codec::kReportsProtocol}});
  }
  const LeaderLocation place = deps_.place();
  if (!place.here && place.url.empty()) {
    ++counters_.refused;
    return refuse(responder, 503, "no replica leads at the moment", {{"Retry-After", "1"}});
  }
  if (!place.here) {
    ++counters_.sent_on;
    return refuse(responder, 307, "another replica leads",
                  {{"Location", place.url + codec::kReportsPath}});
  }
  deps_.auth.identify(std::string(net::find_header(request.http.headers, "authorization")),
                      kReportsAudience,
                      [this, alive = std::weak_ptr<bool>(alive_),
                       responder = std::move(responder)](const kube::DelegatedAuth::Identity& who) {
                        if (!alive.expired()) admit(who, responder);
                      });
}

void AgentServer::admit(const kube::DelegatedAuth::Identity& identity,
                        const ResponderPtr& responder) {
  const auto turn_away = [&](int status, std::string why) {
    ++counters_.refused;
    refuse(responder, status, std::move(why));
  };
  if (identity.status != 200) return turn_away(identity.status, identity.why);
  const auto& accounts = options_.accounts;
  const std::string& user = identity.who.user;
  if (std::find(accounts.begin(), accounts.end(), user) == accounts.end()) {
    return turn_away(403, fmt::format("{} is not in agents.allowedUsers", user));
  }
  const auto claim = identity.who.extra.find(kNodeOfToken);
  if (claim == identity.who.extra.end() || claim->second.size() != 1 ||
      claim->second.front().empty()) {
    return turn_away(403,
                     "the token does not name the node of its pod: use a token that is bound to a "
                     "pod, from Kubernetes 1.30 or later");
  }
  if (!rate_limiter_.allow_connect(claim->second.front(), deps_.loop.now())) {
    ++counters_.overspent;
    return refuse(responder, 429,
                  "the agent of this node sent too much or connected too often; try again later",
                  {{"Retry-After", "5"}});
  }
  if (streams_.size() >= options_.streams_max && streams_.count(claim->second.front()) == 0) {
    return turn_away(503, "too many agents are connected");
  }
  open(claim->second.front(), responder);
}

void AgentServer::open(const std::string& node, ResponderPtr responder) {
  if (const auto before = streams_.find(node); before != streams_.end()) {
    deps_.log.info("a new agent of the node connected: the stream of the previous one is ended",
                   {{"node", node}});
    end(StreamPtr(before->second));
  }
  auto stream = std::make_shared<Stream>(options_.line_bytes_max);
  stream->node = node;
  stream->responder = responder;
  stream->last_line = stream->last_beat = deps_.loop.now();
  streams_.emplace(node, stream);
  ++counters_.opened;
  const std::weak_ptr<Stream> weak = stream;
  responder->on_closed([this, alive = std::weak_ptr<bool>(alive_), weak] {
    const StreamPtr closed = weak.lock();
    if (!alive.expired() && closed) end(closed);
  });
  responder->upgrade(codec::kReportsProtocol,
                     [this, alive = std::weak_ptr<bool>(alive_), weak](std::string_view bytes) {
                       const StreamPtr held = weak.lock();
                       if (!alive.expired() && held) take(held, bytes);
                     });
}

void AgentServer::take(const StreamPtr& stream, std::string_view bytes) {
  counters_.bytes += bytes.size();
  if (!rate_limiter_.send(stream->node, bytes.size(), deps_.loop.now())) {
    return end_because(stream, counters_.overspent,
                       fmt::format("it sent more than {} bytes a second for too long",
                                   options_.rate_limiter.bytes_per_second));
  }
  stream->lines.feed(bytes);
  for (;;) {
    std::string_view line;
    switch (stream->lines.next(line)) {
      case kube::WatchLines::Next::line:
        if (!take_line(stream, line)) return;
        break;
      case kube::WatchLines::Next::too_long:
        return end_because(stream, counters_.unread,
                           fmt::format("a line of more than {} bytes", options_.line_bytes_max));
      case kube::WatchLines::Next::need_more: {
        stream->lines.trim();
        hold(*stream, stream->lines.held());
        const bool fair = stream->held <= options_.unfinished_bytes_max /
                                              std::max<std::size_t>(options_.streams_max, 1);
        if (fair || counters_.unfinished_bytes <= options_.unfinished_bytes_max) return;
        return end_because(
            stream, counters_.overfull,
            fmt::format("unfinished lines of all agents take {} bytes, which is the limit",
                        options_.unfinished_bytes_max));
      }
    }
  }
}

bool AgentServer::take_line(const StreamPtr& stream, std::string_view line) {
  stream->last_line = deps_.loop.now();
  auto report = reader_.read(line);
  if (!report) {
    end_because(stream, counters_.unread, report.error().message);
    return false;
  }
  if (!report->node.empty() && report->node != stream->node) {
    end_because(stream, counters_.unread,
                fmt::format("it reports for node {}, but runs on another node", report->node));
    return false;
  }
  const Status heard =
      deps_.report_cache.update(stream->node, std::move(*report), stream->last_line);
  if (!heard) end_because(stream, counters_.overfull, heard.error().message);
  return heard.has_value();
}

void AgentServer::hold(Stream& stream, std::size_t bytes) {
  counters_.unfinished_bytes += bytes - stream.held;
  stream.held = bytes;
}

void AgentServer::end_because(const StreamPtr& stream, std::uint64_t& counter,
                              const std::string& why) {
  ++counter;
  if (rate_limiter_.may_warn(stream->node, deps_.loop.now())) {
    deps_.log.warn("the report of an agent is refused: its stream is ended",
                   {{"node", stream->node}, {"why", why}});
  }
  end(stream);
}

void AgentServer::end(const StreamPtr& stream) {
  const auto found = streams_.find(stream->node);
  if (found != streams_.end() && found->second == stream) streams_.erase(found);
  hold(*stream, 0);
  if (const ResponderPtr responder = std::exchange(stream->responder, nullptr)) responder->abort();
}

void AgentServer::send_away(const std::string& node) {
  const auto found = streams_.find(node);
  if (found == streams_.end()) return;
  const StreamPtr stream = found->second;
  streams_.erase(found);
  hold(*stream, 0);
  if (const ResponderPtr responder = std::exchange(stream->responder, nullptr)) responder->end();
}

void AgentServer::send_away() {
  for (auto& [node, stream] : std::exchange(streams_, {})) {
    hold(*stream, 0);
    if (const ResponderPtr responder = std::exchange(stream->responder, nullptr)) responder->end();
  }
}

// Sends each agent an empty line every few seconds, not to all of them at the same moment.
void AgentServer::look() {
  const net::Moment now = deps_.loop.now();
  static const auto kEmptyLine = std::make_shared<const std::string>("\n");
  std::vector<StreamPtr> expired;
  for (const auto& [node, stream] : streams_) {
    if (now - stream->last_line > options_.patience) {
      expired.push_back(stream);
    } else if (now - stream->last_beat >= options_.beat && stream->responder->backlog() == 0) {
      stream->last_beat = now;
      stream->responder->write(kEmptyLine);
    }
  }
  for (const StreamPtr& stream : expired) {
    ++counters_.expired;
    end(stream);
  }
  deps_.report_cache.look(now);
  if (now - tidied_ >= kTidyEvery) {
    tidied_ = now;
    rate_limiter_.tidy(now);
  }
  timer_.start(options_.look, [this] { look(); });
}

AgentServer::Counters AgentServer::counters() const {
  Counters counters = counters_;
  counters.streams = streams_.size();
  return counters;
}

}  // namespace stowage::reports
