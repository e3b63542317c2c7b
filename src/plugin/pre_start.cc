#include "plugin/pre_start.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "plugin/decision.h"

namespace stowage::plugin {
namespace {

constexpr std::chrono::seconds kFetchAgain{5};
constexpr std::size_t kIdsShown = 4;

std::string shown(const Ids& ids) {
  if (ids.size() <= kIdsShown) return base::join(ids);
  const Ids first(ids.begin(), ids.begin() + kIdsShown);
  return fmt::format("{} and {} more", base::join(first), ids.size() - kIdsShown);
}

bool disjoint(const Ids& a, const Ids& b) {
  return std::none_of(a.begin(), a.end(), [&](const std::string& id) {
    return std::binary_search(b.begin(), b.end(), id);
  });
}

}  // namespace

PreStart::PreStart(PreStartDeps& deps, const PreStartOptions& options, Ask ask, Done done)
    : deps_(deps),
      options_(options),
      ask_(std::move(ask)),
      done_(std::move(done)),
      timer_(deps.loop),
      end_timer_(deps.loop),
      pauses_(options.look_min, options.look_max) {}

PreStart::~PreStart() = default;

void PreStart::start() {
  began_ = deps_.loop.now();
  end_timer_.start(options_.patience, [this] {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(options_.patience);
    finish(Outcome::timed_out, fmt::format("after {} seconds {}", seconds.count(), waits_for_));
  });
  timer_.start(net::Duration{0}, [this] { look(); });
}

void PreStart::look_soon() {
  if (!finished_) timer_.start(net::Duration{0}, [this] { look(); });
}

void PreStart::look() {
  if (finished_) return;
  Step next = step();
  switch (next.kind) {
    case Step::Kind::ready: return finish(Outcome::prepared, {});
    case Step::Kind::wrong: return finish(Outcome::refused, std::move(next.why));
    case Step::Kind::wait: break;
  }
  waits_for_ = std::move(next.why);
  timer_.start(pauses_.next(), [this] { look(); });
}

void PreStart::finish(Outcome outcome, std::string why) {
  finished_ = true;
  end_timer_.cancel();
  const net::Duration pause =
      outcome == Outcome::prepared && wrote_ ? options_.settle : net::Duration{0};
  timer_.start(pause, [this, end = End{outcome, std::move(why)}] {
    const Done done = std::move(done_);
    done(end);
  });
}

PreStart::Step PreStart::step() {
  if (Step found = find_candidates(); found.kind != Step::Kind::ready) return found;
  if (Step confirmed = confirm(); confirmed.kind != Step::Kind::ready) return confirmed;
  // A pod that has ended may stay in the file for a while, beside the one that has its devices now.
  const bool any = std::any_of(candidates_.begin(), candidates_.end(),
                               [](const Candidate& each) { return each.on_node; });
  for (const Candidate& candidate : candidates_) {
    if (any && !candidate.on_node) continue;
    const Record* record = deps_.records.find(candidate.name);
    const bool given = record->given.has_value();
    if (Step decided = decide(candidate); decided.kind != Step::Kind::ready) return decided;
    if (Step prepared = prepare(candidate, given); prepared.kind != Step::Kind::ready) {
      return prepared;
    }
  }
  return {};
}

// ---- who holds the devices

PreStart::Step PreStart::find_candidates() {
  candidates_.clear();
  const auto checkpoint = deps_.checkpoint.read();
  if (!checkpoint) return wait(checkpoint.error().message);
  for (const CheckpointEntry& entry : (*checkpoint)->entries) {
    if (entry.resource != ask_.resource || entry.ids != ask_.ids) continue;
    if (Step checked = check_entry(entry); checked.kind != Step::Kind::ready) return checked;
  }
  if (!candidates_.empty()) return {};
  return wait(fmt::format("the kubelet's checkpoint has no container with exactly the devices {}",
                          shown(ask_.ids)));
}

PreStart::Step PreStart::check_entry(const CheckpointEntry& entry) {
  std::vector<std::string_view> names;
  for (const std::string& device : entry.cdi_devices) {
    if (const auto name = own_name(device); !name.empty()) names.push_back(name);
  }
  const std::string who = fmt::format("container {} of pod {}", entry.container, entry.pod_uid);
  if (names.size() != 1) {
    return wrong(
        fmt::format("{} was not allocated by this plugin; delete the pod, so that it is "
                    "created again",
                    who));
  }
  Candidate candidate{
      .pod_uid = entry.pod_uid, .container = entry.container, .name = std::string(names.front())};
  const Record* record = deps_.records.find(candidate.name);
  if (record == nullptr || record->resource != entry.resource || record->ids != entry.ids) {
    return wrong(
        fmt::format("the agent has no record of CDI device {} of {}: its state was lost; "
                    "delete the pod, so that it is created again",
                    candidate.name, who));
  }
  candidate.on_node = pod_of(candidate) != nullptr;
  candidates_.push_back(std::move(candidate));
  return {};
}

const dialect::PodObject* PreStart::pod_of(const Candidate& candidate) const {
  if (const dialect::PodObject* pod = deps_.view.pod(candidate.pod_uid)) return pod;
  const auto found = fetched_.find(candidate.pod_uid);
  return found == fetched_.end() ? nullptr : &found->second;
}

// Podresources is the kubelet's memory, the checkpoint its file. Without an answer the file counts
// alone.
PreStart::Step PreStart::confirm() {
  if (!deps_.view.lists_holders()) return {};
  if (listing_ == Listing::not_asked) list_holders();
  if (listing_ == Listing::asked) {
    if (deps_.loop.now() < list_due_) return wait("the kubelet has not listed its devices");
    listing_ = Listing::failed;
  }
  if (listing_ == Listing::failed) return {};
  for (const Holder& holder : holders_) {
    Step checked = check_holder(holder);
    if (checked.kind == Step::Kind::ready) continue;
    listing_ = Listing::not_asked;  // ask again with the next look
    return checked;
  }
  return {};
}

PreStart::Step PreStart::check_holder(const Holder& holder) const {
  if (holder.resource != ask_.resource || disjoint(holder.ids, ask_.ids)) return {};
  for (const Candidate& candidate : candidates_) {
    const dialect::PodObject* pod = pod_of(candidate);
    const bool same = candidate.container == holder.container && holder.ids == ask_.ids &&
                      (pod == nullptr || (pod->ns == holder.ns && pod->name == holder.pod));
    if (same) return {};
  }
  return wait(
      fmt::format("the kubelet lists the devices {} for container {} of pod {}/{}, but its "
                  "checkpoint has container {} of pod {}",
                  shown(ask_.ids), holder.container, holder.ns, holder.pod,
                  candidates_.front().container, candidates_.front().pod_uid));
}

void PreStart::list_holders() {
  listing_ = Listing::asked;
  list_due_ = deps_.loop.now() + options_.list_wait;
  deps_.view.list_holders(
      [this, alive = std::weak_ptr<bool>(alive_)](Result<std::vector<Holder>> holders) {
        if (alive.expired() || listing_ != Listing::asked) return;
        listing_ = holders ? Listing::known : Listing::failed;
        if (holders) holders_ = *std::move(holders);
        look_soon();
      });
}

// ---- what was decided for it

PreStart::Step PreStart::decide(const Candidate& candidate) {
  const Record& record = *deps_.records.find(candidate.name);
  if (record.given) {
    if (record.given->pod_uid == candidate.pod_uid &&
        record.given->container == candidate.container) {
      return {};
    }
    return wrong(
        fmt::format("CDI device {} was given to container {} of pod {}/{}, and is not "
                    "given to another one",
                    candidate.name, record.given->container, record.given->ns, record.given->pod));
  }
  const dialect::PodObject* pod = pod_of(candidate);
  if (pod == nullptr) {
    fetch_pods();
    const std::string trouble = deps_.view.pods_trouble();
    return wait(fmt::format("pod {} is not known from the API server{}{}", candidate.pod_uid,
                            trouble.empty() ? "" : ": ", trouble));
  }
  const kube::Keys keys = deps_.view.keys().keys();
  if (!keys) return wait(deps_.view.keys().trouble());
  DecisionAnswer answer =
      decision_for({.pod = *pod, .container = candidate.container, .node = deps_.node}, *keys);
  if (answer.kind == DecisionAnswer::Kind::wrong) return wrong(std::move(answer.why));
  if (answer.kind == DecisionAnswer::Kind::unknown_key) {
    (void)deps_.view.keys().look_soon();
    return wait(std::move(answer.why));
  }
  const NodeCards here = deps_.view.cards();
  if (!here.known) return wait(here.trouble);
  if (auto trouble = card_trouble(answer.decision.cards, here.cards, deps_.node)) {
    return wrong(*std::move(trouble));
  }
  const Status recorded =
      deps_.records.give(candidate.name, {.pod_uid = candidate.pod_uid,
                                          .ns = pod->ns,
                                          .pod = pod->name,
                                          .container = candidate.container,
                                          .cards = std::move(answer.decision.cards),
                                          .shares = std::move(answer.decision.shares),
                                          .decided_nanos = answer.decision.decided_nanos});
  if (!recorded) return wrong("the agent cannot record the cards: " + recorded.error().message);
  return {};
}

namespace {

std::vector<CardShare> shares_of(const GivenCards& given, const std::vector<core::Card>& cards) {
  std::vector<CardShare> out;
  for (std::size_t i = 0; i < given.cards.size(); ++i) {
    CardShare& share = out.emplace_back(CardShare{.id = given.cards[i]});
    // What was recorded before shares were counts as whole.
    const bool known = i < given.shares.size();
    share.milli = known ? given.shares[i].milli : core::kMilliPerCard;
    share.memory_mib = known ? given.shares[i].memory_mib : 0;
    const auto card = std::find_if(cards.begin(), cards.end(),
                                   [&](const core::Card& each) { return each.id == share.id; });
    if (card != cards.end()) share.card_memory_mib = card->memory_mib;
  }
  return out;
}

}  // namespace

PreStart::Step PreStart::prepare(const Candidate& candidate, bool given_before) {
  const GivenCards& given = *deps_.records.find(candidate.name)->given;
  const NodeCards here = deps_.view.cards();
  if (!here.known) return wait(here.trouble);
  if (auto trouble = card_trouble(given.cards, here.cards, deps_.node)) {
    return wrong(*std::move(trouble));
  }
  std::vector<CardNames> cards;
  for (const std::string& id : given.cards) {
    const auto names = std::find_if(here.names.begin(), here.names.end(),
                                    [&](const CardNames& each) { return each.id == id; });
    cards.push_back(names == here.names.end() ? CardNames{.id = id} : *names);
  }
  const auto isolation = plan_isolation(
      shares_of(given, here.cards), {.mps_root = deps_.mps_root, .unix_now = deps_.unix_seconds()});
  if (!isolation) return wait(isolation.error().message);
  const auto written = deps_.injection.prepare(
      {.device = candidate.name, .cards = cards, .more = isolation->edits, .keep = given_before});
  if (!written) return wrong(written.error().message);
  wrote_ = wrote_ || *written;
  if (*written) {
    ++deps_.isolations[isolation->level];
    deps_.log.info("container gets its cards",
                   {{"pod", given.ns + "/" + given.pod},
                    {"container", given.container},
                    {"cards", base::join(given.cards)},
                    {"isolation", std::string(to_string(isolation->level))},
                    {"device", candidate.name}});
  }
  return {};
}

// Only a container that podresources lists can be found by its name.
void PreStart::fetch_pods() {
  const net::Moment now = deps_.loop.now();
  const bool soon = now - began_ < options_.fetch_after;
  if (fetching_ || soon || (fetched_at_ != net::Moment{} && now - fetched_at_ < kFetchAgain))
    return;
  const auto holder = std::find_if(holders_.begin(), holders_.end(), [&](const Holder& each) {
    return each.resource == ask_.resource && each.ids == ask_.ids;
  });
  if (holder == holders_.end()) return;
  fetching_ = true;
  fetched_at_ = now;
  deps_.view.fetch_pod({.ns = holder->ns, .name = holder->pod},
                       [this, alive = std::weak_ptr<bool>(alive_)](Result<dialect::PodObject> pod) {
                         if (alive.expired()) return;
                         fetching_ = false;
                         if (!pod) return;
                         std::string uid = pod->uid;
                         fetched_.insert_or_assign(std::move(uid), *std::move(pod));
                         look_soon();
                       });
}

}  // namespace stowage::plugin
