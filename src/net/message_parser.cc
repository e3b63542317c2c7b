// A state of the library's parser asserts more bytes than a peer has to send ("0\r
// " and one more); without the assertion it handles them.
#define BOOST_DISABLE_ASSERTS

#include "net/message_parser.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <boost/beast/http/basic_parser.hpp>
#include <fmt/format.h>

#include "net/ascii.h"

namespace stowage::net {
namespace {

namespace http = boost::beast::http;
using boost::beast::error_code;
using Text = boost::beast::string_view;

// How much a request may make us reserve by its Content-Length alone. Responses may reserve up to
// the body limit, because we chose the server.
constexpr std::size_t kRequestReserveMax = std::size_t{16} << 10U;
// Spare bytes after a body of known length, for parsers that read in blocks.
constexpr std::size_t kRoomBehind = 64;

std::string_view view(Text text) { return {text.data(), text.size()}; }

// What requests and responses share: headers and a body within limits.
struct Content {
  MessageLimits limits;
  std::size_t reserve_max = 0;
  Headers* headers = nullptr;
  std::string* body = nullptr;
  std::vector<std::string_view>* pieces = nullptr;  // set: the body goes here, without a limit
  std::size_t length = 0;                           // of the body, as far as it is announced
  std::size_t header_bytes = 0;
  bool head_done = false;
  int codings = 0;           // headers that define the coding of the body
  bool plain_coding = true;  // all of them are `chunked` only
  int lengths = 0;           // headers with a length
  bool plain_length = true;  // none of them is a list
  bool expects_continue = false;
  int hosts = 0;
  const char* problem = nullptr;  // if the library's parser has no error

  void count(std::size_t bytes, error_code& error) {
    header_bytes += bytes;
    if (header_bytes > limits.header_bytes_max) error = http::error::header_limit;
  }

  void add(http::field field, Text name, Text value, error_code& error) {
    count(name.size() + value.size() + 4, error);
    if (error || head_done) return;  // trailers are counted and dropped
    headers->emplace_back(view(name), view(value));
    if (field == http::field::transfer_encoding) {
      ++codings;
      plain_coding = plain_coding && equals_ignoring_case(view(value), "chunked");
    }
    if (field == http::field::content_length) {
      ++lengths;
      plain_length = plain_length && view(value).find(',') == std::string_view::npos;
    }
    if (field == http::field::host) ++hosts;
    if (field == http::field::expect && equals_ignoring_case(view(value), "100-continue")) {
      expects_continue = true;
    }
  }

  // The library's parser accepts "gzip, chunked" as chunks, and a repeated equal length as one. We
  // could not read the first, and other implementations may read the second differently.
  [[nodiscard]] bool coding_known() const { return codings <= 1 && plain_coding; }
  [[nodiscard]] bool one_length() const { return lengths <= 1 && plain_length; }

  void begin_body(const boost::optional<std::uint64_t>& size, error_code& error) {
    if (pieces != nullptr || !size) return;
    if (*size > limits.body_bytes_max) {
      error = http::error::body_limit;
      return;
    }
    length = static_cast<std::size_t>(*size);
    if (length != 0) body->reserve(std::min(length, reserve_max) + kRoomBehind);
  }

  // Makes space for `more` bytes: doubles the capacity, but not beyond a known body length.
  void grow(std::size_t more) {
    const std::size_t needed = body->size() + more;
    if (needed <= body->capacity()) return;
    std::size_t room = std::max(needed, 2 * body->capacity());
    if (length != 0) room = std::min(room, std::max(needed, length + kRoomBehind));
    std::string larger;  // growing a string in place at least doubles it
    larger.reserve(room);
    larger.append(*body);
    body->swap(larger);
  }

