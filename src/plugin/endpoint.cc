#include "plugin/endpoint.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "plugin/kubelet_socket.h"

namespace stowage::plugin {
namespace {

constexpr std::string_view kSocketPrefix = "stowage-";
constexpr std::string_view kSocketSuffix = ".sock";
constexpr std::chrono::milliseconds kCloseLook{5};
// The kubelet connects to us inside the call, for at most 10 s.
constexpr std::chrono::seconds kRegisterDeadline{15};
constexpr std::uint32_t kCallsMax = 1000;  // at once: starts of containers wait

}  // namespace

Endpoint::Endpoint(net::EventLoop& loop, EndpointOptions options, Deps deps, base::Log& log)
    : loop_(loop),
      options_(std::move(options)),
      deps_(std::move(deps)),
      log_(log),
      state_(options_.registration),
      timer_(loop),
      close_timer_(loop) {}

void Endpoint::on_socket(RegistrationState::Socket socket) {
  act(state_.on_socket(socket, loop_.now()));
}

void Endpoint::act(Action action) {
  if (action == Action::attempt) attempt();
  if (action == Action::end_streams) end_streams();
  if (const auto due = state_.due()) {
    timer_.start(*due - loop_.now(), [this] { act(state_.on_time(loop_.now())); });
  } else {
    timer_.cancel();
  }
  told();
}

void Endpoint::told() {
  const bool now = registered();
  const bool changed = std::exchange(told_registered_, now) != now;
  const bool news = std::exchange(told_why_, why()) != why();
  if (changed && now) {
    log_.info("registered with the kubelet", {{"resource", options_.resource}});
  } else if (!now && news) {
    log_.warn("not registered with the kubelet",
              {{"resource", options_.resource}, {"why", told_why_}});
  }
  if ((changed || news) && deps_.changed) deps_.changed();
}

// ---- attempts

std::string Endpoint::socket_name() const {
  return fmt::format("{}{}-{}-{}{}", kSocketPrefix, base::split_name(options_.resource).name,
                     options_.start_id, attempts_, kSocketSuffix);
}

Status Endpoint::listen() {
  STOWAGE_TRY_ASSIGN(
      server_,
      grpc::Server::listen(
          loop_, {.socket = options_.folder + "/" + socket_name(), .calls_max = kCallsMax},
          {{kOptionsMethod,
            [](const grpc::ServerRequest&, const std::shared_ptr<grpc::Responder>& responder) {
              responder->send(plugin_options());
            }},
           {kListMethod,
            [this](const grpc::ServerRequest&, const std::shared_ptr<grpc::Responder>& responder) {
              list(responder);
            }},
           {kAllocateMethod, deps_.allocate},
           {kPreStartMethod, deps_.pre_start}}));
  return {};
}

// Serves first: the kubelet connects to us before it answers.
void Endpoint::attempt() {
  call_.reset();
  client_.reset();
  streams_.clear();
  server_.reset();
  close_timer_.cancel();
  ++attempts_;
  if (const Status listening = listen(); !listening) {
    return act(state_.on_refused(listening.error().message, loop_.now()));
  }
  client_ = std::make_unique<grpc::Client>(
      loop_, grpc::ClientOptions{.socket = options_.folder + "/" + kKubeletSocket});
  call_ = client_->call(
      kRegisterMethod, register_request({.endpoint = socket_name(), .resource = options_.resource}),
      {.deadline = kRegisterDeadline}, [this](const auto& reply) {
        if (reply) return act(state_.on_accepted(loop_.now()));
        const std::string why = "the kubelet does not register the plugin: ";
        act(state_.on_refused(why + grpc::to_text(reply.error()), loop_.now()));
      });
}

// ---- the stream of devices

void Endpoint::list(const std::shared_ptr<grpc::Responder>& responder) {
  streams_.push_back(responder);
  responder->on_closed([this, stream = responder.get()] { list_ended(stream); });
  responder->write(device_list(options_.ids));
  act(state_.on_stream(loop_.now()));
}

void Endpoint::list_ended(const grpc::Responder* responder) {
  std::erase_if(streams_, [&](const auto& each) { return each.get() == responder; });
  if (streams_.empty()) act(state_.on_streams_ended(loop_.now()));
}

void Endpoint::end_streams() {
  for (const auto& stream : streams_) stream->end({});
  streams_.clear();
  await_close();
}

void Endpoint::await_close() {
  if (server_ && server_->connections() > 0) {
    close_timer_.start(kCloseLook, [this] { await_close(); });
    return;
  }
  close_timer_.start(net::Duration{0}, [this] { act(state_.on_connections_closed(loop_.now())); });
}

void remove_old_sockets(const std::string& folder, const std::string& start_id) {
  std::error_code error;
  std::vector<std::filesystem::path> old;
  std::filesystem::directory_iterator at(folder, error);
  for (; !error && at != std::filesystem::directory_iterator(); at.increment(error)) {
    const std::string name = at->path().filename().string();
    std::error_code ignored;
    const bool ours =
        name.starts_with(kSocketPrefix) && name.ends_with(kSocketSuffix) && at->is_socket(ignored);
    if (ours && name.find(start_id) == std::string::npos) old.push_back(at->path());
  }
  for (const auto& path : old) std::filesystem::remove(path, error);
}

}  // namespace stowage::plugin
