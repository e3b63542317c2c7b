// The server of metrics.nvidia.com/v1alpha1, which the API server stands before, and of the agents.
//
//   request -> read_ask -> health, discovery: answered at once
//                       -> /agent/...: reports::Door
//                       -> the rest: who? may they? -> here, or passed on to the replica that leads
//
// It shows what a reports::Book has been told (Shelf), to those who ask and to those who watch. Who
// asks is found out as identity.h says; what they may do the API server says, by a review: list,
// watch or get `podresources` and `gpuinfos`, and create `schedule` with the verb as its name,
// which is also how the API server itself reads that path. Members of system:masters need no
// review.
//
// Everything lives on one loop. Always TLS: until the certificates are known, with one that nobody
// trusts, so that health can be asked for.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "codec/reviews.h"
#include "kube/api_client.h"
#include "kube/gatekeeper.h"
#include "metricsapi/certificate_keeper.h"
#include "metricsapi/relay.h"
#include "metricsapi/request.h"
#include "metricsapi/schedule.h"
#include "metricsapi/shelf.h"
#include "metricsapi/trust.h"
#include "metricsapi/watch.h"
#include "net/event_loop.h"
#include "net/http_server.h"
#include "reports/book.h"
#include "reports/door.h"

namespace stowage::metricsapi {

struct ServerOptions {
  std::string listen = "0.0.0.0:10362";
  bool accepts = true;                    // false: connections wait until accept() is called
  std::optional<CertificatePaths> files;  // unset: certificates are made and kept (keeper)
  KeeperOptions keeper;                   // names the service and its namespace in any case
  TrustSource::Options trust;
  ShelfOptions shelf;
  WatchLimits watch;
  RelayOptions relay;
  std::size_t connections_max = 24'576;                  // an agent of each node, and others
  std::size_t list_bytes_max = std::size_t{256} << 20U;  // that readers have not taken yet
  net::Duration look = std::chrono::milliseconds{500};   // who leads?
};

class Server {
 public:
  using Handler = std::function<void(net::ServerRequest, std::shared_ptr<net::Responder>)>;
  struct Ends {
    net::EventLoop& loop;
    kube::ApiClient& client;
    kube::Gatekeeper& gate;
    reports::Book& book;
    base::Log& log;
    Handler agents;  // of /agent/...; unset: there is nothing
    ScheduleDoor schedule;
    std::function<reports::Place()> place;       // of the leader; unset: always here
    std::function<std::string()> authorization;  // ours, "Bearer <token>", for the leader
    std::function<std::string()> not_ready;      // why; empty, or unset: ready
  };
  // Listens at once. An error says on which address and why, or what is wrong with a certificate.
  [[nodiscard]] static Result<std::unique_ptr<Server>> listen(ServerOptions options, Ends ends);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  void accept();                              // once, if the options said that it does not yet
  [[nodiscard]] std::string address() const;  // "0.0.0.0:10362"
  [[nodiscard]] const std::string& host() const { return host_; }
  // How others reach it, if this host is the one that they know.
  [[nodiscard]] std::string url(const std::string& host) const;
  [[nodiscard]] std::uint16_t port() const { return server_->port(); }
  // Nodes that have cards, as others than agents say.
  void set_other_nodes(std::vector<OtherNode> nodes) { shelf_.set_others(std::move(nodes)); }
  // Accepts no connection from now on, ends watches, lets requests end.
  void shutdown(net::Duration grace, std::function<void()> done);

  struct Counters {
    std::map<std::string, std::uint64_t> requests;  // by what they ask for
    std::map<int, std::uint64_t> refused;           // by code
    Watchers::Counters watchers;
    Relay::Counters relay;
    std::size_t connections = 0;
  };
  [[nodiscard]] Counters counters() const;
  // What keeps it from being what it should be; empty if nothing does.
  [[nodiscard]] std::string trouble() const;

 private:
  struct Call {
    Ask ask;
    net::ServerRequest request;
    std::shared_ptr<net::Responder> responder;
    codec::Somebody who;
  };
  using CallPtr = std::shared_ptr<Call>;

  Server(ServerOptions options, Ends ends);
  Status open();
  void serve(net::ServerRequest request, std::shared_ptr<net::Responder> responder);
  bool answer_document(const Ask& ask, const std::shared_ptr<net::Responder>& responder);
  void identify(const CallPtr& call);
  void authorise(const CallPtr& call);
  void answer(const CallPtr& call);
  void answer_here(const CallPtr& call);
  void send_list(const CallPtr& call);
  void refuse(const std::shared_ptr<net::Responder>& responder, const ApiError& error);
  [[nodiscard]] reports::Place place() const {
    return ends_.place ? ends_.place() : reports::Place{};
  }
  void use_certificates(const ServingCertificates& fresh);
  void renew_tls();
  void look();
  [[nodiscard]] std::size_t list_bytes();

  const ServerOptions options_;
  Ends ends_;
  Shelf shelf_;
  Watchers watchers_;
  Relay relay_;
  Schedule schedule_;
  TrustSource trust_;
  ServingCertificates certificates_;
  Trust asked_for_;                            // whose certificates peers are asked for
  std::unique_ptr<CertificateKeeper> keeper_;  // one of the two
  std::unique_ptr<CertificateFiles> files_;
  std::string host_;
  std::unique_ptr<net::HttpServer> server_;
  std::vector<std::shared_ptr<net::Responder>> lists_;  // whose readers have not taken all
  bool led_ = true;
  std::map<std::string, std::uint64_t> requests_;
  std::map<int, std::uint64_t> refused_;
  net::Timer timer_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace stowage::metricsapi
