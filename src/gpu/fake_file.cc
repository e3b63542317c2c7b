#include "gpu/fake_file.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/nearest.h"
#include "base/rng.h"
#include "gpu/fake_yaml.h"

namespace stowage::gpu {
namespace {

constexpr std::int64_t kMostCards = core::kMaxCardsPerNode;
constexpr std::size_t kMostInstances = 16;  // of one card
constexpr std::size_t kMostProcesses = 1024;
constexpr std::size_t kMostFaults = 64;
constexpr std::int64_t kMostIndex = 99;  // gpu/card_list.h uses higher ones for instances
constexpr std::int64_t kMostNvlinks = 100;
constexpr std::int64_t kMostScore = 1'000'000;
constexpr std::int64_t kMostNumber = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kMostPermille = 1000;
constexpr std::int64_t kMostMilliwatts = 100'000'000;
constexpr std::int64_t kMostCelsius = 200;

struct Instance {
  CardInfo card;
  CardSample sample;
  std::vector<Fault> faults;
};

struct FakeCard {
  CardInfo card;
  CardSample sample;
  std::vector<Fault> faults;
  bool absent = false;
  bool lost = false;
  bool divided = false;
  std::vector<Instance> instances;
};

template <typename Number>
void put(std::optional<Number>& to, std::optional<std::int64_t> from) {
  if (from) to = static_cast<Number>(*from);
}
template <typename Number>
void put(Number& to, std::optional<std::int64_t> from) {
  if (from) to = static_cast<Number>(*from);
}
void put(std::string& to, std::optional<std::string> from) {
  if (from) to = *std::move(from);
}

class Reader {
 public:
  explicit Reader(std::string node) : node_(std::move(node)) {}

  void read(YamlFields& top);
  [[nodiscard]] FakeCards take();

 private:
  FakeCard made_up(std::int32_t index) const;
  void read_card(YamlFields& fields, std::int32_t index);
  static void read_about(YamlFields& fields, CardInfo& card);
  static void read_load(YamlFields& fields, CardSample& sample);
  static void read_sensors(YamlFields& fields, CardSample& sample);
  static void read_faults(YamlFields& fields, std::vector<Fault>& faults);
  void read_instance(YamlFields& fields, FakeCard& card) const;
  void check_ids(YamlFields& top) const;
  void read_links(YamlFields& top);

