// A kubelet's device manager in the process: registration, Allocate in the order of admission, the
// checkpoint, PreStartContainer before each start, and what a restart forgets.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "grpc/client.h"
#include "grpc/server.h"
#include "net/event_loop.h"
#include "plugin/checkpoint.h"
#include "plugin/messages.h"
#include "plugin/node_view.h"
#include "plugin/testing/kubelet_messages.h"

namespace stowage::plugin::testing {

class FakeKubelet {
 public:
  // How a kubelet knows plugins: by resource (until 1.36), or by resource and socket.
  enum class Rules : std::uint8_t { by_resource, by_socket };

  FakeKubelet(net::EventLoop& loop, std::string folder) : loop_(loop), folder_(std::move(folder)) {}
  void set_rules(Rules rules) { rules_ = rules; }

  // As a kubelet process starts: removes all sockets, then listens. What plugins said is forgotten;
  // what the checkpoint says is not.
  void start() {
    std::vector<std::filesystem::path> sockets;
    for (const auto& file : std::filesystem::directory_iterator(folder_)) {
      if (file.is_socket()) sockets.push_back(file.path());
    }
    for (const auto& socket : sockets) std::filesystem::remove(socket);
    auto made = grpc::Server::listen(
        loop_, {.socket = folder_ + "/kubelet.sock"},
        {{kRegisterMethod,
          [this](const grpc::ServerRequest& request, std::shared_ptr<grpc::Responder> responder) {
            on_register(request.message, std::move(responder));
          }}});
    STOWAGE_CHECK(made.has_value());
    server_ = std::move(*made);
  }
  void stop() {
    clients_.clear();
    has_options_.clear();
    healthy_.clear();
    // The process is gone, and its socket stays until the next one.
    server_.reset();
  }

  [[nodiscard]] bool is_healthy(const std::string& resource) const {
    return healthy_.count(resource) > 0;
  }
  [[nodiscard]] Ids devices(const std::string& resource) const {
    const auto found = healthy_.find(resource);
    return found == healthy_.end() ? Ids{} : found->second;
  }
  // Ends the stream of devices from the kubelet's side, as by a wrong message.
  void drop_stream(const std::string& resource) {
    for (auto& [key, client] : clients_) {
      if (client.resource == resource && client.stream) {
        client.stream.reset();
        disconnect(key);
        return;
      }
    }
  }
  void refuse_registrations(std::string why) { refusal_ = std::move(why); }
  void ignore_streams(bool ignore) { ignore_streams_ = ignore; }
  [[nodiscard]] int registrations() const { return registrations_; }
  [[nodiscard]] const std::vector<std::string>& endpoints() const { return endpoints_; }

  // ---- admission

  struct Container {
    std::string pod_uid;
    std::string ns;
    std::string pod;
    std::string name;
    std::string resource = "stowage.dev/attachment";
    bool init = false;
  };
  // Gives the container `count` devices: first those of the pod's init containers.
  void allocate(const Container& container, std::size_t count,
                std::function<void(std::string error)> done) {
    Ids ids = pick(container, count);
    if (ids.size() < count) return done("no healthy devices present");
    Client* client = client_of(container.resource);
    if (client == nullptr) return done("endpoint not found");
    auto call = std::make_shared<std::unique_ptr<grpc::Caller::Call>>();
    *call =
        client->grpc->call(kAllocateMethod, allocate_request({ids}), {.deadline = net::Duration{}},
                           [this, container, ids, call, done = std::move(done)](const auto& reply) {
                             if (!reply) return done(grpc::to_text(reply.error()));
                             Held held{.container = container,
                                       .stored = {.pod_uid = container.pod_uid,
                                                  .container = container.name,
                                                  .resource = container.resource,
                                                  .ids = ids,
                                                  .response = text_at(*reply, 1)}};
                             held_.push_back(std::move(held));
                             write_checkpoint();
                             done("");
                           });
    calls_.push_back(call);
  }

  // Before a start of the container. `skipped`: the kubelet does not know that it must ask.
  struct Started {
    std::string error;
    bool skipped = false;
    std::vector<std::string> cdi_devices;  // that the runtime gets
  };
  void pre_start(const Container& container, std::function<void(Started)> done) {
    const auto held = find(container);
    STOWAGE_CHECK(held != held_.end());
    auto answer = read_container_response(held->stored.response);
    STOWAGE_CHECK(answer.has_value());
    Started started{.error = {}, .skipped = false, .cdi_devices = answer->cdi_devices};
    if (has_options_.count(container.resource) == 0) {
      started.skipped = true;
      return done(std::move(started));
    }
    Client* client = client_of(container.resource);
    if (client == nullptr) {
      started.error = "endpoint stopped";
      return done(std::move(started));
    }
    auto call = std::make_shared<std::unique_ptr<grpc::Caller::Call>>();
    *call = client->grpc->call(kPreStartMethod, ids_message(held->stored.ids),
                               {.deadline = std::chrono::seconds{30}},
                               [started, call, done = std::move(done)](const auto& reply) mutable {
                                 if (!reply) started.error = grpc::to_text(reply.error());
                                 done(started);
                               });
    calls_.push_back(call);
  }

