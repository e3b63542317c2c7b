#include "metricsapi/relay.h"

#include <algorithm>
#include <unordered_set>
#include <utility>
#include <vector>

#include "kube/leader_proxy.h"

namespace stowage::metricsapi {
namespace {

using ResponderPtr = std::shared_ptr<net::Responder>;
using ClientPtr = std::shared_ptr<net::HttpClient>;
using Reply = tl::expected<net::HttpResponse, net::CallError>;

constexpr std::size_t kAnswerBytesMax = std::size_t{128} << 20U;
constexpr std::size_t kWholeMax = std::size_t{64} << 10U;  // longer answers are streamed

// The headers that are forwarded.
net::HttpResponse repeated(net::HttpResponse head) {
  return kube::repeated(std::move(head), {"Content-Type", "Retry-After"});
}

using kube::leader_unreachable;

}  // namespace

struct Relay::Passed {
  ResponderPtr responder;
  ClientPtr client;
  std::unique_ptr<net::HttpClient::Stream> stream;
  bool begun = false;
};

struct Relay::State {
  net::EventLoop& loop;
  const RelayOptions options;
  Counters counters;
  std::unordered_set<std::shared_ptr<Passed>> streams;
  std::vector<ResponderPtr> answers;  // not completely read yet

  [[nodiscard]] std::size_t answer_bytes() {
    std::erase_if(answers, [](const ResponderPtr& each) { return each->backlog() == 0; });
    std::size_t bytes = 0;
    for (const ResponderPtr& each : answers) bytes += each->backlog();
    return bytes;
  }
  // Streamed, so that the unread part is known.
  void answer(const ResponderPtr& to, net::HttpResponse response) {
    if (response.body.size() <= kWholeMax) return to->send(std::move(response));
    auto body = std::make_shared<const std::string>(std::exchange(response.body, {}));
    to->begin(std::move(response));
    to->write(std::move(body));
    to->end();
    answers.push_back(to);
  }