  std::string node_;
  CardInfo defaults_;
  std::string driver_ = "fake";
  std::uint64_t driver_life_ = 1;
  std::map<std::int32_t, FakeCard> cards_;                               // by index
  std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t> links_;  // by two indices
};

void Reader::read(YamlFields& top) {
  put(node_, top.text("node"));
  put(driver_, top.text("driver"));
  put(driver_life_, top.whole("driverLife", {0, kMostNumber}));
  read_about(top, defaults_);
  if (!top.has("count") && !top.has("cards")) {
    return top.refuse("count", "the file has no cards: write count, or cards");
  }
  const auto count = top.whole("count", {0, kMostCards}).value_or(0);
  for (std::int32_t index = 0; index < count; ++index) cards_.emplace(index, made_up(index));
  std::set<std::int32_t> seen;
  top.list("cards", {static_cast<std::size_t>(kMostCards), [&](YamlFields& fields) {
                       const auto index = fields.whole("index", {0, kMostIndex});
                       if (!index) fields.refuse("index", "missing; write the index of the card");
                       const auto number = static_cast<std::int32_t>(index.value_or(0));
                       if (!seen.insert(number).second) {
                         return fields.refuse("index", fmt::format("{} appears twice", number));
                       }
                       read_card(fields, number);
                     }});
  if (std::ssize(cards_) > kMostCards) {
    top.refuse("cards", fmt::format("more than {} cards", kMostCards));
  }
  check_ids(top);
  read_links(top);
}

FakeCard Reader::made_up(std::int32_t index) const {
  FakeCard fake{.card = defaults_};
  fake.card.id = made_up_id("GPU-", fmt::format("{}/{}", node_, index));
  fake.card.index = index;
  fake.card.minor = index;
  fake.card.bus_id = fmt::format("00000000:{:02X}:00.0", index + 1);
  return fake;
}

void Reader::read_about(YamlFields& fields, CardInfo& card) {
  put(card.model, fields.text("model"));
  put(card.brand, fields.text("brand"));
  put(card.memory_mib, fields.whole("memoryMiB", {0, core::kMaxCardMemoryMib}));
}

void Reader::read_card(YamlFields& fields, std::int32_t index) {
  FakeCard& fake = cards_.try_emplace(index, made_up(index)).first->second;
  read_about(fields, fake.card);
  put(fake.card.id, fields.text("id"));
  put(fake.card.bus_id, fields.text("busId"));
  put(fake.card.minor, fields.whole("minor", {0, kMostNumber}));
  put(fake.card.numa, fields.whole("numa", {core::kUnknownNuma, kMostIndex}));
  fake.card.exclusive = fields.flag("exclusive").value_or(false);
  fake.absent = fields.flag("absent").value_or(false);
  fake.lost = fields.flag("lost").value_or(false);
  read_sensors(fields, fake.sample);
  read_load(fields, fake.sample);
  read_faults(fields, fake.faults);
  fake.divided = fields.has("mig");
  fields.list("mig", {kMostInstances, [&](YamlFields& inner) { read_instance(inner, fake); }});
}

void Reader::read_sensors(YamlFields& fields, CardSample& sample) {
  put(sample.utilisation_permille, fields.decimal("utilisation", 1, {0, kMostPermille}));
  put(sample.power_mw, fields.decimal("powerWatts", 3, {0, kMostMilliwatts}));
  put(sample.temperature_c, fields.whole("temperatureC", {0, kMostCelsius}));
  put(sample.ecc_uncorrected, fields.whole("eccUncorrected", {0, kMostNumber}));
  sample.row_remap_failed = fields.flag("rowRemapFailed");
  sample.needs_reset = fields.flag("needsReset");
}

void Reader::read_load(YamlFields& fields, CardSample& sample) {
  put(sample.memory_used_mib, fields.whole("memoryUsedMiB", {0, core::kMaxCardMemoryMib}));
  if (!fields.has("processes")) return;
  std::map<std::uint32_t, Process> processes;
  fields.list("processes",
              {kMostProcesses, [&](YamlFields& entry) {
                 Process process;
                 put(process.pid, entry.whole("pid", {1, kMostNumber}));
                 put(process.memory_mib, entry.whole("memoryMiB", {0, core::kMaxCardMemoryMib}));
                 if (process.pid == 0) return entry.refuse("pid", "needed");
                 if (!processes.emplace(process.pid, process).second) {
                   entry.refuse("pid", fmt::format("{} appears twice", process.pid));
                 }
               }});
  sample.processes.emplace();
  for (const auto& [pid, process] : processes) sample.processes->push_back(process);
}

void Reader::read_faults(YamlFields& fields, std::vector<Fault>& faults) {
  static const std::vector<std::string> kKinds = {
      to_string(FaultKind::xid), to_string(FaultKind::lost), to_string(FaultKind::ecc_uncorrected),
      to_string(FaultKind::row_remap_failure), to_string(FaultKind::reset_required)};
  fields.list("faults",
              {kMostFaults, [&](YamlFields& entry) {
                 Fault fault;
                 put(fault.text, entry.text("text"));
                 const auto xid = entry.whole("xid", {1, kMostNumber});
                 put(fault.xid, xid);
                 const std::string word = entry.text("kind").value_or(xid ? kKinds[0] : "");
                 const auto kind = std::find(kKinds.begin(), kKinds.end(), word);
                 if (kind == kKinds.end()) {
                   const std::string near = base::nearest(word, kKinds);
                   return entry.refuse(
                       "kind", near.empty() || word.empty()
                                   ? fmt::format("expected one of {}", fmt::join(kKinds, ", "))
                                   : fmt::format("did you mean \"{}\"?", near));
                 }
                 fault.kind = static_cast<FaultKind>(kind - kKinds.begin());
                 if ((fault.kind == FaultKind::xid) != xid.has_value()) {
                   entry.refuse("xid",
                                "a fault of kind xid needs the key xid, and no other kind has it");
                 }
                 faults.push_back(std::move(fault));
               }});
}

void Reader::read_instance(YamlFields& fields, FakeCard& fake) const {
  Instance instance{.card = fake.card};
  CardInfo& card = instance.card;
  Mig mig{.position = static_cast<std::int32_t>(fake.instances.size())};
  put(mig.profile, fields.text("profile"));
  if (mig.profile.empty()) fields.refuse("profile", "missing; write a profile such as 1g.10gb");
  put(mig.gpu_instance, fields.whole("gpuInstance", {0, kMostIndex}));
  put(mig.compute_instance, fields.whole("computeInstance", {0, kMostIndex}));
  card.id = made_up_id("MIG-", fmt::format("{}/{}/{}", node_, card.index, mig.position));
  put(card.id, fields.text("id"));
  card.memory_mib = 0;
  put(card.memory_mib, fields.whole("memoryMiB", {0, core::kMaxCardMemoryMib}));
  card.model = fmt::format("{} MIG {}", card.model, mig.profile);
  card.mig = std::move(mig);
  read_load(fields, instance.sample);
  read_faults(fields, instance.faults);
  fake.instances.push_back(std::move(instance));
}

void Reader::check_ids(YamlFields& top) const {
  std::set<std::string> ids;
  for (const auto& [index, fake] : cards_) {
    std::vector<std::string> named{fake.card.id};
    for (const Instance& instance : fake.instances) named.push_back(instance.card.id);
    for (const std::string& id : named) {
      if (!ids.insert(id).second) top.refuse("cards", fmt::format("two cards have the id {}", id));
    }
  }
}

void Reader::read_links(YamlFields& top) {
  const auto everywhere = top.whole("nvlinks", {0, kMostNvlinks});
  const auto some = top.triples("links", static_cast<std::size_t>(kMostCards * kMostCards));
  if (everywhere && top.has("links")) return top.refuse("nvlinks", "cannot be combined with links");
  if (everywhere) {
    for (const auto& [a, first] : cards_) {
      for (const auto& [b, second] : cards_) {
        if (a == b || first.divided || second.divided) continue;
        links_[{a, b}] = static_cast<std::int32_t>(*everywhere) * core::link::kNvlink;
      }
    }
  }
  for (const auto& link : some) {
    const bool known = link[0] != link[1] && link[0] >= 0 && link[0] <= kMostIndex &&
                       link[1] >= 0 && link[1] <= kMostIndex && link[2] >= 0 &&
                       link[2] <= kMostScore;
    const auto a = static_cast<std::int32_t>(known ? link[0] : -1);
    const auto b = static_cast<std::int32_t>(known ? link[1] : -1);
    if (!cards_.contains(a) || !cards_.contains(b)) {
      return top.refuse("links",
                        fmt::format("[{}, {}, {}]: expected the indices of two cards, and a sum "
                                    "from 0 to {}",
                                    link[0], link[1], link[2], kMostScore));
    }
    links_[{a, b}] = static_cast<std::int32_t>(link[2]);
    links_[{b, a}] = static_cast<std::int32_t>(link[2]);
  }
}

FakeCards Reader::take() {
  FakeCards all;
  all.inventory.driver_version = driver_;
  all.inventory.nvml_version = "fake";
  all.inventory.driver_life = driver_life_;
  const auto add = [&](const FakeCard& fake, const CardInfo& card, CardSample sample) {
    all.inventory.cards.push_back(card);
    all.inventory.cards.back().answers = !fake.lost;
    sample.id = card.id;
    if (fake.lost) {
      all.faults.push_back({.kind = FaultKind::lost, .card = card.id, .text = "set in the file"});
    } else {
      all.samples.push_back(std::move(sample));
    }
    for (Fault fault : fake.faults) {
      fault.card = card.id;
      all.faults.push_back(std::move(fault));
    }
  };
  for (auto& [index, fake] : cards_) {
    if (fake.absent) continue;
    if (!fake.divided) add(fake, fake.card, fake.sample);
    for (Instance& instance : fake.instances) {
      instance.card.mig->parent = fake.card.id;
      instance.sample.ecc_uncorrected = fake.sample.ecc_uncorrected;
      instance.sample.row_remap_failed = fake.sample.row_remap_failed;
      instance.sample.needs_reset = fake.sample.needs_reset;
      add(fake, instance.card, instance.sample);
      for (Fault& fault : instance.faults) {
        fault.card = instance.card.id;
        all.faults.push_back(std::move(fault));
      }
    }
  }
  const std::vector<CardInfo>& cards = all.inventory.cards;
  const std::size_t n = cards.size();
  if (links_.empty() || n < 2) return all;
  all.inventory.links = {.cards = static_cast<std::int32_t>(n),
                         .score = std::vector<std::int32_t>(n * n)};
  for (std::size_t a = 0; a < n; ++a) {
    for (std::size_t b = 0; b < n; ++b) {
      if (a == b) continue;
      const auto link = links_.find({cards[a].index, cards[b].index});
      all.inventory.links.score[a * n + b] = cards[a].index == cards[b].index
                                                 ? core::link::kSameBoard
                                             : link == links_.end() ? core::link::kNone
                                                                    : link->second;
    }
  }
  return all;
}

}  // namespace

std::string made_up_id(std::string_view prefix, std::string_view words) {
  // FNV-1a, spread by the generator.
  std::uint64_t seed = 14695981039346656037ULL;
  for (const char c : words) seed = (seed ^ static_cast<std::uint8_t>(c)) * 1099511628211ULL;
  base::Rng rng(seed);
  const std::uint64_t high = rng.next();
  const std::uint64_t low = rng.next();
  return fmt::format("{}{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}", prefix, high >> 32U,
                     (high >> 16U) & 0xFFFFU, high & 0xFFFU, 0x8000U | (low >> 48U & 0x3FFFU),
                     low & 0xFFFFFFFFFFFFU);
}

Result<FakeCards> parse_fake_cards(std::string_view text, const std::string& file,
                                   const std::string& node) {
  Reader reader(node);
  STOWAGE_TRY_VOID(YamlFields::read(text, file, [&](YamlFields& top) { reader.read(top); }));
  return reader.take();
}

std::vector<yaml::StrictMap::Key> fake_cards_keys() {
  Reader reader("node");
  return YamlFields::keys_of([&](YamlFields& top) { reader.read(top); });
}

}  // namespace stowage::gpu
