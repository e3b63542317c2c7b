#include "core/record/decision.h"

#include "core/record/archive.h"

namespace stowage::core {

template <typename Archive>
void fields(Archive& a, Resources& r) {
  a(r.cpu_milli, r.memory_bytes, r.ephemeral_bytes, r.pods, r.extended);
}
template <typename Archive>
void fields(Archive& a, Card& c) {
  a(c.id, c.index, c.model, c.memory_mib, c.slots, c.healthy, c.numa);
}
template <typename Archive>
void fields(Archive& a, LinkMatrix& m) {
  a(m.cards, m.score);
}
template <typename Archive>
void fields(Archive& a, NodeSpec& n) {
  a(n.name, n.allocatable, n.cards, n.links, n.schedulable, n.labels, n.taints, n.offers, n.rank,
    n.plugin_missing);
}
template <typename Archive>
void fields(Archive& a, Taint& t) {
  a(t.key, t.value, t.effect);
}
template <typename Archive>
void fields(Archive& a, Toleration& t) {
  a(t.key, t.op, t.value, t.effect);
}
template <typename Archive>
void fields(Archive& a, Requirement& r) {
  a(r.key, r.op, r.values);
}
template <typename Archive>
void fields(Archive& a, NodeTerm& t) {
  a(t.labels, t.fields);
}
template <typename Archive>
void fields(Archive& a, PreferredNodes& p) {
  a(p.weight, p.term);
}
template <typename Archive>
void fields(Archive& a, NodeRules& r) {
  a(r.selector, r.required, r.preferred, r.tolerations);
}
template <typename Archive>
void fields(Archive& a, CardFilter& f) {
  a(f.model_match, f.models_any, f.models_none, f.ids_any, f.ids_none);
}
template <typename Archive>
void fields(Archive& a, GpuRequest& g) {
  a(g.count, g.milli, g.memory_mib, g.filter, g.topology);
}
template <typename Archive>
void fields(Archive& a, ContainerSpec& c) {
  a(c.name, c.phase, c.resources, c.gpu);
}
template <typename Archive>
void fields(Archive& a, PolicyWish& w) {
  a(w.node, w.card, w.weighted);
}
template <typename Archive>
void fields(Archive& a, QuotaBounds& b) {
  a(b.by_node, b.model_label, b.models, b.pool_label, b.pools, b.spent);
}
template <typename Archive>
void fields(Archive& a, PodSpec& p) {
  a(p.uid, p.name, p.priority, p.containers, p.overhead, p.pod_cpu_milli, p.pod_memory_bytes,
    p.pod_hugepages, p.rules, p.needs, p.wish, p.naming, p.bounds, p.cards_only);
}
template <typename Archive>
void fields(Archive& a, CardShare& s) {
  a(s.card, s.milli, s.memory_mib);
}
template <typename Archive>
void fields(Archive& a, NamedShare& s) {
  a(s.card, s.milli, s.memory_mib);
}
template <typename Archive>
void fields(Archive& a, NamedAssignment& s) {
  a(s.containers);
}
template <typename Archive>
void fields(Archive& a, Assignment& s) {
  a(s.containers);
}
template <typename Archive>
void fields(Archive& a, PlacedPod& p) {
  a(p.pod, p.node, p.cards);
}
template <typename Archive>
void fields(Archive& a, TypicalPod& t) {
  a(t.cpu_milli, t.milli, t.cards, t.models_any, t.frequency);
}
template <typename Archive>
void fields(Archive& a, PolicyChoice& c) {
  a(c.node, c.card);
}
template <typename Archive>
void fields(Archive& a, PolicyOptions& o) {
  a(o.choice, o.seed, o.hold_back, o.memory_duals, o.profile_weights, o.typical);
}
template <typename Archive>
void fields(Archive& a, CardValue& v) {
  v.archive(a);
}
template <typename Archive>
void fields(Archive& a, PriceModel& m) {
  a(m.version, m.value, m.memory_value, m.cards_per_cpu_milli, m.cards_per_memory_byte, m.weight,
    m.convex, m.blocks, m.fullest_first);
}
template <typename Archive>
void fields(Archive& a, Blocks::GroupState& g) {
  a(g.cards, g.classes, g.cpu_milli, g.memory_bytes, g.fill, g.use, g.quota);
}
template <typename Archive>
void fields(Archive& a, Blocks::State& s) {
  a(s.groups, s.drains);
}
template <typename Archive>
void fields(Archive& a, LearnedState& l) {
  a(l.price, l.class_node, l.memory_mib, l.blocks, l.group);
}
template <typename Archive>
void fields(Archive& a, DecisionRecord& r) {
  a(r.options, r.nodes, r.busy, r.pods, r.learned, r.draw, r.pod, r.barred, r.outcome);
}
template <typename Archive>
void fields(Archive& a, ReasonCount& c) {
  a(c.code, c.nodes, c.asked, c.best, c.best_only, c.what);
}
template <typename Archive>
void fields(Archive& a, QuotaExcess& e) {
  a(e.model, e.unit, e.asked, e.used, e.allowed);
}
template <typename Archive>
void fields(Archive& a, Refusal& r) {
  a(r.nodes, r.counts, r.on_any_node, r.quota, r.kept_cards, r.kept_for, r.making_room_on,
    r.victims);
}

namespace {

const std::string kMagic = "stowage-decision";
constexpr std::int32_t kFormat = 7;

}  // namespace

std::string to_text(const DecisionRecord& record) {
  RecordWriter writer;
  writer(kMagic, kFormat, record);
  return writer.take();
}

Result<DecisionRecord> parse_decision(std::string_view text) {
  RecordReader reader(text);
  std::string magic;
  std::int32_t format = 0;
  reader(magic, format);
  if (reader.failed() || magic != kMagic) return fail("this is not a recorded decision");
  if (format != kFormat) {
    return fail("the decision is recorded in format " + std::to_string(format) +
                "; this program reads format " + std::to_string(kFormat));
  }
  DecisionRecord record;
  reader(record);
  if (reader.failed()) return fail("the recorded decision is damaged or cut off");
  return record;
}

std::string to_text(const Commands& commands) {
  RecordWriter writer;
  for (const auto& command : commands) {
    if (const auto* bind = std::get_if<Bind>(&command)) {
      writer(std::string("bind"), bind->uid, bind->node, bind->cards);
      for (const ClaimStep& step : bind->claims) writer(step.claim, step.volume);
    } else if (const auto* refuse = std::get_if<Refuse>(&command)) {
      writer(std::string("refuse"), refuse->uid, refuse->refusal);
    } else if (const auto* reject = std::get_if<Reject>(&command)) {
      writer(std::string("reject"), reject->subject, reject->why);
    } else if (const auto* evict = std::get_if<Evict>(&command)) {
      writer(std::string("evict"), evict->uid, evict->by, evict->node);
    } else if (const auto* nominate = std::get_if<Nominate>(&command)) {
      writer(std::string("nominate"), nominate->uid, nominate->node, nominate->cards,
             nominate->wanted, nominate->preempts);
    } else if (const auto* ask = std::get_if<AskPicker>(&command)) {
      writer(std::string("pick"), ask->uid, ask->generation);
      for (const Candidate& candidate : ask->candidates) writer(candidate.node, candidate.cost);
    }
  }
  return writer.take();
}

PlacedPod to_placed_pod(const PodRecord& record, const NodeSpec& node) {
  PlacedPod placed{.pod = {.uid = record.uid, .name = record.name}, .node = node.name};
  auto& containers = placed.pod.containers;
  containers.push_back({.name = "all", .resources = record.resources});
  if (!record.cards_known()) {
    for (const UnnamedRequest& ask : record.asks) {
      containers.push_back(
          {.name = "unnamed",
           .phase = ask.phase,
           .gpu = {.count = ask.count, .milli = ask.milli, .memory_mib = ask.memory_mib}});
    }
    return placed;
  }
  Assignment cards;
  cards.containers.resize(1);
  const auto add = [&](const CardCharge& charge, std::uint32_t card) {
    for (std::int32_t slot = 0; slot < charge.slots; ++slot) {
      const bool first = slot == 0;
      cards.containers[0].push_back({.card = card,
                                     .milli = first ? charge.milli : 0,
                                     .memory_mib = first ? charge.memory_mib : 0});
    }
  };
  for (const auto& charge : record.charges) add(charge, charge.card);
  // Positions that no node has: charged like cards that disappeared.
  std::uint32_t beyond = kMaxCardsPerNode;
  for (const auto& lost : record.orphans) {
    if (may_be_shown(lost, node)) add(lost.charge, beyond++);
  }
  placed.cards = std::move(cards);
  return placed;
}

}  // namespace stowage::core
