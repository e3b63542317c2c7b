#include "kube/credentials.h"

#include <atomic>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/base64.h"
#include "base/file.h"
#include "base/text.h"
#include "codec/encode.h"
#include "kube/child_process.h"
#include "kube/exec_credential.h"

namespace stowage::kube {
namespace {

// A credential that expires within this time is not used for new requests.
constexpr auto kLeeway = std::chrono::seconds{10};

SteadyTime steady_now() { return net::clock_now(); }

Result<std::string> read_token(const std::string& path) {
  STOWAGE_TRY(text, base::read_file(path));
  std::string token(base::trim(text));
  if (token.empty()) return fail(fmt::format("token file {} is empty", path));
  for (const char c : token) {
    if (c <= ' ' || c > '~') {
      return fail(
          fmt::format("token file {} contains characters that are not allowed in a token", path));
    }
  }
  return token;
}

// Runs on the worker thread: touches only its arguments.
Result<ExecCredential> run_plugin(const ExecPlugin& plugin, const ChildRequest& ask,
                                  const std::atomic<bool>& cancelled) {
  const auto with_hint = [&](const std::string& message) {
    return fail(fmt::format("credential plugin: {}{}{}", message,
                            plugin.install_hint.empty() ? "" : "; ",
                            base::trim(plugin.install_hint)));
  };
  auto end = run_child(ask, cancelled);
  if (!end) return with_hint(end.error().message);
  if (end->exit_code != 0) {
    const std::string said(base::trim(end->err_tail));
    return with_hint(fmt::format("{} ended with exit code {}{}{}", plugin.command, end->exit_code,
                                 said.empty() ? "" : ": ", said));
  }
  auto credential = parse_exec_credential(plugin, end->out);
  if (!credential) return with_hint(credential.error().message);
  return credential;
}

}  // namespace

struct CredentialSource::Impl : std::enable_shared_from_this<CredentialSource::Impl> {
  Impl(net::EventLoop& event_loop, const ClientConfig& client_config, CredentialOptions given)
      : loop(event_loop), config(client_config), options(std::move(given)) {
    const Credentials& from = config.credentials;
    if (const auto* token = std::get_if<BearerToken>(&from)) {
      set(Credential{.authorization = "Bearer " + token->token});
    } else if (const auto* login = std::get_if<BasicLogin>(&from)) {
      set(Credential{.authorization =
                         "Basic " + base::base64_encode(login->user + ":" + login->password)});
    } else if (std::holds_alternative<std::monostate>(from)) {
      set(Credential{});
    }
  }

  void set(Credential value) {
    value.generation = ++generation;
    credential = std::move(value);
  }

  void read_file(const BearerTokenFile& file) {
    ++counters.refreshes;
    next_read = steady_now() + options.reread_every;
    auto token = read_token(file.path);
    if (!token) {
      ++counters.failures;
      error = token.error().message;
      if (!credential) next_read = steady_now() + options.failure_pause;
      return;
    }
    std::string authorization = "Bearer " + *token;
    if (!credential || credential->authorization != authorization) {
      set(Credential{.authorization = std::move(authorization)});
    }
  }

  const Credential* current() {
    if (const auto* file = std::get_if<BearerTokenFile>(&config.credentials)) {
      if (steady_now() >= next_read) read_file(*file);
    }
    if (expires && options.wall_clock() + kLeeway >= *expires) {
      credential.reset();
      expires.reset();
    }
    return credential ? &*credential : nullptr;
  }

  void fetch(Ready ready) {
    waiters.push_back(std::move(ready));
    const auto* plugin = std::get_if<ExecPlugin>(&config.credentials);
    const bool just_failed = !error.empty() && steady_now() < quiet_until;
    if (plugin != nullptr && !running && !credential && !just_failed) {
      start(*plugin);
    } else if (!running) {
      loop.post([weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->answer();
      });
    }
  }

  void answer() {
    if (running) return;  // its result answers this caller too
    const bool ok = credential.has_value();
    const std::vector<Ready> ready = std::exchange(waiters, {});
    for (const Ready& each : ready) {
      if (cancelled) return;  // an earlier callback has destroyed the source
      each(ok ? Status() : Status(fail(error)));
    }
  }

  void start(const ExecPlugin& plugin) {
    ++counters.refreshes;
    running = true;
    if (worker.joinable()) worker.join();  // it has posted its result and is about to end
    auto env = plugin.env;
    env.emplace_back("KUBERNETES_EXEC_INFO", exec_info(plugin, config));
    ChildRequest ask{.command = plugin.command,
                     .args = plugin.args,
                     .env = child_environment(env),
                     .time_limit = options.exec_time_limit};
    // The loop outlives the thread, which is joined before the body is destroyed.
    worker = std::thread([this, plugin, ask = std::move(ask), weak = weak_from_this()] {
      auto result = run_plugin(plugin, ask, cancelled);
      loop.post([weak, result = std::move(result)] {
        if (const auto self = weak.lock()) self->finish(result);
      });
    });
  }

  void finish(const Result<ExecCredential>& result) {
    running = false;
    error.clear();
    if (!result) {
      error = result.error().message;
    } else if (result->expires && *result->expires <= options.wall_clock() + kLeeway) {
      error = fmt::format(
          "the credential plugin returned a credential that expires at {}: renew the login or set "
          "the clock",
          codec::time_text(unix_seconds(*result->expires)));
    }
    if (!error.empty()) {
      ++counters.failures;
      quiet_until = steady_now() + options.failure_pause;
    } else {
      expires = result->expires;
      set(Credential{
          .authorization = result->token.empty() ? std::string() : "Bearer " + result->token,
          .certificate_pem = result->certificate_pem,
          .key_pem = result->key_pem});
    }
    answer();
  }

  bool rejected(std::uint64_t refused) {
    if (credential && credential->generation != refused) return true;
    if (const auto* file = std::get_if<BearerTokenFile>(&config.credentials)) {
      read_file(*file);
      return credential && credential->generation != refused;
    }
    if (!std::holds_alternative<ExecPlugin>(config.credentials)) return false;
    credential.reset();
    expires.reset();
    return true;
  }

  void shut_down() {
    cancelled = true;
    if (worker.joinable()) worker.join();
  }

  net::EventLoop& loop;
  const ClientConfig& config;
  const CredentialOptions options;
  CredentialCounters counters;
  std::optional<Credential> credential;
  std::uint64_t generation = 0;
  std::optional<WallTime> expires;  // of the plugin's credential
  SteadyTime next_read{};           // of the file
  SteadyTime quiet_until{};         // the plugin is not run before then
  std::string error;                // why there is no credential
  std::vector<Ready> waiters;
  std::thread worker;
  bool running = false;
  std::atomic<bool> cancelled{false};
};

CredentialSource::CredentialSource(net::EventLoop& loop, const ClientConfig& config,
                                   CredentialOptions options)
    : impl_(std::make_shared<Impl>(loop, config, std::move(options))) {}
CredentialSource::~CredentialSource() { impl_->shut_down(); }

const Credential* CredentialSource::current() { return impl_->current(); }
void CredentialSource::fetch(Ready ready) { impl_->fetch(std::move(ready)); }
bool CredentialSource::rejected(std::uint64_t generation) { return impl_->rejected(generation); }
const CredentialCounters& CredentialSource::counters() const { return impl_->counters; }

}  // namespace stowage::kube
