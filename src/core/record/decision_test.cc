#include "core/record/decision.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "core/engine/engine.h"
#include "core/record/archive.h"

namespace stowage::core {
namespace {

NodeSpec random_node(base::Rng& rng, int i) {
  static const char* const kModels[] = {"A100", "T4", "V100"};
  NodeSpec node;
  node.name = "node-" + std::to_string(i);
  node.allocatable.cpu_milli = 32000 + 16000 * static_cast<std::int64_t>(rng.below(4));
  node.allocatable.memory_bytes = std::int64_t{256} << 30U;
  node.allocatable.pods = 110;
  const auto cards = std::int32_t{1} << rng.below(4);
  const auto model = rng.below(3);
  for (std::int32_t c = 0; c < cards; ++c) {
    node.cards.push_back({.id = node.name + "/" + std::to_string(c),
                          .index = c,
                          .model = kModels[model],
                          .memory_mib = model == 0 ? 40960 : 16384,
                          .slots = 10,
                          .healthy = rng.below(20) != 0});
  }
  return node;
}

PodSpec random_pod(base::Rng& rng, int i) {
  PodSpec pod;
  pod.uid = "uid " + std::to_string(i) + "\n:";  // any byte is allowed
  pod.name = "ns/pod";
  ContainerSpec container;
  container.name = "main";
  container.resources.cpu_milli = 1000 + 1000 * static_cast<std::int64_t>(rng.below(8));
  switch (rng.below(6)) {
    case 0: break;
    case 1: container.gpu = {.count = 1}; break;
    case 2: container.gpu = {.count = 4}; break;
    case 3: container.gpu = {.count = 1, .memory_mib = 4096}; break;
    case 4: container.gpu = {.count = 1, .milli = 470, .memory_mib = 8192}; break;
    default: container.gpu = {.count = 1, .milli = 320};
  }
  if (container.gpu.count > 0 && rng.below(5) == 0)
    container.gpu.filter.models_any = {"T4", "A100"};
  pod.containers.push_back(container);
  return pod;
}

// A cluster after some hundred pods have arrived and left.
Engine busy_engine(const std::string& policy, std::uint64_t seed,
                   std::vector<std::string>& running) {
  base::Rng rng(seed);
  PolicyOptions options;
  options.choice = *parse_policy(policy);
  options.hold_back = true;
  Engine engine(options);
  for (int i = 0; i < 40; ++i) (void)engine.handle(NodeChanged{random_node(rng, i)}, {});
  for (int i = 0; i < 600; ++i) {
    const PodSpec pod = random_pod(rng, i);
    if (i % 50 == 7) {  // placed by others, with unknown cards
      (void)engine.handle(PodSeenBound{pod, "node-3", std::nullopt}, {});
      running.push_back(pod.uid);
      continue;
    }
    const Commands commands = engine.handle(PodPending{pod}, {});
    for (const auto& command : commands) {
      if (const auto* bind = std::get_if<Bind>(&command)) running.push_back(bind->uid);
    }
    if (running.size() > 60) {
      const auto leaves = rng.below(running.size());
      (void)engine.handle(PodGone{running[leaves]}, {});
      running[leaves] = running.back();
      running.pop_back();
    }
  }
  return engine;
}

TEST(DecisionRecord, ReplaysToTheSameBytesForEveryPolicy) {
  for (const auto& policy : policy_names()) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      std::vector<std::string> running;
      Engine engine = busy_engine(policy, seed, running);
      base::Rng rng(seed + 100);
      for (int i = 0; i < 12; ++i) {
        const std::string text = engine.record_decision(random_pod(rng, 10000 + i));
        const auto replay = replay_decision(text);
        ASSERT_TRUE(replay) << policy << ": " << replay.error().message;
        EXPECT_EQ(replay->recorded, replay->replayed) << policy << " seed " << seed;
        EXPECT_EQ(replay->commands.size(), 1U);
      }
    }
  }
}

TEST(DecisionRecord, RecordingChangesNothing) {
  std::vector<std::string> running;
  Engine engine = busy_engine("dual-price", 5, running);
  base::Rng rng(9);
  const PodSpec pod = random_pod(rng, 10000);
  const std::string first = engine.record_decision(pod);
  EXPECT_EQ(first, engine.record_decision(pod));
  EXPECT_TRUE(engine.ledger().audit().empty());
}

TEST(DecisionRecord, SaysWhatTheEngineThenDoes) {
  for (const char* policy : {"best-fit", "tightest", "binpack", "random"}) {
    std::vector<std::string> running;
    Engine engine = busy_engine(policy, 6, running);
    base::Rng rng(10);
    for (int i = 0; i < 20; ++i) {
      const PodSpec pod = random_pod(rng, 10000 + i);
      const auto record = parse_decision(engine.record_decision(pod));
      ASSERT_TRUE(record);
      const Commands commands = engine.handle(PodPending{pod}, {});
      EXPECT_EQ(record->outcome, to_text(commands)) << policy;
    }
  }
}

TEST(DecisionRecord, DamagedTextIsAnErrorAndNeverACrash) {
  std::vector<std::string> running;
  Engine engine = busy_engine("dual-price", 7, running);
  base::Rng rng(11);
  const std::string text = engine.record_decision(random_pod(rng, 10000));
  EXPECT_FALSE(replay_decision(""));
  EXPECT_FALSE(replay_decision("nonsense"));
  EXPECT_FALSE(replay_decision(text.substr(0, text.size() / 2)));
  for (int i = 0; i < 300; ++i) {
    std::string broken = text;
    const auto at = rng.below(broken.size());
    broken[at] = static_cast<char>("0159-: \n"[rng.below(8)]);
    (void)replay_decision(broken);  // an error, or a different decision
  }
}

TEST(Archive, ValuesComeBackBitForBit) {
  RecordWriter writer;
  const std::vector<double> doubles{0.1, -1e300, 5e-324, 1.0 / 3.0};
  const std::optional<std::int32_t> none;
  const std::map<std::string, std::int64_t> map{{"a b", -5}, {"", 7}};
  writer(doubles, none, map, std::string("x y\n"));
  const std::string text = writer.take();
  RecordReader reader(text);
  std::vector<double> doubles_back;
  std::optional<std::int32_t> none_back = 3;
  std::map<std::string, std::int64_t> map_back;
  std::string string_back;
  reader(doubles_back, none_back, map_back, string_back);
  EXPECT_FALSE(reader.failed());
  EXPECT_EQ(doubles, doubles_back);
  EXPECT_EQ(none, none_back);
  EXPECT_EQ(map, map_back);
  EXPECT_EQ(string_back, "x y\n");
}

}  // namespace
}  // namespace stowage::core
