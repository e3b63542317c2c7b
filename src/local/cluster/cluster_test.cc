#include "local/cluster/cluster.h"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "kube/kubeconfig.h"
#include "local/cluster/kubeconfig_file.h"

namespace stowage::local {
namespace {

class KubeconfigFile : public ::testing::Test {
 protected:
  KubeconfigFile() {
    std::string name = (std::filesystem::temp_directory_path() / "stowage-test-XXXXXX").string();
    folder_ = ::mkdtemp(name.data()) == nullptr ? "" : name;
  }
  ~KubeconfigFile() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string path() const { return (folder_ / "config").string(); }
  void write(const std::string& text) const { std::ofstream(path()) << text; }
  [[nodiscard]] std::string read() const {
    std::ostringstream text;
    text << std::ifstream(path()).rdbuf();
    return text.str();
  }

  std::filesystem::path folder_;
};

TEST_F(KubeconfigFile, IsForItsOwnerAloneAndCanBeReadBack) {
  ASSERT_TRUE(write_kubeconfig(path(), "http://127.0.0.1:1234").has_value());
  struct stat info {};
  ASSERT_EQ(::stat(path().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
  const auto config = kube::load_kubeconfig({.path = path()});
  ASSERT_TRUE(config.has_value()) << config.error().message;
  EXPECT_EQ(config->server_url, "http://127.0.0.1:1234");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1) << "no drafts";
  ASSERT_TRUE(write_kubeconfig(path(), "http://127.0.0.1:5").has_value()) << "our own";
  remove_kubeconfig(path());
  EXPECT_FALSE(std::filesystem::exists(path()));
}

TEST_F(KubeconfigFile, AForeignFileIsLeftAlone) {
  for (const char* text : {"apiVersion: v1\nkind: Config\n", "x"}) {
    write(text);
    const Status written = write_kubeconfig(path(), "http://127.0.0.1:1");
    ASSERT_FALSE(written.has_value());
    EXPECT_NE(written.error().message.find("not overwritten"), std::string::npos);
    EXPECT_EQ(read(), text);
    remove_kubeconfig(path());
    EXPECT_EQ(read(), text);
  }
  write("");
  EXPECT_TRUE(write_kubeconfig(path(), "http://127.0.0.1:1").has_value()) << "an empty one";
}

TEST_F(KubeconfigFile, TheFileOfAClusterThatRunsIsKeptAndOfOneThatEndedReplaced) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  write("# Kubeconfig of `stowage local`, process " + std::to_string(child) + "\n");
  const Status written = write_kubeconfig(path(), "http://127.0.0.1:1");
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ASSERT_FALSE(written.has_value());
  EXPECT_NE(written.error().message.find("still runs"), std::string::npos);
  EXPECT_TRUE(write_kubeconfig(path(), "http://127.0.0.1:1").has_value());
}

TEST_F(KubeconfigFile, TheUsualNameIsNotUsedWhileItIsTaken) {
  ASSERT_EQ(::setenv("XDG_RUNTIME_DIR", folder_.c_str(), 1), 0);
  const std::string usual = (folder_ / "stowage-local.kubeconfig").string();
  EXPECT_EQ(default_kubeconfig_path(), usual);
  std::ofstream(usual) << "something else\n";
  const std::string other = default_kubeconfig_path();
  EXPECT_NE(other, usual);
  EXPECT_TRUE(write_kubeconfig(other, "http://127.0.0.1:1").has_value());
  ASSERT_EQ(::unsetenv("XDG_RUNTIME_DIR"), 0);
  EXPECT_EQ(default_kubeconfig_path().find(folder_.string()), std::string::npos);
}

TEST_F(KubeconfigFile, WhatCanNotBeWrittenIsToldWithItsReason) {
  const Status folder = write_kubeconfig(folder_.string(), "http://127.0.0.1:1");
  ASSERT_FALSE(folder.has_value());
  EXPECT_NE(folder.error().message.find("is not a file"), std::string::npos);
  const Status missing = write_kubeconfig((folder_ / "no" / "x").string(), "http://127.0.0.1:1");
  ASSERT_FALSE(missing.has_value());
  EXPECT_NE(missing.error().message.find("No such file"), std::string::npos);
}

NodeGroup group(int count) {
  NodeGroup result;
  result.count = count;
  result.gpus = 2;
  result.model = *find_card_model("T4");
  return result;
}

TEST_F(KubeconfigFile, AClusterWritesItWhenAllIsUpAndTakesItAway) {
  net::EventLoop loop;
  {
    const auto cluster = Cluster::start(loop, {.nodes = {group(3)}, .kubeconfig = path()});
    ASSERT_TRUE(cluster.has_value()) << cluster.error().message;
    EXPECT_NE(read().find((*cluster)->url()), std::string::npos);
    EXPECT_EQ((*cluster)->api().store().size(Kind::node), 3U);
    const auto other = Cluster::start(loop, {.nodes = {group(1)}, .port = (*cluster)->port()});
    ASSERT_FALSE(other.has_value());
    EXPECT_NE(other.error().message.find("address already in use"), std::string::npos);
  }
  EXPECT_FALSE(std::filesystem::exists(path()));
}

TEST(Cluster, RunsItsAgendaOnTheLoop) {
  net::EventLoop loop;
  const auto cluster = Cluster::start(
      loop, {.nodes = {group(1)}, .kubelets = {.start_after = std::chrono::milliseconds{1}}});
  ASSERT_TRUE(cluster.has_value()) << cluster.error().message;
  Api& api = (*cluster)->api();
  const auto pod = parse_json(R"({"metadata":{"name":"p"},"spec":{"nodeName":"node-1",
      "containers":[{"name":"c","image":"i"}]}})");
  ASSERT_TRUE(api.create(Kind::pod, "default", pod->as_object()).has_value());
  const auto running = [&] {
    return api.store().get(Kind::pod, {"default", "p"})->field("status.phase") == "Running";
  };
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{60};
  net::Timer timer(loop);
  const std::function<void()> look = [&] {
    if (running() || std::chrono::steady_clock::now() > end) return loop.stop();
    timer.start(std::chrono::milliseconds{2}, look);
  };
  look();
  loop.run();
  EXPECT_TRUE(running());
}

TEST(Cluster, TwoClustersDoNotTakeEachOthersClients) {
  net::EventLoop loop;
  const auto one = Cluster::start(loop, {.nodes = {group(1)}});
  ASSERT_TRUE(one.has_value());
  const std::uint64_t version = (*one)->api().store().version();
  const auto two = Cluster::start(loop, {.nodes = {group(1)}});
  ASSERT_TRUE(two.has_value());
  EXPECT_GT((*two)->api().store().version(), version);
  EXPECT_NE((*one)->api().store().get(Kind::node, {"", "node-1"})->uid,
            (*two)->api().store().get(Kind::node, {"", "node-1"})->uid);
}

}  // namespace
}  // namespace stowage::local
