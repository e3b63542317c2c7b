// The reflector against a small model of the API server that interrupts everything it can: however
// lists and watches are interrupted, the consumer ends with the state of the server.
#include <map>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/rng.h"
#include "kube/object_version.h"
#include "kube/reflector.h"
#include "kube/testing/fake_api_server.h"

namespace stowage::kube {
namespace {

using std::chrono::milliseconds;
using testing::FakeApiServer;
using testing::run_until;
using testing::SeenRequest;

constexpr const char* kPath = "/api/v1/pods";

std::string object(const std::string& name, int version) {
  return fmt::format(R"({{"metadata":{{"name":"{}","resourceVersion":"{}"}}}})", name, version);
}

using State = std::map<std::string, int>;  // name -> version

class ModelServer {
 public:
  ModelServer(FakeApiServer& server, net::EventLoop& loop, std::uint64_t seed)
      : rng_(seed), timer_(loop) {
    server.script("GET", kPath,
                  {[this](const SeenRequest& request, const std::shared_ptr<net::Responder>& to) {
                    if (request.query("watch") == "1") {
                      watch(request, to);
                    } else {
                      list(request, to);
                    }
                  }});
    snapshots_[version_] = state_;
    tick();
  }

  [[nodiscard]] const State& state() const { return state_; }
  [[nodiscard]] int changes() const { return version_; }
  void calm_down() { calm_ = true; }

 private:
  struct Change {
    int version = 0;
    std::string line;
  };
  struct Watch {
    std::shared_ptr<net::Responder> to;
    int sent = 0;  // version
  };

  bool chance(std::uint64_t one_in) { return !calm_ && rng_.below(one_in) == 0; }

  void tick() {
    if (!calm_) change();
    if (chance(20)) compacted_ = version_ - static_cast<int>(rng_.below(3));
    std::erase_if(watches_, [&](Watch& watch) { return !feed(watch); });
    timer_.start(milliseconds{1}, [this] { tick(); });
  }

  void change() {
    ++version_;
    const std::string name = fmt::format("p{}", rng_.below(6));
    const auto found = state_.find(name);
    const char* type = "ADDED";
    if (found == state_.end()) {
      state_[name] = version_;
    } else if (rng_.below(2) == 0) {
      type = "DELETED";
      state_.erase(found);
    } else {
      type = "MODIFIED";
      found->second = version_;
    }
    log_.push_back({version_, fmt::format("{{\"type\":\"{}\",\"object\":{}}}\n", type,
                                          object(name, version_))});
    snapshots_[version_] = state_;
  }

  // Returns false once the watch has ended.
  bool feed(Watch& watch) {
    if (watch.sent < compacted_ && chance(2)) {
      write(watch, fmt::format("{{\"type\":\"ERROR\",\"object\":{}}}\n",
                               testing::status_json(410, "Expired", "too old")));
      return chance(2);
    }
    for (const Change& change : log_) {
      if (change.version <= watch.sent) continue;
      if (chance(30)) {
        write(watch, change.line.substr(0, 1 + rng_.below(change.line.size() - 1)));
        watch.to->abort();
        return false;
      }
      write(watch, change.line);
      watch.sent = change.version;
    }
    if (chance(15)) {
      write(watch, fmt::format("{{\"type\":\"BOOKMARK\",\"object\":{}}}\n", object("", version_)));
    }
    if (chance(40)) {
      write(watch, fmt::format("{{\"type\":\"ERROR\",\"object\":{}}}\n",
                               testing::status_json(500, "InternalError", "etcd")));
    }
    if (chance(20)) {
      watch.to->end();
      return false;
    }
    return true;
  }

  static void write(Watch& watch, const std::string& text) {
    watch.to->write(std::make_shared<const std::string>(text));
  }

  bool broken(const std::shared_ptr<net::Responder>& to) {
    if (!chance(6)) return false;
    switch (rng_.below(3)) {
      case 0: to->abort(); break;
      case 1: to->send({500, {}, "oops"}); break;
      default: to->send({429, {{"Retry-After", "0"}}, "{}"});
    }
    return true;
  }

