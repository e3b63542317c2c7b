#include "local/kubelet/remote_kubelets.h"

#include <chrono>
#include <memory>

#include <gtest/gtest.h>

#include "local/api_server.h"
#include "local/cluster/cluster.h"

namespace stowage::local {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// An API server on loopback, and simulated kubelets that reach it only over HTTP.
class RemoteKubeletsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(server_.listen().has_value());
    kube::ClientConfig config;
    config.server_url = server_.url();
    const auto url = net::parse_url(server_.url());
    ASSERT_TRUE(url.has_value());
    config.server = *url;
    auto client = kube::ApiClient::create(loop_, std::move(config));
    ASSERT_TRUE(client.has_value()) << client.error().message;
    client_ = *std::move(client);
    const KubeletOptions options{.start_after = milliseconds{1}, .stop_after = milliseconds{1}};
    kubelets_ = std::make_unique<RemoteKubelets>(
        *client_, options, steady_wall_clock(),
        [this](const std::string& trouble) { complaints_ += trouble + "\n"; });
    kubelets_->start();
  }

  void create(Kind kind, std::string_view text) {
    const auto object = parse_json(text);
    ASSERT_TRUE(object.has_value()) << text;
    const auto made = api_.create(kind, kind == Kind::node ? "" : "default", object->as_object());
    ASSERT_TRUE(made.has_value()) << made.error().message;
  }
  void pod(const std::string& name, const std::string& annotations = "",
           const std::string& cpu = "1") {
    create(Kind::pod,
           R"({"metadata":{"name":")" + name + R"(","annotations":{)" + annotations +
               R"(}},"spec":{"nodeName":"n","restartPolicy":"Never","containers":[{"name":
        "c","image":"i","resources":{"requests":{"cpu":")" +
               cpu + R"("}}}]}})");
  }
  void node() {
    create(Kind::node, R"({"metadata":{"name":"n"},"status":{"allocatable":
        {"cpu":"4","pods":"10"}}})");
  }
  [[nodiscard]] std::string phase(const std::string& name) {
    const ObjectPtr object = api_.store().get(Kind::pod, {"default", name});
    return object == nullptr ? "gone" : std::string(object->field("status.phase"));
  }
  // Runs the loop until the check is true, or until a time limit.
  template <typename Check>
  void run_until(const Check& check) {
    const auto end = std::chrono::steady_clock::now() + seconds{60};
    net::Timer timer(loop_);
    const std::function<void()> look = [&] {
      if (check() || std::chrono::steady_clock::now() > end) return loop_.stop();
      timer.start(milliseconds{2}, look);
    };
    look();
    loop_.run();
    EXPECT_TRUE(check()) << complaints_;
  }

  net::EventLoop loop_;
  Api api_{StoreOptions{.now = steady_wall_clock()}};
  ApiServer server_{loop_, api_, {}};
  std::unique_ptr<kube::ApiClient> client_;
  std::unique_ptr<RemoteKubelets> kubelets_;
  std::string complaints_;
};

TEST_F(RemoteKubeletsTest, PodsComeUpEndAndGo) {
  node();
  pod("stays");
  pod("ends", R"("local.stowage.dev/run-seconds":"0.01")");
  pod("fails", R"("local.stowage.dev/run-seconds":"0.01","local.stowage.dev/exit-code":"2")");
  run_until([&] {
    return phase("stays") == "Running" && phase("ends") == "Succeeded" &&
           phase("fails") == "Failed";
  });
  ASSERT_TRUE(api_.remove(Kind::pod, {"default", "stays"}).has_value());
  EXPECT_EQ(phase("stays"), "Running") << "it is marked and waits for its kubelet";
  // The count follows the watch, which comes after the write.
  run_until([&] { return phase("stays") == "gone" && kubelets_->counters().removed > 0; });
  EXPECT_EQ(kubelets_->counters().started, 3U);
  EXPECT_EQ(kubelets_->counters().removed, 1U);
}

TEST_F(RemoteKubeletsTest, WhatDoesNotFitIsRefused) {
  node();
  pod("big", "", "5");
  run_until([&] { return phase("big") == "Failed"; });
  EXPECT_NE(complaints_.find("capacity: 4000"), std::string::npos) << complaints_;
  EXPECT_NE(api_.store().get(Kind::pod, {"default", "big"})->bytes.find("OutOfcpu"),
            std::string::npos);
}

TEST_F(RemoteKubeletsTest, APodWaitsForItsNodeAndForItsReturn) {
  pod("p");
  node();
  run_until([&] { return phase("p") == "Running"; });
  const auto mark = [&](json::value value) {
    json::object patch{
        {"metadata", {{"annotations", {{std::string(kNodeFailedAnnotation), std::move(value)}}}}}};
    ASSERT_TRUE(api_.patch(Kind::node, {"", "n"}, Part::main, PatchType::merge, patch).has_value());
  };
  mark("true");
  pod("q");
  // The node's failure is known once a later pod stays pending.
  bool quiet = false;
  net::Timer timer(loop_);
  timer.start(milliseconds{300}, [&] { quiet = true; });
  run_until([&] { return quiet; });
  EXPECT_EQ(phase("q"), "Pending");
  mark(nullptr);
  run_until([&] { return phase("q") == "Running"; });
}

}  // namespace
}  // namespace stowage::local
