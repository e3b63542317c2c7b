#include "kube/public_keys.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "base/number.h"
#include "codec/config_map.h"
#include "kube/key_manager.h"
#include "kube/object_path.h"

namespace stowage::kube {
namespace {

constexpr std::string_view kSuffix = ".pem";

bool is_key_entry(std::string_view name) {
  if (!name.ends_with(kSuffix)) return false;
  name.remove_suffix(kSuffix.size());
  return base::parse_number<std::int64_t>(name).has_value();
}

}  // namespace

Result<Keys> read_public_keys(const std::map<std::string, std::string>& data) {
  auto keyring = std::make_shared<Keyring>();
  for (const auto& [name, text] : data) {
    if (!is_key_entry(name)) continue;
    if (keyring->known.size() == kKeysMax) return fail(fmt::format("more than {} keys", kKeysMax));
    STOWAGE_TRY(key, net::PublicKey::from_pem(text, fmt::format("entry {}", name)));
    std::string id = key.id();
    keyring->known.emplace(std::move(id), std::move(key));
  }
  if (keyring->known.empty()) return fail("it has no keys yet: the controller writes them");
  return Keys(std::move(keyring));
}

PublicKeys::PublicKeys(ApiClient& client, PublicKeysOptions options, base::Log& log,
                       std::function<void()> changed)
    : loop_(client.loop()),
      options_(std::move(options)),
      log_(log),
      changed_(std::move(changed)),
      pauses_(options_.retry_min, options_.retry_max, options_.seed),
      timer_(loop_),
      access_(client, {.attempt_deadline = options_.deadline,
                       .total_deadline = options_.deadline,
                       .seed = options_.seed}) {}

std::uint64_t PublicKeys::look_soon() {
  if (looking_) {
    again_ = true;
    return looks_ + 1;
  }
  const net::Moment at = std::max(loop_.now(), last_look_ + options_.soon);
  timer_.start(at - loop_.now(), [this] { look(); });
  return looks_ + 1;
}

void PublicKeys::look() {
  looking_ = true;
  again_ = false;
  ++looks_;
  last_look_ = loop_.now();
  access_.call({.what = "read the ConfigMap of the signing keys",
                .method = "GET",
                .target = core_path(options_.ns, "configmaps", options_.config_map)},
               [this](const ObjectOutcome& outcome) { taken(outcome); });
}

Result<Keys> PublicKeys::read(const ObjectOutcome& outcome) const {
  const auto because = [this](const std::string& why) {
    return fail(fmt::format("the public signing keys cannot be read from ConfigMap {}/{}: {}",
                            options_.ns, options_.config_map, why));
  };
  if (outcome.result == ObjectResult::gone) return because("it does not exist");
  if (outcome.result != ObjectResult::done) return because(outcome.message);
  codec::JsonText parser;
  auto map = codec::read_config_map(parser, outcome.body);
  if (!map) return because(map.error().message);
  auto keys = read_public_keys(map->data);
  if (!keys) return because(keys.error().message);
  return keys;
}

void PublicKeys::taken(const ObjectOutcome& outcome) {
  looking_ = false;
  auto fresh = read(outcome);
  if (!fresh) {
    const std::string& why = fresh.error().message;
    if (std::exchange(trouble_, why) != why) {
      log_.warn(keys_ ? "signing keys cannot be read, keeping the known ones"
                      : "no container gets cards without signing keys",
                {{"why", why}});
    }
    timer_.start(pauses_.next(), [this] { look(); });
    return;
  }
  pauses_.reset();
  trouble_.clear();
  looked_ = looks_;
  const bool same = keys_ && keys_->known == (*fresh)->known;
  keys_ = *std::move(fresh);
  if (again_) {
    (void)look_soon();
  } else {
    timer_.start(options_.look, [this] { look(); });
  }
  if (!same && changed_) changed_();
}

}  // namespace stowage::kube
