#include "kube/delegated_auth.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/lru_map.h"
#include "codec/reviews.h"
#include "net/digest.h"

namespace stowage::kube {
namespace {

using Reply = CallResult;

constexpr const char* kTokenReviews = "/apis/authentication.k8s.io/v1/tokenreviews";
constexpr const char* kAccessReviews = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
constexpr std::size_t kTokenBytesMax = std::size_t{16} << 10U;
constexpr const char* kTooMany = "too many requests at once";

// The token of "Bearer <token>", with the scheme in any case; empty if none exists.
std::string_view token_of(std::string_view header) {
  constexpr std::string_view kScheme = "bearer ";
  if (header.size() <= kScheme.size()) return {};
  for (std::size_t i = 0; i < kScheme.size(); ++i) {
    const char c =
        header[i] >= 'A' && header[i] <= 'Z' ? static_cast<char>(header[i] + 32) : header[i];
    if (c != kScheme[i]) return {};
  }
  header.remove_prefix(kScheme.size());
  while (header.starts_with(' ')) header.remove_prefix(1);
  return header;
}

std::string words(const codec::Access& access) {
  if (!access.path.empty()) {
    return fmt::format("{} {}: it needs a role with nonResourceURLs", access.verb, access.path);
  }
  return fmt::format("{} {}.{}", access.verb, access.resource, access.group);
}

}  // namespace

struct DelegatedAuth::Impl : std::enable_shared_from_this<DelegatedAuth::Impl> {
  Impl(ApiClient& api, const DelegatedAuthOptions& given)
      : client(api), options(given), identities(given.kept_max), verdicts(given.kept_max) {}

  template <typename Answer>
  struct Kept {
    Answer answer;
    net::Moment until;
  };
  // A recent answer; null if none exists.
  template <typename Answer>
  const Answer* kept(base::LruMap<Kept<Answer>>& answers, const std::string& key) {
    const Kept<Answer>* found = answers.find(key);
    return found != nullptr && client.loop().now() < found->until ? &found->answer : nullptr;
  }

  template <typename Take>
  void post(const char* target, std::string body, Take take) {
    ApiCall call;
    call.method = "POST";
    call.target = target;
    call.body = std::move(body);
    ++under_way;
    client.call(std::move(call), options.deadline,
                [weak = weak_from_this(), take](const Reply& reply) {
                  const auto self = weak.lock();
                  if (!self) return;
                  --self->under_way;
                  take(*self, reply);
                });
  }
  [[nodiscard]] bool full() const { return under_way >= options.under_way_max; }

  // ---- authentication

  void identify(const std::string& authorization, const std::string& audience, Identified done) {
    const std::string_view token = token_of(authorization);
    if (token.empty() || token.size() > kTokenBytesMax) {
      return done({.status = 401, .why = "send a bearer token", .who = {}});
    }
    // Hashed: the key has a fixed length, and no token stays in memory.
    std::string key = net::sha256(fmt::format("{} {}", audience, token));
    if (const Identity* known = kept(identities, key)) return done(Identity(*known));
    if (full()) return done({.status = 503, .why = kTooMany, .who = {}});
    post(kTokenReviews, codec::token_review(token, audience),
         [key = std::move(key), audience, done = std::move(done)](Impl& self, const Reply& reply) {
           const Identity identity = read_identity(reply, audience);
           if (identity.status != 503) {
             self.identities.put(key, {identity, self.client.loop().now() + self.options.kept});
           }
           done(identity);
         });
  }

  static Identity read_identity(const Reply& reply, const std::string& audience) {
    if (!succeeded(reply)) {
      return {.status = 503, .why = explain("review the token", reply), .who = {}};
    }
    const auto review = codec::read_token_review(reply->body);
    if (!review) return {.status = 503, .why = review.error().message, .who = {}};
    if (!review->known) {
      return {.status = 401, .why = "the API server does not accept the token", .who = {}};
    }
    // A server without support for audiences returns none.
    const auto& for_whom = review->audiences;
    if (!audience.empty() &&
        std::find(for_whom.begin(), for_whom.end(), audience) == for_whom.end()) {
      return {.status = 401, .why = "the token is not for the audience " + audience, .who = {}};
    }
    return {.status = 200, .why = {}, .who = review->who};
  }

  // ---- authorization

  void authorise(const codec::UserInfo& who, const codec::Access& access, Done done) {
    std::string question = codec::access_review(who, access);  // contains everything that matters
    std::string key = net::sha256(question);
    if (const Verdict* known = kept(verdicts, key)) return done(Verdict(*known));
    if (full()) return done({.status = 503, .why = kTooMany, .user = who.user});
    post(kAccessReviews, question,
         [key = std::move(key), user = who.user, access, done = std::move(done)](
             Impl& self, const Reply& reply) {
           const Verdict verdict = read_verdict(reply, user, access);
           if (verdict.status != 503) {
             self.verdicts.put(key, {verdict, self.client.loop().now() + self.options.kept});
           }
           done(verdict);
         });
  }

  static Verdict read_verdict(const Reply& reply, const std::string& user,
                              const codec::Access& access) {
    if (!succeeded(reply)) {
      return {.status = 503, .why = explain("review the access", reply), .user = user};
    }
    const auto review = codec::read_access_review(reply->body);
    if (!review) return {.status = 503, .why = review.error().message, .user = user};
    if (review->allowed) return {.status = 200, .why = {}, .user = user};
    return {.status = 403, .why = fmt::format("{} may not {}", user, words(access)), .user = user};
  }

  void count(int status) {
    if (status == 200) {
      ++counters.allowed;
    } else if (status == 503) {
      ++counters.failed;
    } else {
      ++counters.refused;
    }
  }

  ApiClient& client;
  const DelegatedAuthOptions options;
  base::LruMap<Kept<Identity>> identities;  // by the digest of audience and token
  base::LruMap<Kept<Verdict>> verdicts;     // by the digest of the request
  std::size_t under_way = 0;
  Counters counters;
};

DelegatedAuth::DelegatedAuth(ApiClient& client, DelegatedAuthOptions options)
    : impl_(std::make_shared<Impl>(client, options)) {}
DelegatedAuth::~DelegatedAuth() = default;

void DelegatedAuth::identify(const std::string& authorization, const std::string& audience,
                             Identified done) {
  impl_->identify(authorization, audience,
                  [body = impl_.get(), done = std::move(done)](const Identity& identity) {
                    if (identity.status != 200) body->count(identity.status);
                    done(identity);
                  });
}

void DelegatedAuth::authorise(const codec::UserInfo& who, const codec::Access& access, Done done) {
  impl_->authorise(who, access,
                   [body = impl_.get(), done = std::move(done)](const Verdict& verdict) {
                     body->count(verdict.status);
                     done(verdict);
                   });
}

void DelegatedAuth::ask(const Ask& ask, Done done) {
  identify(ask.authorization, {},
           [weak = std::weak_ptr<Impl>(impl_), this, ask,
            done = std::move(done)](const Identity& identity) {
             if (weak.expired()) return;
             if (identity.status != 200) {
               return done({.status = identity.status, .why = identity.why, .user = {}});
             }
             authorise(identity.who, {.verb = ask.verb, .path = ask.path}, done);
           });
}

DelegatedAuth::Counters DelegatedAuth::counters() const { return impl_->counters; }

}  // namespace stowage::kube
