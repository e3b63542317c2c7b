#include "local/watch_stream.h"

#include <algorithm>
#include <utility>

namespace stowage::local {
namespace {

constexpr std::size_t kChunk = std::size_t{64} * 1024;

bool is_true(std::string_view value) { return value == "true" || value == "1"; }

}  // namespace

ApiResult<WatchRequest> watch_request(const Call& call) {
  WatchRequest request;
  request.kind = call.resource->kind_id;
  STOWAGE_TRY_ASSIGN(request.filter, filter_of(call));
  request.shape = shape_of(call);
  STOWAGE_TRY(since, number_param(call, "resourceVersion"));
  request.since = since;
  request.initial_events = since == 0;
  request.bookmarks = is_true(call.target.query_value("allowWatchBookmarks"));
  STOWAGE_TRY(timeout, number_param(call, "timeoutSeconds"));
  request.timeout =
      std::chrono::seconds{std::min<std::uint64_t>(timeout, std::uint64_t{24} * 3600)};
  if (is_true(call.target.query_value("sendInitialEvents"))) {
    if (call.target.query_value("resourceVersionMatch") != "NotOlderThan") {
      ApiError error;
      error.code = 422;
      error.reason = "Invalid";
      error.message =
          "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: "
          "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
      return refuse(std::move(error));
    }
    request.initial_events = true;
    request.initial_end = request.bookmarks;
  }
  return request;
}

WatchStream::WatchStream(Store& store, WatchRequest request,
                         std::shared_ptr<net::Responder> responder, WatchLimits limits,
                         SteadyTime now)
    : store_(store),
      request_(std::move(request)),
      responder_(std::move(responder)),
      limits_(limits),
      end_(now + (request_.timeout.count() > 0 ? request_.timeout : limits_.timeout)),
      next_bookmark_(now + limits_.bookmark_every) {}

void WatchStream::start() {
  net::HttpResponse head = json_response(200, {});
  responder_->begin(std::move(head));
  if (request_.initial_events) {
    auto page = store_.list(request_.kind, {.filter = request_.filter});
    if (page) {
      initial_ = std::move(page->items);
      request_.since = page->version;
    }
  }
  send_initial();
}

bool WatchStream::full() const { return responder_->backlog() > limits_.backlog_max; }

void WatchStream::send_initial() {
  while (next_initial_ < initial_.size()) {
    if (full()) return flush();
    append({Change::added, std::move(initial_[next_initial_]), nullptr});
    ++next_initial_;
    if (buffer_.size() >= kChunk) flush();
  }
  initial_.clear();
  next_initial_ = 0;
  if (request_.initial_end) {
    append_bookmark(buffer_, request_.kind, request_.since, request_.shape, true);
  }
  flush();
  follow();
}

void WatchStream::follow() {
  auto watch = store_.watch(
      request_.kind, request_.filter, request_.since,
      [this](const WatchEvent& event) {
        if (done_) return Store::Flow::pause;
        append(event);
        if (buffer_.size() >= kChunk) flush();
        paused_ = full();
        return paused_ ? Store::Flow::pause : Store::Flow::more;
      },
      [this] { finish(); }, [this] { flush(); });
  if (!watch) {
    append_watch_error(buffer_, watch.error());
    finish();
    return;
  }
  watch_ = std::move(*watch);
}

void WatchStream::append(const WatchEvent& event) {
  const bool table = request_.shape.form == Form::table;
  append_watch_line(buffer_, event, request_.shape,
                    table && !columns_sent_ ? Columns::with : Columns::without, store_.now());
  columns_sent_ = true;
}

void WatchStream::flush() {
  if (buffer_.empty() || done_) return;
  responder_->write(std::make_shared<const std::string>(std::move(buffer_)));
  buffer_ = {};
}

void WatchStream::finish() {
  if (done_) return;
  flush();
  done_ = true;
  responder_->end();
}

void WatchStream::tick(SteadyTime now) {
  if (done_) return;
  if (now >= end_) {
    if (request_.bookmarks && watch_.active() && !paused_) {
      append_bookmark(buffer_, request_.kind, watch_.delivered(), request_.shape, false);
    }
    finish();
    return;
  }
  if (full()) return;
  if (!watch_.active()) {
    send_initial();
  } else if (paused_) {
    paused_ = false;
    watch_.resume();
  } else if (request_.bookmarks && now >= next_bookmark_) {
    next_bookmark_ = now + limits_.bookmark_every;
    append_bookmark(buffer_, request_.kind, watch_.delivered(), request_.shape, false);
    flush();
  }
}

}  // namespace stowage::local
