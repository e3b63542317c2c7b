#include "cmd/local_controller.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace stowage::cmd {
namespace {

constexpr std::string_view kDefaultScheduler = "default-scheduler";
constexpr std::chrono::milliseconds kAskEvery{10};

}  // namespace

Result<controller::Config> local_controller_config(const std::string& file,
                                                   const std::string& log_level) {
  controller::Config config;
  config.log.level = base::LogLevel::warn;
  config.listen = "127.0.0.1:0";
  if (!file.empty()) {
    STOWAGE_TRY_ASSIGN(config, controller::load_config(file));
  }
  config.leader_election.enabled = false;  // it is the only replica
  if (!log_level.empty()) {
    STOWAGE_TRY_ASSIGN(config.log.level, base::parse_log_level(log_level));
  }
  const bool answers = std::any_of(
      config.profiles.begin(), config.profiles.end(),
      [](const scheduler::Profile& profile) { return profile.name == kDefaultScheduler; });
  if (!answers && !config.profiles.empty()) {
    scheduler::Profile profile = config.profiles.front();
    profile.name = kDefaultScheduler;
    config.profiles.push_back(std::move(profile));
  }
  return config;
}

LocalController::LocalController() : timer_(loop_) {}

Result<std::unique_ptr<LocalController>> LocalController::start(controller::Config config,
                                                                const std::string& server_url,
                                                                base::Log& log,
                                                                std::function<void()> ready) {
  STOWAGE_TRY(server, net::parse_url(server_url));
  for (const std::string& warning : config.warnings) log.warn(warning);
  kube::ClientConfig cluster;
  cluster.origin = "the local cluster";
  cluster.server = std::move(server);
  cluster.server_url = server_url;
  std::unique_ptr<LocalController> made(new LocalController());
  STOWAGE_TRY_ASSIGN(
      made->controller_,
      controller::Controller::create(
          made->loop_, {.config = std::move(config), .cluster = std::move(cluster)}, log));
  made->address_ = made->controller_->address();
  made->controller_->start();
  made->wait_until_ready(std::move(ready));
  made->thread_ = std::thread([loop = &made->loop_] { loop->run(); });
  return made;
}

LocalController::~LocalController() {
  loop_.stop();
  if (thread_.joinable()) thread_.join();
}

void LocalController::stop(std::function<void()> done) {
  loop_.post([this, then = std::move(done)] {
    timer_.cancel();
    controller_->stop(then);
  });
}

void LocalController::wait_until_ready(std::function<void()> ready) {
  if (controller_->ready()) return ready();
  timer_.start(kAskEvery, [this, then = std::move(ready)] { wait_until_ready(then); });
}

}  // namespace stowage::cmd
