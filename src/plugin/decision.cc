#include "plugin/decision.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "dialect/decided_cards.h"
#include "dialect/decision.h"
#include "dialect/own_annotations.h"
#include "plugin/device_ids.h"

namespace stowage::plugin {
namespace {

using Kind = DecisionAnswer::Kind;

constexpr std::size_t kShown = 64;

DecisionAnswer wrong(std::string why) { return {.kind = Kind::wrong, .decision = {}, .why = why}; }

std::string name_of(const dialect::PodObject& pod) { return pod.ns + "/" + pod.name; }

// The share of the container that is charged for the card.
mps::Share share_of(const dialect::DecidedCards& pod, const dialect::DecidedCard& card) {
  const auto charged = [](const dialect::DecidedCard& each) {
    return each.milli != 0 || each.memory_mib != 0;
  };
  const dialect::DecidedCard* counts = &card;
  for (const auto& [name, cards] : pod.containers) {
    if (charged(*counts)) break;
    for (const dialect::DecidedCard& each : cards) {
      if (each.id == card.id && charged(each)) counts = &each;
    }
  }
  return {.milli = counts->milli, .memory_mib = counts->memory_mib};
}

DecisionAnswer from_signed(const DecisionQuestion& ask, const std::string& text,
                           std::int64_t decided_nanos) {
  auto decided = dialect::parse_decided_cards(text);
  if (!decided) {
    return wrong(fmt::format("the annotation {} of pod {} cannot be read: {}",
                             dialect::kGpusAnnotation, name_of(ask.pod), decided.error().message));
  }
  if (decided->node != ask.node) {
    return wrong(fmt::format("the cards of pod {} were chosen for node {}, not for {}",
                             name_of(ask.pod), decided->node.substr(0, kShown), ask.node));
  }
  const auto found = decided->containers.find(std::string(ask.container));
  if (found == decided->containers.end()) {
    return wrong(
        fmt::format("no cards were chosen for container {} of pod {}: it must not request {}",
                    ask.container, name_of(ask.pod), kAttachment));
  }
  DecisionAnswer answer{.kind = Kind::decided, .decision = {}, .why = {}};
  answer.decision.decided_nanos = decided_nanos;
  for (const dialect::DecidedCard& card : found->second) {
    answer.decision.cards.push_back(card.id);
    answer.decision.shares.push_back(share_of(*decided, card));
  }
  return answer;
}

}  // namespace

DecisionAnswer decision_for(const DecisionQuestion& ask, const kube::Keyring& keys) {
  using Seal = kube::SealCheck::Result;
  const dialect::PodObject& pod = ask.pod;
  if (pod.node != ask.node) {
    return wrong(fmt::format("pod {} is on node {}, not on {}", name_of(pod),
                             pod.node.empty() ? "none" : pod.node, ask.node));
  }
  const auto text = pod.annotations.find(std::string(dialect::kGpusAnnotation));
  if (text == pod.annotations.end()) {
    return wrong(fmt::format(
        "Stowage chose no cards for pod {}: it has no annotation {}. Its scheduler must be a "
        "profile of Stowage, or one that asks Stowage's extender",
        name_of(pod), dialect::kGpusAnnotation));
  }
  const kube::SealCheck seal = kube::check_seal(keys, pod, ask.node);
  switch (seal.result) {
    case Seal::good: break;
    case Seal::unknown:
      return {.kind = Kind::unknown_key,
              .decision = {},
              .why = fmt::format("the cards of pod {} are signed with a key that is not in the "
                                 "ConfigMap of the signing keys",
                                 name_of(pod))};
    case Seal::none:
      return wrong(fmt::format("the annotation {} of pod {} has no signature of the controller",
                               dialect::kGpusAnnotation, name_of(pod)));
    case Seal::bad:
      return wrong(
          fmt::format("the annotation {} of pod {} is not what the controller signed for "
                      "this pod on node {}: it was edited or copied",
                      dialect::kGpusAnnotation, name_of(pod), ask.node));
  }
  if (seal.purpose != dialect::Purpose::bound && seal.purpose != dialect::Purpose::pre_allocation) {
    return wrong(fmt::format("the cards of pod {} were withdrawn", name_of(pod)));
  }
  return from_signed(ask, text->second, seal.unix_nanos);
}

std::optional<std::string> card_trouble(const std::vector<std::string>& ids,
                                        const std::vector<core::Card>& cards,
                                        std::string_view node) {
  for (const std::string& id : ids) {
    const auto card = std::find_if(cards.begin(), cards.end(),
                                   [&](const core::Card& each) { return each.id == id; });
    if (card == cards.end()) {
      return fmt::format("node {} has no card {} any more", node, id.substr(0, kShown));
    }
    if (!card->healthy) return fmt::format("card {} of node {} is unhealthy", id, node);
  }
  return std::nullopt;
}

}  // namespace stowage::plugin
