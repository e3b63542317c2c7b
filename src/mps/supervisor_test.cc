// Runs a program in place of NVIDIA's that listens on the same socket and notes how it was called.
#include "mps/supervisor.h"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include <gtest/gtest.h>

#include "base/file.h"
#include "gpu/fake.h"
#include "net/testing/loops.h"

namespace stowage::mps {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

constexpr const char* kDaemon = R"(#!/usr/bin/python3
import os, signal, socket, sys
folder = os.environ["CUDA_MPS_PIPE_DIRECTORY"]
open(os.environ["CUDA_MPS_LOG_DIRECTORY"] + "/called", "w").write(
    " ".join(sys.argv[1:]) + " " + os.environ["CUDA_VISIBLE_DEVICES"] + " " + str(os.getpid()))
if os.path.exists(folder + "/../../broken"):
    sys.exit(3)
if os.path.exists(folder + "/../../serving") and os.fork() == 0:
    open(os.environ["CUDA_MPS_LOG_DIRECTORY"] + "/server", "w").write(" " + str(os.getpid()))
    while True:
        signal.pause()
listener = socket.socket(socket.AF_UNIX)
listener.bind(folder + "/control")
listener.listen()
while True:
    signal.pause()
)";

class SupervisorTest : public ::testing::Test {
 protected:
  SupervisorTest() {
    std::string name = fs::temp_directory_path() / "stowage-mps-XXXXXX";
    folder_ = mkdtemp(name.data());
    program_ = folder_ + "/control-daemon";
    EXPECT_TRUE(base::write_file(program_, kDaemon));
    fs::permissions(program_, fs::perms::owner_all);
    cards("{index: 0, id: GPU-a}, {index: 1, id: GPU-b}");
  }
  ~SupervisorTest() override {
    supervisor_.reset();
    fs::remove_all(folder_);
  }

  void cards(const std::string& list) {
    EXPECT_TRUE(base::write_file(folder_ + "/cards.yaml", "count: 0\ncards: [" + list + "]\n"));
  }
  void start() {
    SupervisorOptions options{.root = folder_ + "/root",
                              .program = program_,
                              .look_every = milliseconds{10},
                              .state_every = milliseconds{50},
                              .pause_min = milliseconds{20},
                              .pause_max = milliseconds{100}};
    supervisor_ =
        std::make_unique<Supervisor>(loop_, options,
                                     std::make_unique<gpu::FakeSource>(
                                         gpu::FakeSource::Options{.path = folder_ + "/cards.yaml"}),
                                     log_);
    supervisor_->start();
  }
  [[nodiscard]] CardFolder card(const std::string& id) const {
    return folder_of(folder_ + "/root", id);
  }
  [[nodiscard]] CardState state(const std::string& id) const {
    const auto text = base::read_file(card(id).state());
    if (!text) return {};
    auto read = parse_card_state(*text);
    EXPECT_TRUE(read) << *text;
    return read.value_or(CardState());
  }
  [[nodiscard]] bool becomes(const std::string& id, bool running) {
    return net::testing::run_until(loop_, [&] { return state(id).running == running; });
  }
  // Arguments, visible devices and pid.
  [[nodiscard]] std::string called(const std::string& id) const {
    return base::read_file(card(id).log() + "/called").value_or("");
  }
  [[nodiscard]] pid_t pid(const std::string& id, const std::string& file = "/called") const {
    const std::string text = base::read_file(card(id).log() + file).value_or(" 0");
    return std::atoi(text.substr(text.rfind(' ') + 1).c_str());
  }
  [[nodiscard]] static bool runs(pid_t process) { return kill(process, 0) == 0; }

  std::string folder_;
  std::string program_;
  net::EventLoop loop_;
  base::Log log_{{.level = base::LogLevel::error}};
  std::unique_ptr<Supervisor> supervisor_;
};

TEST_F(SupervisorTest, EachCardHasADaemonThatSeesOnlyThisCard) {
  start();
  ASSERT_TRUE(becomes("GPU-a", true));
  ASSERT_TRUE(becomes("GPU-b", true));
  EXPECT_EQ(called("GPU-a").substr(0, 27), "-f -multiuser-server GPU-a ");
  EXPECT_EQ(called("GPU-b").substr(0, 27), "-f -multiuser-server GPU-b ");
  EXPECT_FALSE(state("GPU-a").exclusive);
  EXPECT_NE(fs::status(card("GPU-a").pipe()).permissions() & fs::perms::others_exec,
            fs::perms::none)
      << "clients are of other users";
}

