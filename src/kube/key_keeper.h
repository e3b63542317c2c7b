// Keeps the keys by which decisions are signed (seal.h) in a Secret that all replicas share, and
// tells the public ones in a ConfigMap: agents read that, and cannot sign.
//
//   Secret, ConfigMap
//     1790000000.pem   a key, by the second in which it was made
//     1795000000.pem   a newer one
//     began            since when everything is signed: the first leader that signs writes it
//     rotate           of the Secret; any text: a key is added, and this is taken away
//
//   read the Secret -> plan -> (write; a conflict: read again) -> tell the ConfigMap -> use
//                                                              -> (a while) -> read
//
// A key signs when it has been there for the overlap, since by then every replica and agent knows
// it; the first one signs at once. Old ones go on verifying. Whatever is written follows from a
// Secret that was read just before, so replicas do not undo each other's work. A Secret that is
// lost or emptied is filled again with what is in use.
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

// As they stand in the Secret, decoded.
struct KeptKeys {
  std::map<std::int64_t, std::string> pems;  // by the second in which they were made
  std::optional<std::int64_t> began_unix;
  bool rotate = false;
  friend bool operator==(const KeptKeys&, const KeptKeys&) = default;
};
// An entry that is none of ours is passed over. An error names one that cannot be read.
[[nodiscard]] Result<KeptKeys> read_kept_keys(const std::map<std::string, std::string>& data);

inline constexpr std::size_t kKeysMax = 16;  // the oldest go
struct KeyPlan {
  KeptKeys kept;
  std::vector<std::string> changes;  // in words; none: what is kept is good
};
// What is to be kept. `begins`: everything is signed from now on, unless it is already.
[[nodiscard]] KeyPlan plan_keys(const KeptKeys& there, bool begins, std::int64_t now_unix);
[[nodiscard]] Result<Keys> make_keyring(const KeptKeys& kept, std::chrono::seconds overlap,
                                        std::int64_t now_unix);

struct KeyKeeperOptions {
  std::string ns = "kube-system";
  std::string secret = "stowage-signing-key";
  std::string config_map = "stowage-signing-keys";
  std::chrono::seconds overlap = std::chrono::minutes{5};
  net::Duration look = std::chrono::minutes{1};
  net::Duration retry_min = std::chrono::seconds{1};
  net::Duration soon = std::chrono::seconds{5};       // at least, between looks that others ask for
  net::Duration deadline = std::chrono::seconds{20};  // of one call, with its repetitions
  std::uint64_t seed = 1;                             // of the jitter
};

class KeyKeeper final : public KeySource {
 public:
  struct Ends {
    ApiClient& client;
    base::Log& log;
    std::function<void()> changed;  // there are other keys
  };
  KeyKeeper(KeyKeeperOptions options, Ends ends);

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

  const KeyKeeperOptions options_;
  Ends ends_;
  Keys keys_;
  KeptKeys kept_;  // in use
  bool begins_ = false;
  bool looking_ = false;
  std::uint64_t looks_ = 0;   // begun; each has its number
  std::uint64_t looked_ = 0;  // the latest one that succeeded
  std::uint64_t wanted_ = 0;  // the latest one that was asked for
  int conflicts_in_row_ = 0;
  std::string trouble_ = "the keys that sign what is written on pods have not been read yet";
  std::string complaint_;  // told already
  net::Moment last_look_{};
  JitteredBackoff pauses_;
  net::Timer timer_;
  ObjectAccess access_;
};

// Private keys out of a file in PEM form, which is read again when it changes: the first one signs,
// all verify. Nothing is written or told.
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
  // Reads it the first time: an error says what is wrong. What cannot be used later leaves the keys
  // as they were.
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
  std::uint64_t looked_ = 0;  // looks that found keys
  net::Timer timer_;
};

}  // namespace stowage::kube