  // The pod has ended; the file shows it with the next write.
  void end_pod(const std::string& uid) {
    std::erase_if(held_, [&](const Held& held) { return held.container.pod_uid == uid; });
  }
  void write_checkpoint() { write(checkpoint_text(stored())); }
  void write(const std::string& text) {
    const std::string path = folder_ + "/" + kCheckpointFile;
    {
      std::ofstream file(path + ".new", std::ios::binary);
      file << text;
    }
    std::filesystem::rename(path + ".new", path);
  }
  [[nodiscard]] std::vector<StoredEntry> stored() const {
    std::vector<StoredEntry> entries;
    for (const Held& held : held_) entries.push_back(held.stored);
    return entries;
  }
  // As podresources lists them: without init containers and uids.
  [[nodiscard]] std::vector<Holder> holders() const {
    std::vector<Holder> all;
    for (const Held& held : held_) {
      if (held.container.init) continue;
      all.push_back({.ns = held.container.ns,
                     .pod = held.container.pod,
                     .container = held.container.name,
                     .resource = held.container.resource,
                     .ids = held.stored.ids});
    }
    return all;
  }
  [[nodiscard]] Ids ids_of(const Container& container) {
    const auto held = find(container);
    return held == held_.end() ? Ids{} : held->stored.ids;
  }

 private:
  struct Client {
    std::string resource;
    std::string endpoint;
    std::unique_ptr<grpc::Client> grpc;
    std::unique_ptr<grpc::Caller::Call> options;
    std::unique_ptr<grpc::Caller::Call> stream;
  };
  struct Held {
    Container container;
    StoredEntry stored;
  };

  [[nodiscard]] std::string key_of(const std::string& resource, const std::string& endpoint) const {
    return rules_ == Rules::by_resource ? resource : resource + " " + endpoint;
  }

  void on_register(const std::string& message, std::shared_ptr<grpc::Responder> responder) {
    ++registrations_;
    const std::string endpoint = text_at(message, 2);
    const std::string resource = text_at(message, 3);
    endpoints_.push_back(endpoint);
    const std::string key = key_of(resource, endpoint);
    if (!refusal_.empty() || (rules_ == Rules::by_socket && clients_.count(key) > 0)) {
      responder->end({.code = grpc::Code::unknown,
                      .message = refusal_.empty() ? "device plugin already connected" : refusal_});
      return;
    }
    // Connects before it answers. Under the old rules the old client of the resource is replaced,
    // and still ends whoever is there when its stream ends.
    auto client = std::make_unique<grpc::Client>(
        loop_, grpc::ClientOptions{.socket = folder_ + "/" + endpoint, .calls_max = 512});
    grpc::Client& caller = *client;
    if (clients_.count(key) > 0) replaced_.push_back(std::move(clients_[key]));
    clients_[key] = Client{.resource = resource, .endpoint = endpoint, .grpc = std::move(client)};
    clients_[key].options =
        caller.call(kOptionsMethod, {}, {}, [this, key, responder](const auto& reply) {
          if (!reply) {
            responder->end({.code = grpc::Code::unknown, .message = "cannot dial"});
            clients_.erase(key);
            return;
          }
          has_options_.insert(clients_.at(key).resource);
          responder->send({});
          if (!ignore_streams_) open_stream(key);
        });
  }

  void open_stream(const std::string& key) {
    Client& client = clients_.at(key);
    client.stream =
        client.grpc->open(kListMethod, {}, {.deadline = net::Duration{}},
                          {.message =
                               [this, resource = client.resource](const std::string& message) {
                                 Ids ids;
                                 for (const std::string& device : all_bytes(message, 1)) {
                                   ids.push_back(text_at(device, 1));
                                 }
                                 healthy_[resource] = std::move(ids);
                               },
                           .end = [this, key](const grpc::CallStatus&) { disconnect(key); }});
  }

  // Whoever has the key now.
  void disconnect(const std::string& key) {
    const auto found = clients_.find(key);
    if (found == clients_.end()) return;
    healthy_.erase(found->second.resource);
    auto gone = std::make_shared<Client>(std::move(found->second));
    clients_.erase(found);
    loop_.post([gone] {});  // not inside a callback of its own stream
  }

  [[nodiscard]] Client* client_of(const std::string& resource) {
    for (auto& [key, client] : clients_) {
      if (client.resource == resource) return &client;
    }
    return nullptr;
  }

  std::vector<Held>::iterator find(const Container& container) {
    return std::find_if(held_.begin(), held_.end(), [&](const Held& held) {
      return held.container.pod_uid == container.pod_uid && held.container.name == container.name &&
             held.container.resource == container.resource;
    });
  }

  [[nodiscard]] Ids pick(const Container& container, std::size_t count) {
    std::set<std::string> taken;
    Ids again;  // of init containers of the pod
    for (const Held& held : held_) {
      const bool same = held.container.pod_uid == container.pod_uid && held.container.init &&
                        held.container.resource == container.resource;
      for (const std::string& id : held.stored.ids) {
        taken.insert(id);
        if (same && std::find(again.begin(), again.end(), id) == again.end()) again.push_back(id);
      }
    }
    Ids ids(again.begin(),
            again.begin() + static_cast<std::ptrdiff_t>(std::min(count, again.size())));
    for (const std::string& id : devices(container.resource)) {
      if (ids.size() == count) break;
      if (taken.count(id) == 0) ids.push_back(id);
    }
    std::sort(ids.begin(), ids.end());
    return ids;
  }

  net::EventLoop& loop_;
  std::string folder_;
  Rules rules_ = Rules::by_resource;
  std::unique_ptr<grpc::Server> server_;
  std::map<std::string, Client> clients_;
  std::vector<Client> replaced_;
  std::set<std::string> has_options_;   // resources that must be asked before a start
  std::map<std::string, Ids> healthy_;  // by resource
  std::vector<Held> held_;
  std::string refusal_;
  bool ignore_streams_ = false;
  int registrations_ = 0;
  std::vector<std::string> endpoints_;
  std::vector<std::shared_ptr<std::unique_ptr<grpc::Caller::Call>>> calls_;
};

}  // namespace stowage::plugin::testing
