#include "kube/gatekeeper.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/lru_map.h"
#include "codec/reviews.h"
#include "net/digest.h"

namespace stowage::kube {
namespace {

using Reply = tl::expected<ApiReply, CallError>;

constexpr const char* kTokenReviews = "/apis/authentication.k8s.io/v1/tokenreviews";
constexpr const char* kAccessReviews = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
constexpr std::size_t kTokenBytesMax = std::size_t{16} << 10U;
constexpr const char* kTooMany = "too many questions at once";

// The token of "Bearer <token>", whatever the case of the first word; empty if there is none.
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

bool good(const Reply& reply) { return reply && reply->status >= 200 && reply->status < 300; }

std::string failure(const std::string& what, const Reply& reply) {
  return reply ? explain(what, *reply) : fmt::format("cannot {}: {}", what, reply.error().message);
}

std::string words(const codec::Access& access) {
  if (!access.path.empty()) {
    return fmt::format("{} {}: it needs a role with nonResourceURLs", access.verb, access.path);
  }
  return fmt::format("{} {}.{}", access.verb, access.resource, access.group);
}

}  // namespace

struct Gatekeeper::Body : std::enable_shared_from_this<Gatekeeper::Body> {
  Body(ApiClient& api, const GatekeeperOptions& given)
      : client(api), options(given), identities(given.kept_max), verdicts(given.kept_max) {}

  template <typename Answer>
  struct Kept {
    Answer answer;
    net::Moment until;
  };
  // What was answered lately; null if nothing.
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

  // ---- who

  void identify(const std::string& authorization, const std::string& audience, Identified done) {
    const std::string_view token = token_of(authorization);
    if (token.empty() || token.size() > kTokenBytesMax) {
      return done({.status = 401, .why = "send a bearer token", .who = {}});
    }
    // However long, and not for who reads our memory.
    std::string key = net::sha256(fmt::format("{} {}", audience, token));
    if (const Identity* known = kept(identities, key)) return done(Identity(*known));
    if (full()) return done({.status = 503, .why = kTooMany, .who = {}});
    post(kTokenReviews, codec::token_review(token, audience),
         [key = std::move(key), audience, done = std::move(done)](Body& self, const Reply& reply) {
           const Identity identity = read_identity(reply, audience);
           if (identity.status != 503) {
             self.identities.put(key, {identity, self.client.loop().now() + self.options.kept});
           }
           done(identity);
         });
  }

  static Identity read_identity(const Reply& reply, const std::string& audience) {
    if (!good(reply)) {
      return {.status = 503, .why = failure("review the token", reply), .who = {}};
    }
    const auto review = codec::read_token_review(reply->body);
    if (!review) return {.status = 503, .why = review.error().message, .who = {}};
    if (!review->known) {
      return {.status = 401, .why = "the token is not known here", .who = {}};
    }
    // A server that knows nothing of audiences says none.
    const auto& for_whom = review->audiences;
    if (!audience.empty() &&
        std::find(for_whom.begin(), for_whom.end(), audience) == for_whom.end()) {
      return {.status = 401, .why = "the token is not made for " + audience, .who = {}};
    }
    return {.status = 200, .why = {}, .who = review->who};
  }

  // ---- what

  void authorise(const codec::Somebody& who, const codec::Access& access, Done done) {
    std::string question = codec::access_review(who, access);  // names all that counts
    std::string key = net::sha256(question);
    if (const Verdict* known = kept(verdicts, key)) return done(Verdict(*known));
    if (full()) return done({.status = 503, .why = kTooMany, .user = who.user});
    post(kAccessReviews, question,
         [key = std::move(key), user = who.user, access, done = std::move(done)](
             Body& self, const Reply& reply) {
           const Verdict verdict = read_verdict(reply, user, access);
           if (verdict.status != 503) {
             self.verdicts.put(key, {verdict, self.client.loop().now() + self.options.kept});
           }
           done(verdict);
         });
  }

  static Verdict read_verdict(const Reply& reply, const std::string& user,
                              const codec::Access& access) {
    if (!good(reply)) {
      return {.status = 503, .why = failure("review the access", reply), .user = user};
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
  const GatekeeperOptions options;
  base::LruMap<Kept<Identity>> identities;  // by audience and token, in a digest
  base::LruMap<Kept<Verdict>> verdicts;     // by the question, the same
  std::size_t under_way = 0;
  Counters counters;
};

Gatekeeper::Gatekeeper(ApiClient& client, GatekeeperOptions options)
    : body_(std::make_shared<Body>(client, options)) {}
Gatekeeper::~Gatekeeper() = default;

void Gatekeeper::identify(const std::string& authorization, const std::string& audience,
                          Identified done) {
  body_->identify(authorization, audience,
                  [body = body_.get(), done = std::move(done)](const Identity& identity) {
                    if (identity.status != 200) body->count(identity.status);
                    done(identity);
                  });
}

void Gatekeeper::authorise(const codec::Somebody& who, const codec::Access& access, Done done) {
  body_->authorise(who, access,
                   [body = body_.get(), done = std::move(done)](const Verdict& verdict) {
                     body->count(verdict.status);
                     done(verdict);
                   });
}

void Gatekeeper::ask(const Ask& ask, Done done) {
  identify(ask.authorization, {},
           [weak = std::weak_ptr<Body>(body_), this, ask,
            done = std::move(done)](const Identity& identity) {
             if (weak.expired()) return;
             if (identity.status != 200) {
               return done({.status = identity.status, .why = identity.why, .user = {}});
             }
             authorise(identity.who, {.verb = ask.verb, .path = ask.path}, done);
           });
}

Gatekeeper::Counters Gatekeeper::counters() const { return body_->counters; }

}  // namespace stowage::kube
