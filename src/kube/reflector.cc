#include "kube/reflector.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/rng.h"
#include "codec/kubernetes.h"
#include "kube/object_reader.h"
#include "kube/pacing.h"
#include "kube/watch_frames.h"
#include "kube/watch_lines.h"

namespace stowage::kube {
namespace {

// After this many watches in a row without any data, the version itself may be bad: list again.
constexpr int kFruitlessWatchesMax = 5;
// After this many lists that expired between two pages, the list is requested in one piece.
constexpr int kExpiredListsMax = 2;
// After this many watches in a row that expired without an event, the next list waits for a pause.
constexpr int kExpiredWatchesMax = 2;
// This many items of a page are passed on in one turn of the loop. So other work on the loop, above
// all the renewal of a lease, does not wait for the rest of the page.
constexpr std::size_t kItemsPerTurn = 50;

}  // namespace

void tell(Outages::Source& outage, const ReflectorStatus& status) {
  if (status.phase == ReflectorPhase::disconnected) outage.failed(status.error, status.code);
  if (status.phase == ReflectorPhase::live) outage.works();
}

// A page of a list that is being passed on.
struct Reflector::Page {
  std::string body;
  WireForm form = WireForm::json;
  codec::ListPage list;  // views of the body
  std::size_t next = 0;  // next item
};

// Large because it is one state machine: a list, a watch and the pauses between them share the
// version, the timers and the round.
struct Reflector::Impl : std::enable_shared_from_this<Reflector::Impl> {
  Impl(ApiClient& api, ReflectorOptions given, ReflectorSink& to)
      : client(api),
        options(std::move(given)),
        sink(to),
        lines(options.line_bytes_max),
        frames(options.line_bytes_max),
        timer(client.loop()),
        relist_timer(client.loop()),
        backoff(options.backoff_min, options.backoff_max, options.seed),
        rng(options.seed) {
    status.since = client.loop().now();
  }

  // Wraps a callback that has no effect once something else was begun.
  template <typename Act>
  auto guarded(Act act) {
    return [weak = weak_from_this(), round = round, act = std::move(act)](auto&&... args) {
      const auto self = weak.lock();
      if (self && self->round == round) act(*self, std::forward<decltype(args)>(args)...);
    };
  }

  void halt() {
    ++round;
    timer.cancel();
    stream.reset();
    lines.clear();
    frames.clear();
  }

  void begin_list() {
    halt();
    relist_timer.cancel();
    relist_waits = false;
    continue_token.clear();
    ++counters.lists;
    const std::uint64_t before = round;
    set_status(ReflectorPhase::syncing, status.error);
    if (round != before) return;
    sink.on_list_begin();
    if (round == before) list_page();
  }

  [[nodiscard]] std::string selectors() const {
    std::string text;
    if (!options.field_selector.empty()) {
      text += "&fieldSelector=" + net::percent_encode(options.field_selector);
    }
    if (!options.label_selector.empty()) {
      text += "&labelSelector=" + net::percent_encode(options.label_selector);
    }
    return text;
  }

  void list_page() {
    const std::size_t limit = expired_lists >= kExpiredListsMax ? 0 : options.page_limit;
    ApiCall call;
    if (options.protobuf) call.accept = kAcceptProtobuf;
    call.target = options.from_cache
                      ? fmt::format("{}?resourceVersion=0{}", options.path, selectors())
                      : fmt::format("{}?limit={}{}", options.path, limit, selectors());
    if (!continue_token.empty()) call.target += "&continue=" + net::percent_encode(continue_token);
    client.call(std::move(call), options.list_deadline,
                guarded([](Impl& self, CallResult reply) { self.take_page(std::move(reply)); }));
  }

  void take_page(CallResult reply) {
    const std::string what = fmt::format("list {}", options.path);
    status.code = reply ? reply->status : 0;
    if (!reply) {
      list_failed(fmt::format("cannot {}: {}", what, reply.error().message), {});
      return;
    }
    if (reply->status == 410 && !continue_token.empty()) {
      // The server offers the rest in its current state, but then no version would be valid for
      // both parts.
      ++expired_lists;
      ++counters.expired;
      begin_list();
      return;
    }
    if (reply->status != 200) return list_failed(explain(what, *reply), retry_after(*reply));
    page = {.body = std::move(reply->body), .form = wire_form(*reply)};
    auto read = reader.list(page.form, page.body);
    if (!read || (read->continue_token.empty() && read->resource_version.empty())) {
      return senseless_list(read ? "it has no resourceVersion" : read.error().message);
    }
    ++counters.pages;
    page.list = std::move(*read);
    take_items();
  }

  void take_items() {
    const std::uint64_t before = round;
    const std::size_t end = std::min(page.next + kItemsPerTurn, page.list.items.size());
    while (page.next < end) {
      const auto json = reader.json(page.form, page.list.items[page.next++]);
      if (!json) return senseless_list(json.error().message);
      ++counters.items;
      sink.on_item(*json);
      if (round != before) return;
    }
    if (page.next < page.list.items.size()) {
      client.loop().post(guarded([](Impl& self) { self.take_items(); }));
      return;
    }
    const codec::ListPage done = std::move(page.list);
    page = {};
    continue_token = done.continue_token;
    if (!continue_token.empty()) return list_page();
    end_list(done.resource_version);
  }

