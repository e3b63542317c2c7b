// status: what every card has left, and why pods were refused lately.
#include <utility>

#include "base/json_writer.h"
#include "extender/call.h"

namespace stowage::extender {
namespace {

using base::JsonWriter;

constexpr std::size_t kRefusalsShown = 100;
constexpr int kMilliPerPercent = 10;

// As elastic-gpu-scheduler had it: percent and MiB of each card, by node.
template <typename Cards>
std::string cards_text(const Cards& cards) {
  JsonWriter json(JsonWriter::Style::compact);
  json.begin_object();
  for (const auto& [node, lines] : cards) {
    json.key(node).begin_array();
    for (const auto& line : lines) {
      json.begin_object();
      json.key("CoreAvailable").value(line.milli_free / kMilliPerPercent);
      json.key("MemoryAvailable").value(line.memory_free);
      json.key("CoreTotal").value(100);
      json.key("MemoryTotal").value(line.memory);
      json.end_object();
    }
    json.end_array();
  }
  json.end_object();
  return json.take();
}

}  // namespace

void Extender::status(const CallPtr& call) {
  on_engine(
      call,
      [](Call& on, const scheduler::Mailbox::Hearing& hearing) {
        const core::Ledger& ledger = hearing.engine.ledger();
        for (std::size_t n = 0; n < ledger.node_slots(); ++n) {
          const core::NodeIndex node(n);
          if (!ledger.present(node) || ledger.spec(node).cards.empty()) continue;
          auto& lines = on.cards[ledger.spec(node).name];
          const auto states = ledger.cards(node);
          for (std::size_t c = 0; c < states.size(); ++c) {
            lines.push_back({.milli_free = states[c].milli_free,
                             .memory_free = states[c].memory_free_mib,
                             .memory = ledger.spec(node).cards[c].memory_mib});
          }
        }
      },
      [this](const CallPtr& done) {
        const std::string cards = cards_text(done->cards);
        JsonWriter json(JsonWriter::Style::compact);
        json.begin_object();
        for (const char* resource : {"elasticgpu.io/gpu-core", "elasticgpu.io/gpu-memory"}) {
          json.key(resource).value(cards);
        }
        json.key("stowage.dev/refused").begin_array();
        std::size_t shown = 0;
        for (const auto& [uid, guest] : guests_.entries()) {
          if (guest.told.empty() || shown++ >= kRefusalsShown) continue;
          json.begin_object();
          json.key("pod").value(guest.object.ns + "/" + guest.object.name);
          json.key("reason").value(guest.told);
          json.end_object();
        }
        json.end_array().end_object();
        send_json(done, json.take());
      });
}

}  // namespace stowage::extender
