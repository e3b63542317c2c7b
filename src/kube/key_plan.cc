// Which keys are kept, and which one signs. Makes no calls.
#include <algorithm>

#include <fmt/format.h>

#include "base/base64.h"
#include "base/number.h"
#include "base/text.h"
#include "kube/key_manager.h"

namespace stowage::kube {
namespace {

constexpr std::string_view kSuffix = ".pem";
constexpr std::string_view kBegan = "began";
constexpr std::string_view kRotate = "rotate";
constexpr std::string_view kEnd = "-----END PRIVATE KEY-----";

std::optional<std::int64_t> whole(std::string_view text) {
  const auto number = base::parse_number<std::int64_t>(text);
  return number && *number >= 0 ? number : std::nullopt;
}

}  // namespace

Result<KeptKeys> read_kept_keys(const std::map<std::string, std::string>& data) {
  KeptKeys kept;
  for (const auto& [name, coded] : data) {
    if (name == kRotate) {
      kept.rotate = true;
      continue;
    }
    const bool pem = name.ends_with(kSuffix);
    const auto made =
        pem ? whole(std::string_view(name).substr(0, name.size() - kSuffix.size())) : std::nullopt;
    if (!made && name != kBegan) continue;
    const auto text = base::base64_decode(coded);
    if (!text) return fail(fmt::format("entry {} is not base64; remove it", name));
    if (made) {
      const auto key = net::PrivateKey::from_pem(*text, fmt::format("entry {}", name));
      if (!key) return fail(key.error().message + "; fix it, or remove it");
      kept.pems.emplace(*made, *text);
      continue;
    }
    kept.began_unix = whole(base::trim(*text));
    if (!kept.began_unix) {
      return fail(fmt::format("entry {} is not a number of seconds since 1970", name));
    }
  }
  return kept;
}

KeyPlan plan_keys(const KeptKeys& there, bool begins, std::int64_t now_unix) {
  KeyPlan plan{.kept = there, .changes = {}};
  KeptKeys& kept = plan.kept;
  const bool first = kept.pems.empty();
  if (first || kept.rotate) {
    const net::PrivateKey key = net::PrivateKey::generate();
    // Newer than all others, whatever the clock says.
    const std::int64_t made = first ? now_unix : std::max(now_unix, kept.pems.rbegin()->first + 1);
    kept.pems.emplace(made, key.pem());
    plan.changes.push_back(fmt::format("key {} was {}", key.public_key().id(),
                                       first ? "created, the first one" : "added, on request"));
  }
  kept.rotate = false;
  while (kept.pems.size() > kKeysMax) {
    plan.changes.push_back(fmt::format("the key of {} was dropped: at most {} are kept",
                                       kept.pems.begin()->first, kKeysMax));
    kept.pems.erase(kept.pems.begin());
  }
  if (begins && !kept.began_unix) {
    kept.began_unix = now_unix;
    plan.changes.emplace_back("everything that is written on pods is signed from now on");
  }
  return plan;
}

Result<Keys> make_keyring(const KeptKeys& kept, std::chrono::seconds overlap,
                          std::int64_t now_unix) {
  auto keyring = std::make_shared<Keyring>();
  keyring->began_unix = kept.began_unix;
  for (const auto& [made, pem] : kept.pems) {
    STOWAGE_TRY(key, net::PrivateKey::from_pem(pem, fmt::format("entry {}.pem", made)));
    keyring->known.emplace(key.public_key().id(), key.public_key());
    if (!keyring->signs || made + overlap.count() <= now_unix) keyring->signs = std::move(key);
  }
  if (!keyring->signs) return fail("there is no key");
  return Keys(std::move(keyring));
}

Result<Keys> read_key_file(const std::string& text, const KeyFileOptions& options) {
  auto keyring = std::make_shared<Keyring>();
  keyring->began_unix = options.began_unix;
  std::size_t begin = 0;
  for (std::size_t end = text.find(kEnd); end != std::string::npos; end = text.find(kEnd, begin)) {
    end += kEnd.size();
    STOWAGE_TRY(key, net::PrivateKey::from_pem(text.substr(begin, end - begin), options.path));
    begin = end;
    keyring->known.emplace(key.public_key().id(), key.public_key());
    if (!keyring->signs) keyring->signs = std::move(key);
    if (keyring->known.size() > kKeysMax) {
      return fail(fmt::format("{}: more than {} keys", options.path, kKeysMax));
    }
  }
  if (!keyring->signs) {
    return fail(fmt::format(
        "{}: no private key found; make one with: openssl genpkey -algorithm ed25519 -out {}",
        options.path, options.path));
  }
  return Keys(std::move(keyring));
}

}  // namespace stowage::kube