  std::size_t append(Text bytes, error_code& error) {
    if (pieces != nullptr) {
      pieces->push_back(view(bytes));
    } else if (bytes.size() > limits.body_bytes_max - body->size()) {
      error = http::error::body_limit;
    } else {
      grow(bytes.size());
      body->append(bytes.data(), bytes.size());
    }
    return bytes.size();
  }
};

template <bool kIsRequest>
class Machine : public http::basic_parser<kIsRequest> {
 public:
  explicit Machine(Content& content) : content_(content) {
    this->eager(true);
    this->body_limit(boost::none);  // Content counts
    this->header_limit(static_cast<std::uint32_t>(
        std::min<std::size_t>(content.limits.header_bytes_max, 1U << 30U)));
  }

 protected:
  Content& content() { return content_; }

  void on_request_impl(http::verb, Text, Text, int, error_code&) override {}
  void on_response_impl(int, Text, int, error_code&) override {}
  void on_field_impl(http::field field, Text name, Text value, error_code& error) override {
    content_.add(field, name, value, error);
  }
  void on_header_impl(error_code& error) override {
    content_.head_done = true;
    if (!content_.coding_known()) {
      error = http::error::bad_transfer_encoding;
      content_.problem = "the only supported transfer coding is chunked";
      return;
    }
    if (!this->is_done()) content_.begin_body(this->content_length(), error);
  }
  void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code&) override {}
  std::size_t on_body_impl(Text bytes, error_code& error) override {
    return content_.append(bytes, error);
  }
  void on_chunk_header_impl(std::uint64_t size, Text, error_code& error) override {
    const bool limited = content_.pieces == nullptr;
    if (limited && size > content_.limits.body_bytes_max) error = http::error::body_limit;
  }
  std::size_t on_chunk_body_impl(std::uint64_t, Text bytes, error_code& error) override {
    return content_.append(bytes, error);
  }
  void on_finish_impl(error_code&) override {}

 private:
  Content& content_;
};

ParseFault to_fault(const error_code& error, const char* what) {
  if (error == http::error::header_limit) {
    return {ParseFault::Kind::header_too_large,
            fmt::format("the head of the {} is too large", what)};
  }
  if (error == http::error::body_limit) {
    return {ParseFault::Kind::body_too_large, fmt::format("the body of the {} is too large", what)};
  }
  return {ParseFault::Kind::malformed, fmt::format("malformed {}: {}", what, error.message())};
}

template <typename M>
std::size_t put_into(M& machine, std::string_view bytes, const Content& content, ParseFault& fault,
                     const char* what) {
  if (machine.is_done() || fault.kind != ParseFault::Kind::none || bytes.empty()) return 0;
  error_code error;
  const std::size_t taken = machine.put({bytes.data(), bytes.size()}, error);
  if (error == http::error::need_more) {
    error = {};
    // An unfinished line: of the head, of a chunk, or of the trailers.
    if (bytes.size() - taken > content.limits.header_bytes_max) error = http::error::header_limit;
  }
  if (!error) return taken;
  fault = to_fault(error, what);
  if (content.problem != nullptr)
    fault.message = fmt::format("malformed {}: {}", what, content.problem);
  return taken;
}

class RequestMachine final : public Machine<true> {
 public:
  RequestMachine(Content& content, HttpRequest& request)
      : Machine<true>(content), request_(request) {}

  [[nodiscard]] bool http_1_0() const { return version_ == 10; }

 protected:
  void on_request_impl(http::verb, Text method, Text target, int version,
                       error_code& error) override {
    content().count(method.size() + target.size(), error);
    request_.method = view(method);
    request_.target = view(target);
    version_ = version;
  }

  void on_header_impl(error_code& error) override {
    // Implementations disagree on where such a body ends, which allows request smuggling.
    if (content().codings > 0 && (!chunked() || http_1_0())) {
      error = http::error::bad_transfer_encoding;
    } else if (!content().one_length()) {
      error = http::error::bad_content_length;
      content().problem = "it has more than one Content-Length";
    } else if (content().hosts > 1 || (content().hosts == 0 && !http_1_0())) {
      error = http::error::bad_field;
      content().problem = "exactly one Host header is required";
    } else {
      Machine<true>::on_header_impl(error);
    }
  }

