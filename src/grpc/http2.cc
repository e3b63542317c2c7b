#include "grpc/http2.h"

#include <fmt/format.h>
#include <nghttp2/nghttp2.h>

#include "base/check.h"
#include "grpc/header_text.h"

namespace stowage::grpc {
namespace {

constexpr std::size_t kHeaderExtra = 32;  // RFC 9113, 6.5.2
// Frames that wait for output. The library itself limits only answers to pings and settings; this
// limit stops a peer that provokes resets and reads nothing.
constexpr std::size_t kQueueMax = 5000;

// Headers in the library's format. It copies them before the call returns.
std::vector<nghttp2_nv> views_of(const Headers& headers) {
  const auto bytes = [](const std::string& text) {
    return const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(text.data()));
  };
  std::vector<nghttp2_nv> views;
  views.reserve(headers.size());
  for (const Header& header : headers) {
    views.push_back({.name = bytes(header.name),
                     .value = bytes(header.value),
                     .namelen = header.name.size(),
                     .valuelen = header.value.size(),
                     .flags = NGHTTP2_NV_FLAG_NONE});
  }
  return views;
}

std::string_view text_of(const std::uint8_t* bytes, std::size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

// Running out of memory ends the program, as everywhere. Other errors here concern a stream that
// has just ended, and do not matter.
void expect_memory(int result) { STOWAGE_CHECK(result != NGHTTP2_ERR_NOMEM); }

}  // namespace

struct Http2::Callbacks {
  static Http2& of(void* user) { return *static_cast<Http2*>(user); }

  static int on_begin_headers(nghttp2_session* /*session*/, const nghttp2_frame* frame,
                              void* user) {
    Http2& self = of(user);
    self.block_bytes_ = 0;
    if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST) return 0;
    self.open_.insert(frame->hd.stream_id);
    self.owner_.on_opened(frame->hd.stream_id);
    return 0;
  }

  static int on_header(nghttp2_session* /*session*/, const nghttp2_frame* frame,
                       const std::uint8_t* name, std::size_t name_size, const std::uint8_t* value,
                       std::size_t value_size, std::uint8_t /*flags*/, void* user) {
    Http2& self = of(user);
    self.block_bytes_ += name_size + value_size + kHeaderExtra;
    if (self.block_bytes_ > self.header_bytes_max_) {
      self.owner_.on_headers_too_large(frame->hd.stream_id);
      return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    }
    self.owner_.on_header(frame->hd.stream_id, text_of(name, name_size),
                          text_of(value, value_size));
    return 0;
  }

  static int on_frame(nghttp2_session* /*session*/, const nghttp2_frame* frame, void* user) {
    Http2& self = of(user);
    const StreamId stream = frame->hd.stream_id;
    if (frame->hd.type == NGHTTP2_GOAWAY) {
      const nghttp2_goaway& goaway = frame->goaway;
      const std::string words = shown(text_of(goaway.opaque_data, goaway.opaque_data_len));
      self.goaway_sent_ =
          fmt::format("it sent GOAWAY: {}{}{}", nghttp2_http2_strerror(goaway.error_code),
                      words.empty() ? "" : " ", words);
      return 0;
    }
    if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA) return 0;
    ++self.progress_;
    if (frame->hd.type == NGHTTP2_HEADERS) self.owner_.on_headers_end(stream);
    if ((frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) self.owner_.on_input_end(stream);
    return 0;
  }

  static int on_data(nghttp2_session* /*session*/, std::uint8_t /*flags*/, std::int32_t stream,
                     const std::uint8_t* data, std::size_t size, void* user) {
    of(user).owner_.on_data(stream, text_of(data, size));
    return 0;
  }

  static int on_stream_close(nghttp2_session* /*session*/, std::int32_t stream, std::uint32_t error,
                             void* user) {
    Http2& self = of(user);
    self.outgoing_.erase(stream);
    self.open_.erase(stream);
    self.owner_.on_closed(stream, error);
    return 0;
  }

  static int on_sent(nghttp2_session* session, const nghttp2_frame* frame, void* user) {
    Http2& self = of(user);
    if (frame->hd.type == NGHTTP2_GOAWAY && frame->goaway.error_code != NGHTTP2_NO_ERROR) {
      self.failure_ = nghttp2_http2_strerror(frame->goaway.error_code);
      if (!self.detail_.empty()) self.failure_ += " (" + self.detail_ + ")";
    }
    // An answer that ends before its request is complete: the rest of the request is not awaited.
    const bool last = (frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA) &&
                      (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    if (last && self.side_ == Side::server &&
        nghttp2_session_get_stream_remote_close(session, frame->hd.stream_id) == 0) {
      expect_memory(nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, frame->hd.stream_id,
                                              NGHTTP2_NO_ERROR));
    }
    return 0;
  }