  void watch(const SeenRequest& request, const std::shared_ptr<net::Responder>& to) {
    if (broken(to)) return;
    const int from = std::stoi(request.query("resourceVersion"));
    if (from < compacted_) {
      to->send({410, {}, testing::status_json(410, "Expired", "too old")});
      return;
    }
    to->begin({200, {}, ""});
    watches_.push_back({to, from});
  }

  // The continue token is the version and the number of items before: "12:4".
  void list(const SeenRequest& request, const std::shared_ptr<net::Responder>& to) {
    if (broken(to)) return;
    const std::string token = request.query("continue");
    const int version = token.empty() ? version_ : std::stoi(token);
    std::size_t skip = token.empty() ? 0 : std::stoul(token.substr(token.find(':') + 1));
    if (version < compacted_) {
      to->send({410, {}, testing::status_json(410, "Expired", "the token is too old")});
      return;
    }
    const std::size_t limit = request.query("limit") == "0" ? 1000 : 2;
    const State& all = snapshots_.at(version);
    std::vector<std::string> items;
    std::size_t at = 0;
    for (const auto& [name, changed] : all) {
      if (at++ >= skip && items.size() < limit) items.push_back(object(name, changed));
    }
    skip += items.size();
    to->send(
        {200,
         {},
         fmt::format(R"({{"metadata":{{"resourceVersion":"{}","continue":"{}"}},"items":[{}]}})",
                     version, skip < all.size() ? fmt::format("{}:{}", version, skip) : "",
                     fmt::join(items, ","))});
  }

  base::Rng rng_;
  net::Timer timer_;
  State state_;
  std::map<int, State> snapshots_;
  std::vector<Change> log_;
  std::vector<Watch> watches_;
  int version_ = 1;
  int compacted_ = 0;
  bool calm_ = false;
};

class Consumer : public ReflectorSink {
 public:
  void on_list_begin() override { listed_.clear(); }
  void on_item(std::string_view json) override { listed_.insert(take(json)); }
  void on_list_end(std::string_view /*version*/) override {
    std::erase_if(state, [&](const auto& each) { return !listed_.contains(each.first); });
  }
  void on_event(WatchType type, std::string_view json) override {
    const std::string name = take(json);
    if (type == WatchType::deleted) state.erase(name);
  }
  void on_status(const ReflectorStatus& /*status*/) override {}
  void on_bad_line(const std::string& error) override { ADD_FAILURE() << error; }

  State state;

 private:
  std::string take(std::string_view json) {
    const std::size_t from = json.find("\"name\":\"") + 8;
    std::string name(json.substr(from, json.find('"', from) - from));
    state[name] = std::stoi(versions_.of(json));
    return name;
  }

  ObjectVersion versions_;
  std::set<std::string> listed_;
};

TEST(ReflectorModel, TheConsumerEndsUpWithWhatTheServerHas) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    net::EventLoop loop;
    FakeApiServer server(loop);
    ModelServer model(server, loop, seed);
    const auto client = server.client({.retry_pause_default = milliseconds{1}});
    Consumer consumer;
    Reflector reflector(*client,
                        {.path = kPath,
                         .backoff_min = milliseconds{1},
                         .backoff_max = milliseconds{4},
                         .seed = seed},
                        consumer);
    reflector.start();
    ASSERT_TRUE(run_until(loop, [&] { return model.changes() >= 150; })) << "seed " << seed;
    model.calm_down();
    EXPECT_TRUE(run_until(loop,
                          [&] {
                            return reflector.status().phase == ReflectorPhase::live &&
                                   consumer.state == model.state();
                          }))
        << "seed " << seed;
    EXPECT_EQ(consumer.state, model.state()) << "seed " << seed;
    EXPECT_GT(reflector.counters().watches, 1U) << "seed " << seed;
  }
}

}  // namespace
}  // namespace stowage::kube
