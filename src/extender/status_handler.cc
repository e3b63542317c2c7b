#include "extender/status_handler.h"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/json_writer.h"
#include "core/engine/engine.h"

namespace stowage::extender {
namespace {

using base::JsonWriter;

constexpr std::size_t kRefusalsShown = 100;
constexpr int kMilliPerPercent = 10;

struct CardStatus {
  std::int32_t milli_free = 0;
  std::int32_t memory_free = 0;  // MiB
  std::int32_t memory = 0;       // MiB
};
using CardsByNode = std::map<std::string, std::vector<CardStatus>>;

// Percent and MiB of each card, by node, in the format of elastic-gpu-scheduler.
std::string cards_text(const CardsByNode& nodes) {
  JsonWriter json(JsonWriter::Style::compact);
  json.begin_object();
  for (const auto& [node, cards] : nodes) {
    json.key(node).begin_array();
    for (const auto& card : cards) {
      json.begin_object();
      json.key("CoreAvailable").value(card.milli_free / kMilliPerPercent);
      json.key("MemoryAvailable").value(card.memory_free);
      json.key("CoreTotal").value(100);
      json.key("MemoryTotal").value(card.memory);
      json.end_object();
    }
    json.end_array();
  }
  json.end_object();
  return json.take();
}

CardsByNode cards_of(const core::Ledger& ledger) {
  CardsByNode cards;
  for (std::size_t n = 0; n < ledger.nodes().rows(); ++n) {
    const core::NodeIndex node(n);
    if (!ledger.nodes().present(node) || ledger.nodes().spec(node).cards.empty()) continue;
    auto& of_node = cards[ledger.nodes().spec(node).name];
    const auto states = ledger.nodes().cards(node);
    for (std::size_t c = 0; c < states.size(); ++c) {
      of_node.push_back({.milli_free = states[c].milli_free,
                         .memory_free = states[c].memory_free_mib,
                         .memory = ledger.nodes().spec(node).cards[c].memory_mib});
    }
  }
  return cards;
}

}  // namespace

struct StatusHandler::StatusCall : Call {
  explicit StatusCall(Call call) : Call(std::move(call)) {}
  CardsByNode cards;
};

void StatusHandler::handle(Call request) {
  context_.on_engine(
      std::make_shared<StatusCall>(std::move(request)),
      [](StatusCall& on, const scheduler::EventQueue::EngineAccess& access) {
        on.cards = cards_of(access.engine.ledger());
      },
      [this](const std::shared_ptr<StatusCall>& done) { answer(*done); });
}

void StatusHandler::answer(const StatusCall& call) {
  const std::string cards = cards_text(call.cards);
  JsonWriter json(JsonWriter::Style::compact);
  json.begin_object();
  for (const char* resource : {"elasticgpu.io/gpu-core", "elasticgpu.io/gpu-memory"}) {
    json.key(resource).value(cards);
  }
  json.key("stowage.dev/refused").begin_array();
  std::size_t shown = 0;
  for (const auto& [uid, external] : external_pods_.entries()) {
    if (external.told.empty() || shown++ >= kRefusalsShown) continue;
    json.begin_object();
    json.key("pod").value(external.object.ns + "/" + external.object.name);
    json.key("reason").value(external.told);
    json.end_object();
  }
  json.end_array().end_object();
  context_.send_json(call, json.take());
}

}  // namespace stowage::extender
