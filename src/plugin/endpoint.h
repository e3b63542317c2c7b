// One resource at the kubelet: serves its socket, registers it, and keeps it registered. Carries
// out what RegistrationState decides.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "grpc/client.h"
#include "grpc/server.h"
#include "net/event_loop.h"
#include "plugin/messages.h"
#include "plugin/registration.h"

namespace stowage::plugin {

struct EndpointOptions {
  std::string folder;  // the kubelet's for device plugins
  std::string resource;
  std::string start_id;  // of this process, part of the names of sockets
  Ids ids;
  RegistrationState::Options registration;
};

class Endpoint {
 public:
  struct Deps {
    grpc::Server::Handler allocate;
    grpc::Server::Handler pre_start;
    std::function<void()> changed;  // registered() or why() has changed
  };
  Endpoint(net::EventLoop& loop, EndpointOptions options, Deps deps, base::Log& log);
  ~Endpoint() = default;
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  void on_socket(RegistrationState::Socket socket);

  [[nodiscard]] const std::string& resource() const { return options_.resource; }
  [[nodiscard]] bool registered() const { return state_.registered(); }
  [[nodiscard]] const std::string& why() const { return state_.why(); }
  [[nodiscard]] std::uint64_t attempts() const { return attempts_; }

 private:
  using Action = RegistrationState::Action;
  void act(Action action);
  void attempt();
  void end_streams();
  void await_close();
  void list(const std::shared_ptr<grpc::Responder>& responder);
  void list_ended(const grpc::Responder* responder);
  void told();
  [[nodiscard]] Status listen();
  [[nodiscard]] std::string socket_name() const;

  net::EventLoop& loop_;
  const EndpointOptions options_;
  Deps deps_;
  base::Log& log_;
  RegistrationState state_;
  std::uint64_t attempts_ = 0;
  std::vector<std::shared_ptr<grpc::Responder>> streams_;  // open
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<grpc::Client> client_;
  std::unique_ptr<grpc::Caller::Call> call_;
  net::Timer timer_;  // of state_
  net::Timer close_timer_;
  bool told_registered_ = false;
  std::string told_why_;
};

// Removes sockets of ours in the folder that earlier processes left there.
void remove_old_sockets(const std::string& folder, const std::string& start_id);

}  // namespace stowage::plugin
