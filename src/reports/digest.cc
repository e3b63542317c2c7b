#include "reports/digest.h"

#include <algorithm>
#include <utility>

namespace stowage::reports {
namespace {

dialect::KubeletWord word_of(const codec::ReportedPod& pod) {
  dialect::KubeletWord word;
  for (const auto& container : pod.containers) {
    for (const auto& devices : container.devices) {
      auto& ids = word[container.name];
      ids.insert(ids.end(), devices.ids.begin(), devices.ids.end());
    }
  }
  return word;
}

}  // namespace

Digest::Digest(net::EventLoop& loop, Book& book, DigestOptions options, Send send)
    : book_(book), options_(options), send_(std::move(send)), timer_(loop) {
  book.listen([this](const NodePage& page, const PageChange& change) { note(page, change); });
}

void Digest::note(const NodePage& page, const PageChange& change) {
  if (book_.page(page.node) == nullptr) {  // forgotten
    dirty_.erase(page.node);
    return;
  }
  Dirty& dirty = dirty_[page.node];
  dirty.health = dirty.health || change.health;
  dirty.load = dirty.load || change.load || change.cards;
  dirty.pods.insert(change.pods_now.begin(), change.pods_now.end());
  dirty.pods.insert(change.pods_gone.begin(), change.pods_gone.end());
  send_within(options_.every);
}

void Digest::tell(const std::string& node) {
  if (const NodePage* page = book_.page(node)) mark(*page);
}

void Digest::tell_all() {
  for (const NodePage* page : book_.pages()) mark(*page);
}

void Digest::mark(const NodePage& page) {
  Dirty& dirty = dirty_[page.node];
  dirty.health = dirty.load = true;
  for (const auto& [name, pod] : page.pods) dirty.pods.insert(name);
  send_within(net::Duration{0});
}

void Digest::send_within(net::Duration time) {
  if (!std::exchange(due_, true)) timer_.start(time, [this] { flush(); });
}

void Digest::flush() {
  std::vector<NodeNews> parcel;
  while (!dirty_.empty() && parcel.size() < options_.nodes_max) {
    const auto first = dirty_.begin();
    parcel.push_back(news_of(*book_.page(first->first), first->second));
    dirty_.erase(first);
  }
  due_ = !dirty_.empty();
  // More waits: others have their turn first.
  if (due_) timer_.start(std::chrono::milliseconds{1}, [this] { flush(); });
  if (!parcel.empty()) send_(std::move(parcel));
}

NodeNews Digest::news_of(const NodePage& page, const Dirty& dirty) {
  NodeNews news{.node = page.node};
  if (dirty.health) news.silent = page.silent;
  for (const std::string& name : dirty.pods) {
    const auto found = page.pods.find(name);
    if (found == page.pods.end()) {
      news.gone.push_back(name);
    } else {
      news.pods.push_back({.name = name, .word = word_of(found->second)});
    }
  }
  if (!dirty.load) return news;
  news.load_told = true;
  for (const auto& card : page.cards) {
    const auto load = page.load.find(card.index);
    if (load == page.load.end() || !load->second.values.busy_permille) continue;
    news.measured = news.busy.empty() ? load->second.at : std::min(news.measured, load->second.at);
    news.busy.push_back({.card = card.id, .permille = *load->second.values.busy_permille});
  }
  return news;
}

}  // namespace stowage::reports
