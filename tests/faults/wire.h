// One replica's connection to the API server: calls and watches with their faults. What it reports
// as not sent was not sent; what was sent may have been acted on, whatever is reported.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "api_side.h"
#include "net/http_client.h"

namespace stowage::faults {

// Hooks for planted defects (defects.h). All may be empty.
struct WireDefects {
  std::function<void(net::HttpRequest&)> on_request;
  std::function<void(const net::HttpRequest&, tl::expected<net::HttpResponse, net::CallError>&)>
      on_reply;
  // A line of a watch on this path; false: it is dropped.
  std::function<bool(std::string_view path, std::string_view line)> on_line;
};

class Wire {
 public:
  struct Options {
    std::uint32_t replica = 0;
    std::string name;  // as the server knows the sender
    World::Process client = 0;
    std::uint64_t seed = 1;
    WireDefects defects;
  };
  Wire(ApiSide& side, Options options);
  ~Wire();
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  // For ApiClientOptions::caller; ends without callbacks when it is destroyed.
  [[nodiscard]] std::unique_ptr<net::HttpCaller> caller();

  enum class Trouble : std::uint8_t { cut, hang, expire };
  void trouble_watches(Trouble trouble);

  // Nothing is in transit in either direction, and nodes and pods are being watched: the replica
  // knows what the server knows.
  [[nodiscard]] bool quiet() const;
  // The same for everything that it has ever watched.
  [[nodiscard]] bool hears_all() const;
  // Grows whenever something reaches the replica.
  [[nodiscard]] std::uint64_t arrivals() const;

  struct Impl;

 private:
  std::shared_ptr<Impl> impl_;
};

}  // namespace stowage::faults
