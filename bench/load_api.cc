#include "bench/load_api.h"

#include <cstdlib>
#include <utility>

#include <fmt/format.h>

#include "bench/kube_objects.h"
#include "kube/kubeconfig.h"

namespace stowage::bench {
namespace {

constexpr std::chrono::seconds kDeadline{60};
constexpr std::chrono::seconds kSayEvery{2};

}  // namespace

void give_up(const std::string& why) {
  fmt::print(stderr, "load: {}\n", why);
  std::exit(1);
}

Api::Api(const std::string& kubeconfig, int clients) {
  auto config = kube::load_kubeconfig({.path = kubeconfig});
  if (!config) give_up(config.error().message);
  kube::ApiClientOptions options;
  options.in_flight_max = static_cast<std::size_t>(clients);
  options.events_in_flight_max = options.in_flight_max;
  options.user_agent = "stowage-kube-load";
  auto client = kube::ApiClient::create(loop_, std::move(*config), options);
  if (!client) give_up(client.error().message);
  client_ = std::move(*client);
}

void Api::call(kube::ApiCall call, std::function<void(kube::ApiReply)> then) {
  const std::string what = fmt::format("{} {}", call.method, call.target);
  client_->call(std::move(call), kDeadline, [what, then = std::move(then)](auto reply) {
    if (!reply) give_up(reply.error().message);
    if (reply->status >= 300) give_up(kube::explain(what, *reply));
    then(std::move(*reply));
  });
}

void Api::post(std::string target, std::string body, const char* type, std::function<void()> then) {
  call({.method = "POST",
        .target = std::move(target),
        .body = std::move(body),
        .content_type = type,
        .accept = type},
       [then = std::move(then)](const kube::ApiReply&) { then(); });
}

Progress::Progress(net::EventLoop& loop, std::string what, const int& done, int total)
    : timer_(loop), what_(std::move(what)), done_(done), total_(total) {
  again();
}

void Progress::again() {
  timer_.start(kSayEvery, [this] {
    fmt::print(stderr, "  {}: {} of {}\n", what_, done_, total_);
    again();
  });
}

PodWatch::PodWatch(Api& api, std::string query, std::string accept, Named named)
    : api_(api), query_(std::move(query)), accept_(std::move(accept)), named_(std::move(named)) {}

void PodWatch::start(std::function<void()> ready) {
  ready_ = std::move(ready);
  api_.call({.target = "/api/v1/pods?limit=1"}, [this](const kube::ApiReply& reply) {
    version_ = seen_json(reply.body).version;
    open();
  });
}

void PodWatch::open() {
  rest_.clear();
  kube::ApiClient::StreamHandler handler;
  handler.head = [this](const net::HttpResponse& head) {
    if (head.status != 200) give_up(kube::explain("watch pods", head));
    ++opened_;
    if (const auto ready = std::exchange(ready_, nullptr)) ready();
  };
  handler.data = [this](std::string_view bytes) {
    bytes_ += bytes.size();
    rest_.append(bytes);
    take();
  };
  handler.end = [this](const auto&) {
    again_ = std::make_unique<net::Timer>(api_.loop());
    again_->start({}, [this] { open(); });
  };
  stream_ = api_.client().open(
      fmt::format("/api/v1/pods?watch=1&timeoutSeconds=3600&resourceVersion={}{}", version_,
                  query_),
      {}, std::move(handler), accept_);
}

void PodWatch::take() {
  std::size_t done = 0;
  for (;;) {
    const std::string_view left = std::string_view(rest_).substr(done);
    const std::size_t size = accept_ == kProtobuf ? frame_size(left) : left.find('\n') + 1;
    if (size == 0 || size > left.size()) break;
    const PodSeen pod = accept_ == kProtobuf ? seen_protobuf(left.substr(0, size))
                                             : seen_json(left.substr(0, size));
    if (pod.version.empty()) give_up("the watch of pods has failed");
    version_ = pod.version;
    if (named_) named_(pod.name);
    done += size;
  }
  rest_.erase(0, done);
}

}  // namespace stowage::bench
