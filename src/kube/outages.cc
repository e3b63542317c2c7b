#include "kube/outages.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

namespace stowage::kube {
namespace {

// Whether the server or the connection failed, rather than the request being refused.
bool is_outage(int code) { return code == 0 || code >= 500 || code == 429 || code == 408; }

std::string seconds_text(net::Duration time) {
  return fmt::format("{:.1f}", std::chrono::duration<double>(time).count());
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

// "cannot list /api/v1/pods: 10.0.0.1:6443 did not answer GET /api/v1/pods within 60 s": the text
// before the first colon, words with a slash, methods and numbers differ between callers.
std::string outage_cause(std::string_view why) {
  const std::size_t colon = why.find(": ");
  if (colon != std::string_view::npos) why.remove_prefix(colon + 2);
  std::string cause;
  while (!why.empty()) {
    const std::size_t end = std::min(why.find(' '), why.size());
    const std::string_view word = why.substr(0, end);
    why.remove_prefix(std::min(end + 1, why.size()));
    constexpr std::string_view kMethods[] = {"GET", "(GET", "POST", "(POST", "PATCH", "(PATCH"};
    if (word.find('/') != std::string_view::npos) continue;
    if (std::find(std::begin(kMethods), std::end(kMethods), word) != std::end(kMethods)) continue;
    if (!cause.empty()) cause += ' ';
    for (const char c : word) {
      if (!is_digit(c)) cause += c;
    }
  }
  return cause;
}

Outages::Source::Source(std::shared_ptr<Outages> outages, std::string what)
    : outages_(std::move(outages)), what_(std::move(what)) {}

Outages::Source::~Source() { outages_->away_.erase(this); }

void Outages::Source::failed(const std::string& why, int code) {
  if (is_outage(code)) return outages_->failed(*this, why);
  if (std::exchange(refusal_, why) == why) return;
  outages_->log_.warn("the API server refuses requests, trying again",
                      {{"what", what_}, {"why", why}});
}

void Outages::Source::works() {
  outages_->works(*this);
  if (std::exchange(refusal_, {}).empty()) return;
  outages_->log_.info("the API server accepts requests again", {{"what", what_}});
}

void Outages::failed(const Source& source, const std::string& why) {
  const bool first = away_.empty();
  away_.insert(&source);
  if (first) {
    since_ = loop_.now();
    causes_.clear();
    failures_ = 0;
  }
  ++failures_;
  if (!causes_.insert(outage_cause(why)).second) {
    log_.debug("the API server is still unavailable", {{"what", source.what_}, {"why", why}});
  } else if (first) {
    log_.warn("the API server is unavailable, trying again",
              {{"what", source.what_}, {"why", why}});
  } else {
    log_.warn(
        "the API server is still unavailable, for another reason",
        {{"what", source.what_}, {"why", why}, {"seconds", seconds_text(loop_.now() - since_)}});
  }
}

void Outages::works(const Source& source) {
  if (away_.erase(&source) == 0 || !away_.empty()) return;
  log_.info("the API server is available again", {{"seconds", seconds_text(loop_.now() - since_)},
                                                  {"failures", fmt::format("{}", failures_)}});
}

}  // namespace stowage::kube