  // A connection must not be destroyed inside its own callback.
  void drop(const std::shared_ptr<Passed>& passed) {
    if (streams.erase(passed) == 0) return;
    loop.post([passed] {
      passed->stream.reset();
      passed->client.reset();
    });
  }
};

Relay::Relay(RelayOptions options, net::EventLoop& loop, base::Log& log)
    : options_(options),
      loop_(loop),
      log_(log),
      state_(new State{
          .loop = loop, .options = options, .counters = {}, .streams = {}, .answers = {}}) {}

Relay::~Relay() { send_away(); }

void Relay::set_tls(std::shared_ptr<net::TlsContext> tls, bool known) {
  tls_ = std::move(tls);
  known_ = known;
  client_.reset();
}

std::shared_ptr<net::HttpClient> Relay::client_for(const std::string& url, std::string& why) {
  if (url.empty()) return nullptr;
  if (client_ && url == url_) return client_;
  auto parsed = kube::parse_leader_url(url);
  if (!parsed) {
    why = parsed.error().message;
    return nullptr;
  }
  if (!parsed->tls || !tls_) {  // a token is never sent without TLS
    why = parsed->tls ? "there are no certificates yet" : "the leader does not serve https";
    return nullptr;
  }
  url_ = url;
  client_ = kube::make_leader_client(loop_, std::move(*parsed), tls_,
                                     {.connections_max = options_.calls_max,
                                      .waiting_max = options_.calls_max,
                                      .answer_bytes_max = kAnswerBytesMax});
  return client_;
}

net::HttpRequest Relay::onward(Passing& passing) {
  net::HttpRequest& http = passing.request.http;
  std::string body = std::move(http.body);
  net::HttpRequest request = kube::forwarded(http, std::move(body), {"Accept", "Content-Type"});
  if (!passing.authorization.empty()) {
    request.headers.emplace(request.headers.begin() + 1, "Authorization", passing.authorization);
  }
  return request;
}

void Relay::pass_on(Passing passing, const reports::LeaderLocation& leader) {
  const bool again = kube::was_forwarded(passing.request.http);
  const bool is_stream = passing.ask.what == Ask::What::watch;
  const Counters& now = state_->counters;
  std::string why = "no replica leads at the moment";
  const ClientPtr client = again ? nullptr : client_for(leader.url, why);
  const bool full =
      is_stream ? state_->streams.size() >= options_.streams_max
                : now.calls >= options_.calls_max || state_->answer_bytes() > options_.answers_max;
  const bool nobody = passing.authorization.empty() && !known_;
  if (!client || full || nobody) {
    ++state_->counters.refused;
    return passing.responder->send(refusal(later(
        again     ? "this replica no longer leads: try again"
        : full    ? "too many requests wait for the leader"
        : !client ? leader_unreachable(why)
                  : leader_unreachable("this replica has neither a token nor a certificate"))));
  }
  log_.debug("forwarded to the leader", {{"user", passing.user},
                                         {"what", std::string(word(passing.ask.what))},
                                         {"target", passing.request.http.target}});
  if (is_stream) return stream(client, std::move(passing));
  call(client, std::move(passing));
}

void Relay::call(const ClientPtr& client, Passing passing) {
  ++state_->counters.calls;
  client->send(onward(passing), options_.deadline,
               [weak = std::weak_ptr<State>(state_), responder = passing.responder, held = client,
                &loop = loop_](Reply reply) mutable {
                 loop.post([kept = std::move(held)] {});  // it must not be destroyed inside its own
                                                          // call
                 const auto state = weak.lock();
                 if (!state) return responder->abort();
                 --state->counters.calls;
                 ++(reply ? state->counters.passed : state->counters.failed);
                 state->answer(responder,
                               reply ? repeated(std::move(*reply))
                                     : refusal(later(leader_unreachable(reply.error().message))));
               });
}

void Relay::stream(const ClientPtr& client, Passing passing) {
  auto passed = std::make_shared<Passed>();
  passed->responder = passing.responder;
  passed->client = client;
  state_->streams.insert(passed);
  const std::weak_ptr<State> state = state_;
  const std::weak_ptr<Passed> weak = passed;
  const auto both = [state, weak](auto act) {
    const auto held = state.lock();
    const auto one = weak.lock();
    if (held && one && held->streams.contains(one)) act(*held, one);
  };
  using PassedPtr = std::shared_ptr<Passed>;
  net::HttpClient::StreamHandler handler;
  handler.head = [both](net::HttpResponse head) {
    both([&](State& held, const PassedPtr& one) {
      ++held.counters.passed;
      if (head.status != 200) {
        one->responder->send(repeated(std::move(head)));
        return held.drop(one);
      }
      one->begun = true;
      one->responder->begin(repeated(std::move(head)));
    });
  };
  handler.data = [both](std::string_view bytes) {
    both([&](State& held, const PassedPtr& one) {
      if (one->responder->backlog() > held.options.backlog_max) {
        ++held.counters.cut_off;
        one->responder->abort();
        return held.drop(one);
      }
      one->responder->write(std::make_shared<const std::string>(bytes));
    });
  };
  handler.end = [both](const std::optional<net::CallError>& error) {
    both([&](State& held, const PassedPtr& one) {
      if (!one->begun) {
        ++held.counters.failed;
        one->responder->send(
            refusal(later(leader_unreachable(error ? error->message : "no answer"))));
      } else {
        one->responder->end();
      }
      held.drop(one);
    });
  };
  passed->responder->on_closed(
      [both] { both([](State& held, const PassedPtr& one) { held.drop(one); }); });
  // Watches send regular signs of life; the connection detects a leader that has died.
  passed->stream = client->open(onward(passing), {}, std::move(handler));
}

void Relay::send_away() {
  for (const auto& passed : std::exchange(state_->streams, {})) {
    if (passed->begun) {
      passed->responder->end();
    } else {
      passed->responder->send(refusal(later("the leader has changed: try again")));
    }
    loop_.post([passed] { passed->stream.reset(); });
  }
}

Relay::Counters Relay::counters() const {
  Counters counters = state_->counters;
  counters.streams = state_->streams.size();
  return counters;
}

}  // namespace stowage::metricsapi
