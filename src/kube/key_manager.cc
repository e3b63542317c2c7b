#include "kube/key_manager.h"

#include <utility>

#include <fmt/format.h>

#include "base/base64.h"
#include "base/file.h"
#include "codec/config_map.h"
#include "codec/serving.h"
#include "kube/clock.h"
#include "kube/object_path.h"

namespace stowage::kube {
namespace {

constexpr int kConflictsMax = 5;  // in a row; then it waits as after a failure
constexpr const char* kPrivateEntry = "rotate";

std::string entry_of(std::int64_t made) { return fmt::format("{}.pem", made); }

// In base64. Entries of the Secret that are not to be kept are removed; foreign entries stay.
std::map<std::string, std::string> secret_data(const KeptKeys& kept, const KeptKeys& there) {
  std::map<std::string, std::string> data{{kPrivateEntry, ""}};
  for (const auto& [made, pem] : there.pems) data[entry_of(made)] = "";
  for (const auto& [made, pem] : kept.pems) data[entry_of(made)] = base::base64_encode(pem);
  if (kept.began_unix) data["began"] = base::base64_encode(std::to_string(*kept.began_unix));
  return data;
}

// The intended content of the ConfigMap.
Result<std::map<std::string, std::string>> public_data(const KeptKeys& kept) {
  std::map<std::string, std::string> data;
  for (const auto& [made, pem] : kept.pems) {
    STOWAGE_TRY(key, net::PrivateKey::from_pem(pem, entry_of(made)));
    data[entry_of(made)] = key.public_key().pem();
  }
  if (kept.began_unix) data["began"] = std::to_string(*kept.began_unix);
  return data;
}

// Empty: nothing has to be written.
std::map<std::string, std::string> difference(const std::map<std::string, std::string>& wanted,
                                              const std::map<std::string, std::string>& there) {
  std::map<std::string, std::string> data;
  for (const auto& [key, text] : there) {
    if (!wanted.contains(key)) data[key] = "";
  }
  for (const auto& [key, text] : wanted) {
    const auto found = there.find(key);
    if (found == there.end() || found->second != text) data[key] = text;
  }
  return data;
}

}  // namespace

KeyManager::KeyManager(KeyManagerOptions options, Deps deps)
    : options_(std::move(options)),
      deps_(std::move(deps)),
      pauses_(options_.retry_min, options_.look, options_.seed),
      timer_(deps_.client.loop()),
      access_(deps_.client, {.total_deadline = options_.deadline, .seed = options_.seed}) {}

void KeyManager::begin() {
  if (begins_) return;
  begins_ = true;
  if (!looking_) look();
}

std::uint64_t KeyManager::look_soon() {
  wanted_ = looks_ + 1;  // a read that is under way may have read the Secret already
  if (!looking_) start_look_soon();
  return wanted_;
}

void KeyManager::start_look_soon() {
  const auto due = last_look_ + options_.soon;
  const auto now = deps_.client.loop().now();
  timer_.start(due > now ? due - now : net::Duration::zero(), [this] { look(); });
}

void KeyManager::look() {
  looking_ = true;
  ++looks_;
  last_look_ = deps_.client.loop().now();
  conflicts_in_row_ = 0;
  read_secret();
}

void KeyManager::read_secret() {
  access_.call({.what = "read the secret with the signing keys",
                .method = "GET",
                .target = core_path(options_.ns, "secrets", options_.secret)},
               [this](const ObjectOutcome& outcome) { taken(outcome); });
}

void KeyManager::taken(const ObjectOutcome& outcome) {
  codec::Secret secret;
  if (outcome.result == ObjectResult::done) {
    auto read = codec::read_secret(outcome.body);
    if (!read) return fail_with(read.error().message);
    secret = std::move(*read);
  } else if (outcome.result != ObjectResult::gone) {
    return fail_with(outcome.message);
  }
  auto there = read_kept_keys(secret.data);
  if (!there) return fail_with(there.error().message);
  const bool lost = there->pems.empty() && !kept_.pems.empty();
  const KeptKeys& base = lost ? kept_ : *there;
  KeyPlan plan = plan_keys(base, begins_, unix_seconds(deps_.client.wall_clock()()));
  if (lost) plan.changes.emplace_back("the secret no longer has its keys: writing them again");
  if (plan.changes.empty() && !there->rotate) return tell(plan.kept);
  const codec::SecretRequest ask{.ns = options_.ns,
                                 .name = options_.secret,
                                 .resource_version = secret.resource_version,
                                 .data = secret_data(plan.kept, *there)};
  const bool create = secret.resource_version.empty();
  access_.call({.what = "write the secret with the signing keys",
                .method = create ? "POST" : "PATCH",
                .target = create ? core_path(options_.ns, "secrets")
                                 : core_path(options_.ns, "secrets", options_.secret),
                .body = create ? codec::secret(ask) : codec::secret_patch(ask)},
               [this, plan = std::move(plan)](const ObjectOutcome& done) { written(plan, done); });
}

// If another replica has written at the same time, its write counts.
void KeyManager::written(const KeyPlan& plan, const ObjectOutcome& outcome) {
  if (outcome.result == ObjectResult::conflict || outcome.result == ObjectResult::gone) {
    if (++conflicts_in_row_ > kConflictsMax) return fail_with(outcome.message);
    return read_secret();
  }
  if (outcome.result != ObjectResult::done) return fail_with(outcome.message);
  for (const std::string& change : plan.changes) {
    deps_.log.info("signing keys have changed", {{"what", change}});
  }
  tell(plan.kept);
}

// Nothing is signed with a key that others cannot know.
void KeyManager::tell(const KeptKeys& kept) {
  access_.call({.what = "read the ConfigMap of the signing keys",
                .method = "GET",
                .target = core_path(options_.ns, "configmaps", options_.config_map)},
               [this, kept](const ObjectOutcome& outcome) { map_read(kept, outcome); });
}

void KeyManager::map_read(const KeptKeys& kept, const ObjectOutcome& outcome) {
  const auto wanted = public_data(kept);
  if (!wanted) return fail_with(wanted.error().message);
  const auto done = [this, kept](const ObjectOutcome& told) {
    if (told.result == ObjectResult::done) return use(kept);
    if (told.result != ObjectResult::conflict || ++conflicts_in_row_ > kConflictsMax) {
      return fail_with(told.message);
    }
    read_secret();
  };
  constexpr const char* kWhat = "write the ConfigMap of the signing keys";
  if (outcome.result == ObjectResult::gone) {
    return access_.call(
        {.what = kWhat,
         .method = "POST",
         .target = core_path(options_.ns, "configmaps"),
         .body = codec::config_map(
             {.ns = options_.ns, .name = options_.config_map, .uid = {}, .data = *wanted})},
        done);
  }
  if (outcome.result != ObjectResult::done) return fail_with(outcome.message);
  codec::JsonText parser;
  const auto there = codec::read_config_map(parser, outcome.body);
  if (!there) return fail_with(there.error().message);
  const auto changed = difference(*wanted, there->data);
  if (changed.empty()) return use(kept);
  access_.call({.what = kWhat,
                .target = core_path(options_.ns, "configmaps", options_.config_map),
                .body = codec::config_map_patch(changed)},
               done);
}

void KeyManager::use(const KeptKeys& kept) {
  auto fresh = make_keyring(kept, options_.overlap, unix_seconds(deps_.client.wall_clock()()));
  if (!fresh) return fail_with(fresh.error().message);
  looking_ = false;
  kept_ = kept;
  trouble_.clear();
  complaint_.clear();
  pauses_.reset();
  const std::string signs = (*fresh)->signs->public_key().id();
  const bool same = keys_ && keys_->known == (*fresh)->known &&
                    keys_->began_unix == (*fresh)->began_unix &&
                    keys_->signs->public_key().id() == signs;
  if (begins_ && !kept.began_unix) return look();  // requested meanwhile
  again(pauses_.spread(options_.look));
  looked_ = looks_;
  if (wanted_ > looked_) start_look_soon();
  if (same) return;
  if (!keys_ || keys_->signs->public_key().id() != signs) {
    deps_.log.info("decisions are signed", {{"key", signs}});
  }
  keys_ = std::move(*fresh);
  deps_.changed();
}

void KeyManager::fail_with(const std::string& why) {
  looking_ = false;
  trouble_ = fmt::format(
      "the signing keys cannot be read (private keys in secret {0}/{1}, public keys in ConfigMap "
      "{0}/{2}): {3}. Create the objects and roles with: kubectl apply -f deploy/stowage.yaml -l "
      "stowage.dev/part=access",
      options_.ns, options_.secret, options_.config_map, why);
  if (std::exchange(complaint_, why) != why) {
    deps_.log.warn(keys_ ? "signing keys cannot be read, keeping the known ones"
                         : "nothing is decided without signing keys",
                   {{"why", trouble_}});
  }
  again(pauses_.next());
}

void KeyManager::again(net::Duration pause) {
  timer_.start(pause, [this] { look(); });
}

// ---- a file

KeyFile::KeyFile(net::EventLoop& loop, KeyFileOptions options, base::Log& log,
                 std::function<void()> changed)
    : options_(std::move(options)), log_(log), changed_(std::move(changed)), timer_(loop) {}

Status KeyFile::start() {
  STOWAGE_TRY(text, base::read_file(options_.path));
  STOWAGE_TRY(keys, read_key_file(text, options_));
  text_ = std::move(text);
  keys_ = std::move(keys);
  timer_.start(options_.look, [this] { look(); });
  return {};
}

void KeyFile::look() {
  timer_.start(options_.look, [this] { look(); });
  auto text = base::read_file(options_.path);
  if (text && *text == text_) {
    ++looked_;
    return;
  }
  auto keys = text ? read_key_file(*text, options_) : Result<Keys>(fail(text.error().message));
  if (!keys) {  // perhaps half written: read again later
    const std::string& why = keys.error().message;
    if (std::exchange(complaint_, why) == why) return;
    return log_.warn("new signing keys cannot be used, keeping the old ones", {{"why", why}});
  }
  ++looked_;
  complaint_.clear();
  text_ = std::move(*text);
  keys_ = std::move(*keys);
  log_.info("signing keys reloaded", {{"file", options_.path}});
  changed_();
}

}  // namespace stowage::kube