 private:
  HttpRequest& request_;
  int version_ = 11;
};

class ResponseMachine final : public Machine<false> {
 public:
  ResponseMachine(Content& content, HttpResponse& response, bool streamed,
                  std::vector<std::string_view>& pieces)
      : Machine<false>(content), response_(response), streamed_(streamed), pieces_(pieces) {}

 protected:
  void on_response_impl(int code, Text reason, int, error_code& error) override {
    content().count(reason.size(), error);
    response_.status = code;
    if (streamed_ && code == 200) content().pieces = &pieces_;
  }

 private:
  HttpResponse& response_;
  bool streamed_;
  std::vector<std::string_view>& pieces_;
};

}  // namespace

struct RequestParser::Core {
  MessageLimits limits;
  HttpRequest request;
  Content content;
  ParseFault fault;
  std::optional<RequestMachine> machine;

  void reset() {
    std::exchange(request, {});  // assignment would keep the memory of the body
    content = {.limits = limits,
               .reserve_max = kRequestReserveMax,
               .headers = &request.headers,
               .body = &request.body};
    fault = {};
    machine.emplace(content, request);
  }
};

RequestParser::RequestParser(const MessageLimits& limits) : core_(std::make_unique<Core>()) {
  core_->limits = limits;
  core_->reset();
}
RequestParser::~RequestParser() = default;

void RequestParser::reset() { core_->reset(); }

std::size_t RequestParser::put(std::string_view bytes) {
  return put_into(*core_->machine, bytes, core_->content, core_->fault, "request");
}

bool RequestParser::head_done() const { return core_->machine->is_header_done(); }
bool RequestParser::done() const {
  return core_->machine->is_done() && core_->fault.kind == ParseFault::Kind::none;
}
bool RequestParser::keep_alive() const { return core_->machine->keep_alive(); }
bool RequestParser::http_1_0() const { return core_->machine->http_1_0(); }
bool RequestParser::expects_continue() const { return core_->content.expects_continue; }
const ParseFault& RequestParser::fault() const { return core_->fault; }
HttpRequest& RequestParser::request() { return core_->request; }

struct ResponseParser::Core {
  MessageLimits limits;
  HttpResponse response;
  std::vector<std::string_view> pieces;
  Content content;
  ParseFault fault;
  std::optional<ResponseMachine> machine;

  void reset(Mode mode) {
    response = {};
    pieces.clear();
    content = {.limits = limits,
               .reserve_max = limits.body_bytes_max,
               .headers = &response.headers,
               .body = &response.body};
    fault = {};
    machine.emplace(content, response, mode == Mode::streamed, pieces);
    machine->skip(mode == Mode::head);
  }
};

ResponseParser::ResponseParser(const MessageLimits& limits) : core_(std::make_unique<Core>()) {
  core_->limits = limits;
  core_->reset(Mode::whole);
}
ResponseParser::~ResponseParser() = default;

void ResponseParser::reset(Mode mode) { core_->reset(mode); }

std::size_t ResponseParser::put(std::string_view bytes) {
  core_->pieces.clear();
  return put_into(*core_->machine, bytes, core_->content, core_->fault, "response");
}

bool ResponseParser::put_eof() {
  if (done()) return true;
  if (core_->fault.kind != ParseFault::Kind::none || !core_->machine->got_some()) return false;
  core_->pieces.clear();
  error_code error;
  core_->machine->put_eof(error);
  return !error && done();
}

bool ResponseParser::head_done() const { return core_->machine->is_header_done(); }
bool ResponseParser::done() const {
  return core_->machine->is_done() && core_->fault.kind == ParseFault::Kind::none;
}
bool ResponseParser::keep_alive() const { return core_->machine->keep_alive(); }
const ParseFault& ResponseParser::fault() const { return core_->fault; }
HttpResponse& ResponseParser::response() { return core_->response; }
const std::vector<std::string_view>& ResponseParser::pieces() const { return core_->pieces; }

}  // namespace stowage::net
