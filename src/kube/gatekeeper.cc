#include "kube/gatekeeper.h"

#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "codec/reviews.h"
#include "kube/lru_map.h"

namespace stowage::kube {
namespace {

using Reply = tl::expected<ApiReply, CallError>;
using Verdict = Gatekeeper::Verdict;

constexpr const char* kTokenReviews = "/apis/authentication.k8s.io/v1/tokenreviews";
constexpr const char* kAccessReviews = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
constexpr std::size_t kTokenBytesMax = std::size_t{16} << 10U;

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

Verdict failed(const std::string& what, const Reply& reply) {
  return {.status = 503,
          .why = reply ? explain(what, *reply)
                       : fmt::format("cannot {}: {}", what, reply.error().message),
          .user = {}};
}

}  // namespace

struct Gatekeeper::Body : std::enable_shared_from_this<Gatekeeper::Body> {
  Body(ApiClient& api, const GatekeeperOptions& given)
      : client(api), options(given), answers(given.kept_max) {}

  struct Question {
    Ask ask;
    std::string key;
    Done done;
  };
  using QuestionPtr = std::shared_ptr<Question>;
  struct Kept {
    Verdict verdict;
    net::Moment until;
  };

  void ask(const Ask& what, Done done) {
    const std::string_view token = token_of(what.authorization);
    if (token.empty() || token.size() > kTokenBytesMax) {
      return tell(done, {.status = 401, .why = "send a bearer token", .user = {}});
    }
    std::string key = fmt::format("{} {} {}", what.verb, what.path, token);
    const Kept* kept = answers.find(key);
    if (kept != nullptr && client.loop().now() < kept->until) return tell(done, kept->verdict);
    if (under_way >= options.under_way_max) {
      return tell(done, {.status = 503, .why = "too many questions at once", .user = {}});
    }
    ++under_way;
    auto question = std::make_shared<Question>(
        Question{.ask = what, .key = std::move(key), .done = std::move(done)});
    post(kTokenReviews, codec::token_review(token),
         [question](Body& self, const Reply& reply) { self.take_token(question, reply); });
  }

  template <typename Take>
  void post(const char* target, std::string body, Take take) {
    ApiCall call;
    call.method = "POST";
    call.target = target;
    call.body = std::move(body);
    client.call(std::move(call), options.deadline,
                [weak = weak_from_this(), take](const Reply& reply) {
                  if (const auto self = weak.lock()) take(*self, reply);
                });
  }

  void take_token(const QuestionPtr& question, const Reply& reply) {
    if (!good(reply)) return end(question, failed("review the token", reply), false);
    const auto review = codec::read_token_review(reply->body);
    if (!review) {
      return end(question, {.status = 503, .why = review.error().message, .user = {}}, false);
    }
    if (!review->known) {
      return end(question, {.status = 401, .why = "the token is not known here", .user = {}}, true);
    }
    post(kAccessReviews, codec::path_review(review->who, question->ask.verb, question->ask.path),
         [question, user = review->who.user](Body& self, const Reply& answer) {
           self.take_access(question, user, answer);
         });
  }

  void take_access(const QuestionPtr& question, const std::string& user, const Reply& reply) {
    if (!good(reply)) return end(question, failed("review the access", reply), false);
    const auto review = codec::read_access_review(reply->body);
    if (!review) {
      return end(question, {.status = 503, .why = review.error().message, .user = user}, false);
    }
    if (review->allowed) return end(question, {.status = 200, .why = {}, .user = user}, true);
    end(question,
        {.status = 403,
         .why = fmt::format("{} may not {} {}: it needs a role with nonResourceURLs", user,
                            question->ask.verb, question->ask.path),
         .user = user},
        true);
  }

  void end(const QuestionPtr& question, Verdict verdict, bool keep) {
    --under_way;
    if (keep) answers.put(question->key, {verdict, client.loop().now() + options.kept});
    tell(question->done, verdict);
  }

  void tell(const Done& done, const Verdict& verdict) {
    if (verdict.status == 200) {
      ++counters.allowed;
    } else if (verdict.status == 503) {
      ++counters.failed;
    } else {
      ++counters.refused;
    }
    done(verdict);
  }

  ApiClient& client;
  const GatekeeperOptions options;
  LruMap<Kept> answers;  // by verb, path and token
  std::size_t under_way = 0;
  Counters counters;
};

Gatekeeper::Gatekeeper(ApiClient& client, GatekeeperOptions options)
    : body_(std::make_shared<Body>(client, options)) {}
Gatekeeper::~Gatekeeper() = default;

void Gatekeeper::ask(const Ask& ask, Done done) { body_->ask(ask, std::move(done)); }
Gatekeeper::Counters Gatekeeper::counters() const { return body_->counters; }

}  // namespace stowage::kube
