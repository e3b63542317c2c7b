// A caller whose answers the test gives by hand.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "grpc/client.h"

namespace stowage::agent::testing {

class FakeKubelet final : public grpc::Caller {
 public:
  struct Asked {
    std::string method;
    grpc::CallOptions options;
    Reply reply;
  };

  [[nodiscard]] std::unique_ptr<Call> call(std::string method, std::string request,
                                           const grpc::CallOptions& options, Reply reply) override {
    STOWAGE_CHECK(request.empty());
    ++total_;
    const std::uint64_t number = total_;
    waiting_.push_back({number, {std::move(method), options, std::move(reply)}});
    return std::make_unique<Handle>(*this, number);
  }
  [[nodiscard]] std::unique_ptr<Call> open(std::string /*method*/, std::string /*request*/,
                                           const grpc::CallOptions& /*options*/,
                                           StreamHandler /*handler*/) override {
    STOWAGE_CHECK(false);
    return nullptr;
  }
  [[nodiscard]] std::uint64_t connections() const override { return connections_; }

  void set_connections(std::uint64_t count) { connections_ = count; }
  [[nodiscard]] std::size_t waiting() const { return waiting_.size(); }
  [[nodiscard]] std::uint64_t total() const { return total_; }
  [[nodiscard]] const Asked& first() const { return waiting_.front().second; }

  // Answers the oldest waiting call.
  void answer(std::string bytes) { end(std::move(bytes)); }
  void fail(grpc::Code code, std::string message, bool by_peer = true) {
    end(tl::unexpected(grpc::CallStatus{code, std::move(message), by_peer}));
  }

 private:
  class Handle final : public Call {
   public:
    Handle(FakeKubelet& owner, std::uint64_t number) : owner_(owner), number_(number) {}
    ~Handle() override {
      std::erase_if(owner_.waiting_, [&](const auto& each) { return each.first == number_; });
    }
    Handle(const Handle&) = delete;
    Handle& operator=(const Handle&) = delete;

   private:
    FakeKubelet& owner_;
    std::uint64_t number_;
  };

  void end(tl::expected<std::string, grpc::CallStatus> result) {
    STOWAGE_CHECK(!waiting_.empty());
    const Asked asked = std::move(waiting_.front().second);
    waiting_.erase(waiting_.begin());
    asked.reply(std::move(result));
  }

  std::vector<std::pair<std::uint64_t, Asked>> waiting_;
  std::uint64_t total_ = 0;
  std::uint64_t connections_ = 1;
};

}  // namespace stowage::agent::testing