  void end_list(std::string list_version) {
    expired_lists = 0;
    fruitless_watches = 0;
    version = std::move(list_version);
    status.synced = true;
    const std::uint64_t before = round;
    sink.on_list_end(version);
    if (round == before) watch();
  }

  void senseless_list(const std::string& why) {
    list_failed(fmt::format("cannot list {}: the reply is invalid: {}", options.path, why), {});
  }

  void list_failed(const std::string& error, std::optional<net::Duration> asked) {
    pause(error, asked, [](Impl& self) { self.begin_list(); });
  }

  template <typename Then>
  void pause(const std::string& error, std::optional<net::Duration> asked, Then then) {
    ++counters.failures;
    halt();
    const net::Duration wait =
        std::max(backoff.next(), asked ? backoff.spread(*asked) : net::Duration::zero());
    timer.start(wait, guarded(then));
    set_status(ReflectorPhase::disconnected, error);
  }

  void watch() {
    halt();
    const auto spread = static_cast<double>((options.watch_max - options.watch_min).count());
    const net::Duration length =
        options.watch_min +
        net::Duration{static_cast<net::Duration::rep>(rng.unit() * std::max(spread, 0.0))};
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(length).count();
    std::string target = fmt::format(
        "{}?watch=1&allowWatchBookmarks=true&resourceVersion={}&timeoutSeconds={}{}", options.path,
        net::percent_encode(version), std::max<std::int64_t>(seconds, 1), selectors());
    ++counters.watches;
    fruitful = false;
    opened = client.loop().now();
    ApiClient::StreamHandler handler;
    handler.head = guarded([](Impl& self, const net::HttpResponse& head) { self.take_head(head); });
    handler.data = guarded([](Impl& self, std::string_view bytes) { self.take_bytes(bytes); });
    handler.end = guarded(
        [](Impl& self, const std::optional<net::CallError>& error) { self.take_end(error); });
    std::string accept = options.protobuf ? kAcceptProtobuf : ApiCall().accept;
    stream = client.open(std::move(target), {.silence_timeout = length + options.silence_grace},
                         std::move(handler), std::move(accept));
  }

  [[nodiscard]] std::string watch_words() const { return fmt::format("watch {}", options.path); }

  void take_head(const ApiReply& head) {
    status.code = head.status;
    if (head.status == 200) {
      opened = client.loop().now();
      form = wire_form(head);
      set_status(ReflectorPhase::live, "");
    } else if (head.status == 410) {
      expired();
    } else {
      // A version that the server does not understand stays invalid.
      const bool hopeless = head.status == 400 || head.status == 422;
      if (hopeless) fruitless_watches = kFruitlessWatchesMax;
      watch_failed(explain(watch_words(), head), retry_after(head));
    }
  }

  void take_bytes(std::string_view bytes) {
    if (form == WireForm::protobuf) {
      take_pieces(frames, bytes);
    } else {
      take_pieces(lines, bytes);
    }
  }

  template <typename Cutter>
  void take_pieces(Cutter& cutter, std::string_view bytes) {
    const std::uint64_t before = round;
    cutter.feed(bytes);
    std::string_view piece;
    std::string_view last;  // the object of the last event
    for (;;) {
      const typename Cutter::Next next = cutter.next(piece);
      if (next == Cutter::Next::need_more) break;
      if (next == Cutter::Next::too_long) {
        bad_line(fmt::format("an event is longer than {} bytes", options.line_bytes_max));
      } else {
        take_event(piece, last);
      }
      if (round != before) return;
    }
    keep_version(last);
  }

  // Only the last version matters, so it is read once per arrival of bytes and not once per event.
  void keep_version(std::string_view object) {
    if (object.empty()) return;
    std::string seen = reader.version(form, object);
    if (!seen.empty()) version = std::move(seen);
  }

  void bad_line(const std::string& trouble) {
    ++counters.bad_lines;
    sink.on_bad_line(fmt::format("{}: an event is skipped: {}", watch_words(), trouble));
  }

  void take_event(std::string_view piece, std::string_view& last) {
    const auto event = reader.watch_event(form, piece);
    if (!event) return bad_line(event.error().message);
    const auto json = reader.json(form, event->object);
    if (!json) return bad_line(json.error().message);
    using Type = codec::WatchEvent::Type;
    if (event->type == Type::error) {
      keep_version(last);
      take_error(*json);
      return;
    }
    fruitful = true;
    fruitless_watches = 0;
    expired_watches = 0;
    if (event->type == Type::bookmark) {
      ++counters.bookmarks;
      last = {};
      if (!event->resource_version.empty()) version = event->resource_version;
      return;
    }
    ++counters.events;
    last = event->object;
    sink.on_event(event->type == Type::added      ? WatchType::added
                  : event->type == Type::modified ? WatchType::modified
                                                  : WatchType::deleted,
                  *json);
  }