  static int on_complaint(nghttp2_session* /*session*/, int /*code*/, const char* message,
                          std::size_t size, void* user) {
    of(user).detail_ = shown({message, size});
    return 0;
  }

  static ssize_t read(nghttp2_session* session, std::int32_t stream, std::uint8_t* room,
                      std::size_t size, std::uint32_t* flags, nghttp2_data_source* /*source*/,
                      void* user) {
    Http2& self = of(user);
    const auto found = self.outgoing_.find(stream);
    if (found == self.outgoing_.end()) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    Outgoing& outgoing = found->second;
    const std::size_t copied = self.copy_out(outgoing, reinterpret_cast<char*>(room), size);
    if (outgoing.bytes != 0) return static_cast<ssize_t>(copied);
    if (outgoing.ended) {
      *flags |= NGHTTP2_DATA_FLAG_EOF;
      if (!outgoing.trailers.empty()) {
        *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
        const std::vector<nghttp2_nv> views = views_of(outgoing.trailers);
        expect_memory(nghttp2_submit_trailer(session, stream, views.data(), views.size()));
      }
    } else if (copied == 0) {
      outgoing.deferred = true;
      return NGHTTP2_ERR_DEFERRED;
    }
    return static_cast<ssize_t>(copied);
  }
};

void Http2::Delete::operator()(nghttp2_session* session) const { nghttp2_session_del(session); }

Http2::Http2(Side side, const Limits& limits, Owner& owner)
    : side_(side),
      header_bytes_max_(limits.header_bytes_max),
      streams_max_(limits.streams_max),
      owner_(owner) {
  nghttp2_session_callbacks* callbacks = nullptr;
  expect_memory(nghttp2_session_callbacks_new(&callbacks));
  nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, Callbacks::on_begin_headers);
  nghttp2_session_callbacks_set_on_header_callback(callbacks, Callbacks::on_header);
  nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, Callbacks::on_frame);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, Callbacks::on_data);
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, Callbacks::on_stream_close);
  nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, Callbacks::on_sent);
  nghttp2_session_callbacks_set_error_callback2(callbacks, Callbacks::on_complaint);
  nghttp2_option* option = nullptr;
  expect_memory(nghttp2_option_new(&option));
  nghttp2_option_set_no_closed_streams(option, 1);
  nghttp2_option_set_max_reserved_remote_streams(option, 0);
  nghttp2_session* session = nullptr;
  expect_memory(side == Side::client
                    ? nghttp2_session_client_new2(&session, callbacks, this, option)
                    : nghttp2_session_server_new2(&session, callbacks, this, option));
  session_.reset(session);
  nghttp2_option_del(option);
  nghttp2_session_callbacks_del(callbacks);
  start(limits);
}

Http2::~Http2() = default;

// The library has further limits of its own: 8 continuation frames, 32 settings in a frame, 1000
// waiting answers to pings, 1000 resets at once and 33 per second.
void Http2::start(const Limits& limits) {
  std::vector<nghttp2_settings_entry> settings = {
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, limits.window_bytes},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, static_cast<std::uint32_t>(header_bytes_max_)},
  };
  if (side_ == Side::client) {
    settings.push_back({NGHTTP2_SETTINGS_ENABLE_PUSH, 0});
  } else {
    settings.push_back({NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, limits.streams_max});
    settings.push_back({NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1});
  }
  STOWAGE_CHECK(nghttp2_submit_settings(session_.get(), NGHTTP2_FLAG_NONE, settings.data(),
                                        settings.size()) == 0);
  STOWAGE_CHECK(
      nghttp2_session_set_local_window_size(session_.get(), NGHTTP2_FLAG_NONE, 0,
                                            static_cast<std::int32_t>(limits.window_bytes)) == 0);
}

