#include "agent/reporter.h"

#include <utility>

#include "base/json_writer.h"
#include "dialect/dialect.h"
#include "net/http.h"

namespace stowage::agent {
namespace {

std::string annotation_patch(const std::string& text) {
  base::JsonWriter json(base::JsonWriter::Style::compact);
  json.begin_object().key("metadata").begin_object().key("annotations").begin_object();
  json.key(dialect::kInventoryAnnotation).value(text);
  json.end_object().end_object().end_object();
  return json.take();
}

// The same inventory with every card unhealthy; unset if the text cannot be read.
std::optional<std::string> all_unhealthy(const std::string& text) {
  dialect::NodeObject node{.name = "n"};
  node.annotations[std::string(dialect::kInventoryAnnotation)] = text;
  auto reading = dialect::to_spec(node);
  if (!reading || reading->node.cards.empty()) return std::nullopt;
  for (core::Card& card : reading->node.cards) card.healthy = false;
  return dialect::inventory_text(reading->node.cards, reading->node.links);
}

}  // namespace

Reporter::Reporter(kube::ApiClient& client, ReporterOptions options, base::Log& log)
    : options_(std::move(options)),
      loop_(client.loop()),
      log_(log),
      access_(client),
      backoff_(options_.backoff_min, options_.backoff_max, options_.seed),
      timer_(client.loop()) {}

void Reporter::start() { look(); }

void Reporter::set_cards(const std::vector<core::Card>& cards, const core::LinkMatrix& links) {
  std::string text = dialect::inventory_text(cards, links);
  if (text_ == text) return;
  text_ = std::move(text);
  unreadable_ = false;
  write_soon();
}

void Reporter::set_unreadable() {
  if (std::exchange(unreadable_, true)) return;
  text_.reset();
  write_soon();
}

// Cards that alternate between healthy and unhealthy are not written each time.
void Reporter::write_soon() {
  if (!there_ || under_way_) return;
  const net::Duration since = loop_.now() - wrote_;
  const bool first = wrote_ == net::Moment{};
  go_on(first || since >= options_.spacing ? net::Duration{0} : options_.spacing - since);
}

std::optional<std::string> Reporter::wanted() const {
  if (text_ || !unreadable_ || !there_ || there_->empty()) return text_;
  return all_unhealthy(*there_);
}

// One step at a time: write if there is something to write, otherwise read.
void Reporter::go_on(net::Duration pause) {
  timer_.start(pause, [this] {
    const auto text = wanted();
    if (there_ && text && *text != *there_) {
      write();
    } else {
      look();
    }
  });
}

void Reporter::look() {
  under_way_ = true;
  access_.call({.what = "read node " + options_.node,
                .method = "GET",
                .target = "/api/v1/nodes/" + net::percent_encode(options_.node)},
               [this](const kube::ObjectOutcome& outcome) { looked(outcome); });
}

void Reporter::looked(const kube::ObjectOutcome& outcome) {
  under_way_ = false;
  if (outcome.result != kube::ObjectResult::done) return failed(outcome.message);
  const auto node = decoder_.node(outcome.body);
  if (!node) return failed(node.error().message);
  const auto said = node->annotations.find(std::string(dialect::kInventoryAnnotation));
  there_ = said == node->annotations.end() ? "" : said->second;
  const auto text = wanted();
  snapshot_.written = text && *text == *there_;
  snapshot_.trouble.clear();
  backoff_.reset();
  go_on(text && *text != *there_ ? net::Duration{0} : backoff_.spread(options_.look_every));
}

void Reporter::write() {
  under_way_ = true;
  std::string text = *wanted();
  access_.call(
      {.what = "write the cards of node " + options_.node,
       .target = "/api/v1/nodes/" + net::percent_encode(options_.node),
       .body = annotation_patch(text)},
      [this, text](const kube::ObjectOutcome& outcome) {
        under_way_ = false;
        if (outcome.result != kube::ObjectResult::done) return failed(outcome.message);
        there_ = text;
        wrote_ = loop_.now();
        ++snapshot_.writes;
        snapshot_.written = true;
        snapshot_.trouble.clear();
        backoff_.reset();
        log_.info("the cards are written to the node's annotation", {{"node", options_.node}});
        // A newer state is written next; otherwise there is time.
        const auto next = wanted();
        go_on(next && *next != text ? options_.spacing : backoff_.spread(options_.look_every));
      });
}

void Reporter::failed(const std::string& why) {
  ++snapshot_.failures;
  snapshot_.written = false;
  if (snapshot_.trouble != why) {
    log_.warn("cannot write the cards to the node's annotation",
              {{"node", options_.node}, {"why", why}});
  }
  snapshot_.trouble = why;
  go_on(backoff_.next());
}

}  // namespace stowage::agent
