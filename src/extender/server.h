// One listener of an extender: its routes, health, and certificates that may change under it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "extender/asked.h"
#include "extender/extender.h"
#include "extender/forwarder.h"
#include "extender/lobby.h"
#include "net/event_loop.h"
#include "net/http_server.h"

namespace stowage::extender {

class Server {
 public:
  // Listens at once. An error says on which address and why, or what is wrong with a certificate.
  struct Start {
    const Server* beside = nullptr;  // has the same address: its socket is shared
    bool accepts = true;             // false: nothing, until accept() is called
  };
  [[nodiscard]] static Result<std::unique_ptr<Server>> listen(ExtenderOptions options,
                                                              Extender::Ends ends, Start start);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  [[nodiscard]] const Extender& extender() const { return extender_; }
  [[nodiscard]] std::string address() const;  // "0.0.0.0:39999"
  // How others reach it, if this host is the one that they know.
  [[nodiscard]] std::string url(const std::string& host) const;
  [[nodiscard]] const std::string& host() const { return host_; }  // that it listens on
  // To whom questions go while `leads` of the ends is false.
  [[nodiscard]] Forwarder& forwarder() { return forwarder_; }
  [[nodiscard]] const Forwarder& forwarder() const { return forwarder_; }
  [[nodiscard]] const Lobby& lobby() const { return lobby_; }
  [[nodiscard]] std::vector<scheduler::QueueFill> queues() const;
  void accept();
  // A question that came by another way than our listener. `answer` is called once.
  void ask(Verb verb, std::string body, Answer answer);
  // Nothing more is promised: who asks for a place waits until another answers, here or elsewhere.
  // Questions about what was promised before are answered.
  void hold_back() { held_back_ = true; }
  // All questions are for that one from now on, also those that wait. It has to live longer.
  // Null: nobody answers them.
  void succeed(Server* next);
  // Accepts no connection from now on, lets questions end.
  void shutdown(net::Duration grace, std::function<void()> done);

 private:
  Server(ExtenderOptions options, Extender::Ends ends);
  void serve(net::ServerRequest request, std::shared_ptr<net::Responder> responder);
  void take(Question question);
  [[nodiscard]] bool leads() const { return !ends_.leads || ends_.leads(); }
  void answer(Question question);
  void watch_certificates();
  Status forward_with(const net::ServerTls& own);

  Extender::Ends ends_;
  Extender extender_;
  Forwarder forwarder_;
  Lobby lobby_;
  std::string host_;
  std::unique_ptr<net::HttpServer> server_;
  bool accepts_ = true;
  bool held_back_ = false;
  bool succeeded_ = false;
  Server* successor_ = nullptr;
  net::Timer timer_;
  net::ServerTls certificates_;  // in force
  std::string complaint_;        // about the files, told already
};

}  // namespace stowage::extender