void Http2::receive(std::string_view bytes) {
  if (failed_) return;
  detail_.clear();
  const ssize_t taken = nghttp2_session_mem_recv(
      session_.get(), reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  if (taken < 0) return fail(nghttp2_strerror(static_cast<int>(taken)));
  if (nghttp2_session_get_outbound_queue_size(session_.get()) > kQueueMax) {
    fail("it does not read the replies to its frames");
  }
}

std::string Http2::output(std::size_t max) {
  reset_dropped();
  std::string bytes;
  while (!failed_ && bytes.size() < max) {
    const std::uint8_t* part = nullptr;
    const ssize_t size = nghttp2_session_mem_send(session_.get(), &part);
    if (size < 0) {
      fail(nghttp2_strerror(static_cast<int>(size)));
    } else if (size == 0) {
      break;
    } else {
      bytes += text_of(part, static_cast<std::size_t>(size));
    }
  }
  return bytes;
}

StreamId Http2::open(const Headers& headers) {
  const std::vector<nghttp2_nv> views = views_of(headers);
  nghttp2_data_provider source{};
  source.read_callback = Callbacks::read;
  const StreamId stream =
      nghttp2_submit_request(session_.get(), nullptr, views.data(), views.size(), &source, nullptr);
  STOWAGE_CHECK(stream > 0);
  open_.insert(stream);
  outgoing_[stream];
  return stream;
}

bool Http2::takes_streams() const {
  return !failed_ && open_.size() < streams_max_ &&
         nghttp2_session_check_request_allowed(session_.get()) != 0;
}

void Http2::respond(StreamId stream, const Headers& headers, Body body) {
  if (!open_.contains(stream)) return;
  const std::vector<nghttp2_nv> views = views_of(headers);
  nghttp2_data_provider source{};
  source.read_callback = Callbacks::read;
  if (body == Body::follows) outgoing_[stream];
  expect_memory(nghttp2_submit_response(session_.get(), stream, views.data(), views.size(),
                                        body == Body::follows ? &source : nullptr));
}

void Http2::write(StreamId stream, std::string bytes) {
  const auto found = outgoing_.find(stream);
  if (found == outgoing_.end() || found->second.ended || bytes.empty()) return;
  found->second.bytes += bytes.size();
  found->second.pieces.push_back(std::move(bytes));
  resume(stream, found->second);
}

void Http2::finish(StreamId stream, Headers trailers) {
  const auto found = outgoing_.find(stream);
  if (found == outgoing_.end() || found->second.ended) return;
  found->second.ended = true;
  found->second.trailers = std::move(trailers);
  resume(stream, found->second);
}

void Http2::resume(StreamId stream, Outgoing& outgoing) {
  if (!std::exchange(outgoing.deferred, false)) return;
  expect_memory(nghttp2_session_resume_data(session_.get(), stream));
}

std::size_t Http2::copy_out(Outgoing& outgoing, char* room, std::size_t size) {
  std::size_t copied = 0;
  while (copied < size && !outgoing.pieces.empty()) {
    const std::string& piece = outgoing.pieces.front();
    const std::size_t count = piece.copy(room + copied, size - copied, outgoing.offset);
    copied += count;
    outgoing.offset += count;
    if (outgoing.offset == piece.size()) {
      outgoing.pieces.pop_front();
      outgoing.offset = 0;
    }
  }
  outgoing.bytes -= copied;
  return copied;
}

std::size_t Http2::backlog(StreamId stream) const {
  const auto found = outgoing_.find(stream);
  return found == outgoing_.end() ? 0 : found->second.bytes;
}

// Deferred: whether a stream has ended by itself is known only after the current frame was
// processed.
void Http2::drop(StreamId stream, std::uint32_t error) {
  if (open_.contains(stream)) dropped_.emplace_back(stream, error);
}

void Http2::reset_dropped() {
  for (const auto& [stream, error] : std::exchange(dropped_, {})) {
    if (!open_.contains(stream)) continue;
    expect_memory(nghttp2_submit_rst_stream(session_.get(), NGHTTP2_FLAG_NONE, stream, error));
  }
}

void Http2::ping() {
  expect_memory(nghttp2_submit_ping(session_.get(), NGHTTP2_FLAG_NONE, nullptr));
}

void Http2::send_goaway() {
  expect_memory(nghttp2_submit_goaway(session_.get(), NGHTTP2_FLAG_NONE,
                                      nghttp2_session_get_last_proc_stream_id(session_.get()),
                                      NGHTTP2_NO_ERROR, nullptr, 0));
}

bool Http2::over() const {
  return failed_ || (nghttp2_session_want_read(session_.get()) == 0 &&
                     nghttp2_session_want_write(session_.get()) == 0);
}

std::string Http2::why() const {
  if (!failure_.empty()) return fmt::format("it violates HTTP/2: {}", failure_);
  return goaway_sent_;
}

void Http2::fail(std::string why) {
  failed_ = true;
  failure_ = std::move(why);
}

}  // namespace stowage::grpc