TEST_F(SupervisorTest, ADaemonThatDiesIsStartedAgain) {
  start();
  ASSERT_TRUE(becomes("GPU-a", true));
  ASSERT_TRUE(becomes("GPU-b", true));
  const pid_t first = pid("GPU-a");
  const pid_t other = pid("GPU-b");
  ASSERT_EQ(kill(first, SIGKILL), 0);
  ASSERT_TRUE(becomes("GPU-a", false));
  EXPECT_EQ(state("GPU-a").error, "the MPS daemon ended: signal 9");
  ASSERT_TRUE(becomes("GPU-a", true));
  EXPECT_NE(pid("GPU-a"), first);
  EXPECT_EQ(pid("GPU-b"), other) << "that of another card goes on";
}

TEST_F(SupervisorTest, ADaemonThatDiesIsNotStartedBeforeItsProgramsHaveEnded) {
  fs::create_directories(folder_ + "/root/serving");
  start();
  ASSERT_TRUE(becomes("GPU-a", true));
  ASSERT_TRUE(net::testing::run_until(loop_, [&] { return pid("GPU-a", "/server") != 0; }));
  const pid_t server = pid("GPU-a", "/server");
  const pid_t first = pid("GPU-a");
  ASSERT_EQ(kill(first, SIGKILL), 0);
  ASSERT_TRUE(net::testing::run_until(loop_, [&] {
    return state("GPU-a").error.find("its server still runs") != std::string::npos;
  }));
  net::testing::run_for(loop_, milliseconds{200});
  EXPECT_TRUE(runs(server));
  EXPECT_FALSE(state("GPU-a").running);
  fs::remove(folder_ + "/root/serving");
  ASSERT_EQ(kill(server, SIGKILL), 0);
  ASSERT_TRUE(becomes("GPU-a", true));
  EXPECT_NE(pid("GPU-a"), first);
}

TEST_F(SupervisorTest, ADaemonThatCannotRunIsTriedAgainAndSaidSo) {
  fs::create_directories(folder_ + "/root/broken");
  start();
  ASSERT_TRUE(net::testing::run_until(
      loop_, [&] { return state("GPU-a").error == "the MPS daemon ended: exit code 3"; }));
  fs::remove(folder_ + "/root/broken");
  EXPECT_TRUE(becomes("GPU-a", true));
}

TEST_F(SupervisorTest, AMissingProgramIsNamed) {
  program_ = folder_ + "/nothing";
  start();
  ASSERT_TRUE(net::testing::run_until(loop_, [&] { return !state("GPU-a").error.empty(); }));
  EXPECT_EQ(state("GPU-a").error, "cannot start " + program_ + ": No such file or directory");
}

TEST_F(SupervisorTest, TheDaemonOfACardThatIsGoneIsStopped) {
  start();
  ASSERT_TRUE(becomes("GPU-b", true));
  const pid_t process = pid("GPU-b");
  cards("{index: 0, id: GPU-a}");
  ASSERT_TRUE(becomes("GPU-b", false));
  EXPECT_EQ(state("GPU-b").error, "the card has gone");
  EXPECT_FALSE(runs(process));
}

TEST_F(SupervisorTest, SaysAgainAndAgainThatADaemonRuns) {
  start();
  ASSERT_TRUE(becomes("GPU-a", true));
  const auto written = fs::last_write_time(card("GPU-a").state());
  EXPECT_TRUE(net::testing::run_until(
      loop_, [&] { return fs::last_write_time(card("GPU-a").state()) > written; }));
}

TEST_F(SupervisorTest, EndsItsDaemonsWithItself) {
  cards("{index: 0, id: GPU-a, exclusive: true}");
  start();
  ASSERT_TRUE(becomes("GPU-a", true));
  EXPECT_TRUE(state("GPU-a").exclusive);
  const pid_t process = pid("GPU-a");
  supervisor_.reset();
  EXPECT_FALSE(runs(process));
  EXPECT_FALSE(state("GPU-a").running);
}

}  // namespace
}  // namespace stowage::mps
