// Keeps the keys that sign decisions (seal.h) in a Secret that all replicas share, and publishes
// the public keys in a ConfigMap: agents read it, and cannot sign.
//
//   Secret, ConfigMap
//     1790000000.pem   a key, by the second in which it was made
//     1795000000.pem   a newer one
//     began            since when everything is signed: the first leader that signs writes it
//     rotate           in the Secret, any text: a key is added, and this entry is removed
//
//   read the Secret -> plan -> (write; a conflict: read again) -> publish in the ConfigMap -> use
//                                                              -> (a while) -> read
//
// A key signs once it has existed for the overlap time, because by then every replica and agent has
// it; the first one signs at once. Old keys still verify. Every write is based on a Secret that was
// read just before, so replicas do not undo each other's work. A Secret that is deleted or emptied
// is filled again with the keys in use.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "kube/api_client.h"
#include "kube/object_access.h"
#include "kube/pacing.h"
#include "kube/seal.h"

namespace stowage::kube {

// The content of the Secret, decoded.
struct KeptKeys {
  std::map<std::int64_t, std::string> pems;  // by the second in which they were made
  std::optional<std::int64_t> began_unix;
  bool rotate = false;
  friend bool operator==(const KeptKeys&, const KeptKeys&) = default;
};
// Ignores entries that are not ours. An error names an entry that cannot be read.
[[nodiscard]] Result<KeptKeys> read_kept_keys(const std::map<std::string, std::string>& data);

inline constexpr std::size_t kKeysMax = 16;  // beyond that the oldest are removed
struct KeyPlan {
  KeptKeys kept;
  std::vector<std::string> changes;  // as texts; none: the content is good
};
// The intended content. `begins`: everything is signed from now on, unless it already is.
[[nodiscard]] KeyPlan plan_keys(const KeptKeys& there, bool begins, std::int64_t now_unix);
[[nodiscard]] Result<Keys> make_keyring(const KeptKeys& kept, std::chrono::seconds overlap,
                                        std::int64_t now_unix);

struct KeyManagerOptions {
  std::string ns = "kube-system";
  std::string secret = "stowage-signing-key";
  std::string config_map = "stowage-signing-keys";
  std::chrono::seconds overlap = std::chrono::minutes{5};
  net::Duration look = std::chrono::minutes{1};
  net::Duration retry_min = std::chrono::seconds{1};
  net::Duration soon = std::chrono::seconds{5};       // least time between reads that callers
                                                      // request
  net::Duration deadline = std::chrono::seconds{20};  // of one call, with its repetitions
  std::uint64_t seed = 1;                             // of the jitter
};

// Large because it is one state machine: reading, writing and publishing share the keys, the counts
// of reads and one timer.
class KeyManager final : public KeySource {
 public:
  struct Deps {
    ApiClient& client;
    base::Log& log;
    std::function<void()> changed;  // called when the keys change
  };
  KeyManager(KeyManagerOptions options, Deps deps);

  void start() { look(); }
  [[nodiscard]] Keys keys() const override { return keys_; }
  [[nodiscard]] std::string trouble() const override { return trouble_; }
  void begin() override;
  std::uint64_t look_soon() override;
  [[nodiscard]] std::uint64_t looked() const override { return looked_; }

 private:
  void look();
  void start_look_soon();
  void read_secret();
  void taken(const ObjectOutcome& outcome);
  void written(const KeyPlan& plan, const ObjectOutcome& outcome);
  void tell(const KeptKeys& kept);
  void map_read(const KeptKeys& kept, const ObjectOutcome& outcome);
  void use(const KeptKeys& kept);
  void fail_with(const std::string& why);
  void again(net::Duration pause);

  const KeyManagerOptions options_;
  Deps deps_;
  Keys keys_;
  KeptKeys kept_;  // in use
  bool begins_ = false;
  bool looking_ = false;
  std::uint64_t looks_ = 0;   // number of reads begun
  std::uint64_t looked_ = 0;  // number of the latest read that succeeded
  std::uint64_t wanted_ = 0;  // number of the latest read that was requested
  int conflicts_in_row_ = 0;
  std::string trouble_ = "the signing keys have not been read yet";
  std::string complaint_;  // last reported error
  net::Moment last_look_{};
  JitteredBackoff pauses_;
  net::Timer timer_;
  ObjectAccess access_;
};

// Reads private keys from a file in PEM form, again whenever it changes: the first one signs, all
// verify. Nothing is written or published.
struct KeyFileOptions {
  std::string path;
  std::int64_t began_unix = 0;
  net::Duration look = std::chrono::seconds{2};
};
[[nodiscard]] Result<Keys> read_key_file(const std::string& text, const KeyFileOptions& options);

class KeyFile final : public KeySource {
 public:
  KeyFile(net::EventLoop& loop, KeyFileOptions options, base::Log& log,
          std::function<void()> changed);
  // Reads the file for the first time; an error says what is wrong. Later, a file that cannot be
  // used leaves the keys unchanged.
  [[nodiscard]] Status start();
  [[nodiscard]] Keys keys() const override { return keys_; }
  [[nodiscard]] std::string trouble() const override { return {}; }
  void begin() override {}
  std::uint64_t look_soon() override { return looked_ + 1; }
  [[nodiscard]] std::uint64_t looked() const override { return looked_; }

 private:
  void look();

  KeyFileOptions options_;
  base::Log& log_;
  std::function<void()> changed_;
  Keys keys_;
  std::string text_;
  std::string complaint_;
  std::uint64_t looked_ = 0;  // reads that found keys
  net::Timer timer_;
};

}  // namespace stowage::kube