  void take_error(std::string_view object) {
    const auto decoded = decoder.status(object);
    if (!decoded) {
      watch_failed(
          fmt::format("{}: an error event is invalid: {}", watch_words(), decoded.error().message),
          {});
    } else if (decoded->code == 410) {
      expired();
    } else {
      std::optional<net::Duration> asked;
      status.code = decoded->code;
      if (decoded->retry_after_seconds > 0) {
        asked = std::chrono::seconds{decoded->retry_after_seconds};
      }
      watch_failed(fmt::format("{}: the server ended it with an error: {} {}: {}", watch_words(),
                               decoded->code, decoded->reason, decoded->message),
                   asked);
    }
  }

  void take_end(const std::optional<net::CallError>& error) {
    if (error) {
      status.code = 0;
      watch_failed(fmt::format("{}: {}", watch_words(), error->message), {});
    } else if (fruitful || client.loop().now() - opened >= options.backoff_min) {
      watch();
    } else {
      watch_failed(fmt::format("{}: the server ended it at once", watch_words()), {});
    }
  }

  void expired() {
    ++counters.expired;
    // A server that calls its own newest version expired must not make us list without pauses.
    if (++expired_watches >= kExpiredWatchesMax) {
      list_failed(fmt::format("{}: the version {} has expired", watch_words(), version), {});
    } else {
      begin_list();
    }
  }

  void watch_failed(const std::string& error, std::optional<net::Duration> asked) {
    if (status.phase == ReflectorPhase::live &&
        client.loop().now() - opened >= options.healthy_after) {
      backoff.reset();
    }
    if (!fruitful) ++fruitless_watches;
    if (fruitless_watches >= kFruitlessWatchesMax) {
      list_failed(error, asked);
    } else {
      pause(error, asked, [](Impl& self) { self.watch(); });
    }
  }

  void set_status(ReflectorPhase phase, const std::string& error) {
    if (status.phase == phase && status.error == error) return;
    if (status.phase != phase) status.since = client.loop().now();
    status.phase = phase;
    status.error = error;
    const ReflectorStatus copy = status;  // the sink may stop us during the call
    sink.on_status(copy);
  }

  ApiClient& client;
  const ReflectorOptions options;
  ReflectorSink& sink;
  codec::Decoder decoder;
  ObjectReader reader;
  WireForm form = WireForm::json;  // of this watch
  WatchLines lines;
  WatchFrames frames;
  net::Timer timer;
  net::Timer relist_timer;
  bool relist_waits = false;  // a list was requested and has not begun
  std::optional<SteadyTime> last_relist;
  JitteredBackoff backoff;
  base::Rng rng;
  ReflectorStatus status;
  ReflectorCounters counters;
  std::unique_ptr<ApiClient::Stream> stream;
  std::string version;
  std::string continue_token;
  Page page;
  std::uint64_t round = 0;  // increases when something new is begun: late callbacks do not match it
  int expired_lists = 0;
  int fruitless_watches = 0;
  int expired_watches = 0;
  bool fruitful = false;  // this watch has delivered an event or a bookmark
  bool started = false;
  bool stopped = false;
  SteadyTime opened{};  // when this watch was opened
};

Reflector::Reflector(ApiClient& client, ReflectorOptions options, ReflectorSink& sink)
    : impl_(std::make_shared<Impl>(client, std::move(options), sink)) {}
Reflector::~Reflector() {
  impl_->relist_timer.cancel();
  impl_->halt();
}

void Reflector::start() {
  if (std::exchange(impl_->started, true)) return;
  relist();
}

void Reflector::stop() {
  impl_->stopped = true;
  impl_->relist_timer.cancel();
  impl_->halt();
}

void Reflector::relist() {
  const std::shared_ptr<Impl> body = impl_;
  if (body->stopped) return;
  body->halt();
  // Later: the sink may be in the middle of another callback.
  body->timer.start(net::Duration::zero(), body->guarded([](Impl& self) { self.begin_list(); }));
}

void Reflector::relist_soon() {
  const std::shared_ptr<Impl> body = impl_;
  if (body->stopped || std::exchange(body->relist_waits, true)) return;
  const SteadyTime now = body->client.loop().now();
  const SteadyTime due = body->last_relist ? *body->last_relist + body->options.relist_every : now;
  body->relist_timer.start(std::max(due - now, net::Duration::zero()),
                           [weak = std::weak_ptr<Impl>(body)] {
                             const auto self = weak.lock();
                             if (!self || self->stopped) return;
                             self->last_relist = self->client.loop().now();
                             self->begin_list();
                           });
}

const ReflectorStatus& Reflector::status() const { return impl_->status; }
const ReflectorCounters& Reflector::counters() const { return impl_->counters; }
const std::string& Reflector::resource_version() const { return impl_->version; }

}  // namespace stowage::kube
