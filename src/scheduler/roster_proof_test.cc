// What the roster believes of what pods say that we have written.
#include <gtest/gtest.h>

#include "dialect/dialect.h"
#include "scheduler/roster.h"

namespace stowage::scheduler {
namespace {

using dialect::Purpose;

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kBegan = 1'000'000;  // 1970-01-12T13:46:40Z
constexpr std::int64_t kUnixNow = (kBegan + 3600) * kSecond;
constexpr const char* kBefore = "1970-01-12T13:46:00Z";
constexpr const char* kAfter = "1970-01-12T13:48:00Z";
const core::NodeSpec kNode{.name = "n",
                           .cards = {{.id = "n/0", .index = 0},
                                     {.id = "n/1", .index = 1},
                                     {.id = "n/2", .index = 2},
                                     {.id = "n/3", .index = 3}}};

dialect::NodeObject node_object(const char* gpus = "4") {
  dialect::NodeObject node;
  node.name = "n";
  node.uid = "uid-n";
  node.allocatable = {{"pods", *base::Quantity::parse("110")},
                      {"nvidia.com/gpu", *base::Quantity::parse(gpus)}};
  node.capacity = node.allocatable;
  return node;
}

// With the cards of these ids, in this order.
dialect::NodeObject node_with(const std::vector<std::string>& ids) {
  dialect::NodeObject node = node_object();
  std::vector<core::Card> cards;
  for (const std::string& id : ids) {
    cards.push_back({.id = id, .index = static_cast<std::int32_t>(cards.size())});
  }
  node.annotations[std::string(dialect::kInventoryAnnotation)] = dialect::inventory_text(cards, {});
  return node;
}

std::string event_text(const core::Event& event) {
  if (const auto* e = std::get_if<core::PodSeenBound>(&event)) {
    const bool named = e->cards && core::names_cards(*e->cards);
    return e->pod.uid + (named ? " has cards;" : " unknown;");
  }
  if (const auto* e = std::get_if<core::PodHeld>(&event)) return e->pod.uid + " held;";
  return {};
}

// Node, card and age in seconds of a promise.
std::string held_text(const core::PodHeld& held) {
  std::string text = held.node + " ";
  for (const auto& shares : held.cards.containers) {
    for (const auto& share : shares) text += share.card + " ";
  }
  return text + std::to_string((kUnixNow - held.made) / kSecond) + ";";
}

// A world that goes on over restarts of the roster.
class RosterProofTest : public ::testing::Test {
 protected:
  RosterProofTest() { restart(); }

  void restart() {
    roster_ = std::make_unique<Roster>(
        built_in_profiles(), mailbox_, [this](const Notice& notice) { notices_.push_back(notice); },
        Roster::Clock{.unix_nanos = [this] { return now_; },
                      .now = [] { return base::Instant{}; }});
    EXPECT_FALSE(roster_->use_keys(keys_));
    roster_->on_unknown_key([this] { ++unknown_keys_; });
    roster_->heed_promises(0, std::chrono::seconds{660});
    roster_->see_node(node_object());
    roster_->stand_down();
    (void)events();
  }

  // As one of our replicas writes it. Of no purpose: as version 0.1.0 did.
  dialect::PodObject decided(const std::string& name, std::optional<Purpose> purpose,
                             std::int64_t at = kUnixNow - 10 * kSecond) {
    dialect::PodObject pod;
    pod.ns = "ns";
    pod.name = pod.uid = name;
    pod.resource_version = "1";
    pod.scheduler = "default-scheduler";
    pod.phase = "Pending";
    pod.created = kAfter;
    dialect::ContainerObject container{.name = "main"};
    container.limits = {{"tencent.com/vcuda-core", *base::Quantity::parse("100")}};
    container.requests = container.limits;
    pod.containers = {container};
    dialect::Answer answer =
        dialect::answer({.object = pod,
                         .pod = *dialect::to_spec(pod, {}),
                         .node = kNode,
                         .cards = {.containers = {{{.card = 2, .milli = 1000}}}},
                         .unix_nanos = at});
    if (purpose) {
      kube::seal(*keys_, {.object = pod, .node = "n", .purpose = *purpose, .unix_nanos = at},
                 answer.annotations);
    }
    pod.annotations = answer.annotations;
    return pod;
  }
  dialect::PodObject bound(const std::string& name, std::optional<Purpose> purpose) {
    auto pod = decided(name, purpose);
    pod.node = "n";
    pod.scheduled_since = kAfter;
    return pod;
  }
  static void edit(dialect::PodObject& pod) {
    std::string& text = pod.annotations.at("stowage.dev/gpus");
    const auto at = text.find("n/2");
    ASSERT_NE(at, std::string::npos) << text;
    text.replace(at, 3, "n/1");
    const auto index = text.find("\"index\":2");
    ASSERT_NE(index, std::string::npos) << text;
    text.replace(index, 9, "\"index\":1");
  }

  void see(const std::vector<dialect::PodObject>& pods) {
    roster_->begin_pods();
    for (const auto& pod : pods) roster_->see_pod(pod);
    roster_->end_pods();
  }
  std::string list(const std::vector<dialect::PodObject>& pods) {
    see(pods);
    roster_->lead();
    return events();
  }
  std::string events() {
    const auto taken = mailbox_.take_now(1000);
    std::string text;
    held_.clear();
    for (const auto& message : *taken) {
      const auto& event = std::get<core::Event>(message);
      text += event_text(event);
      if (const auto* held = std::get_if<core::PodHeld>(&event)) held_ += held_text(*held);
    }
    return text;
  }
  std::string forged() {
    std::string text;
    for (const Notice& notice : notices_) {
      if (notice.kind == Notice::Kind::forged) text += notice.name + ";";
    }
    notices_.clear();
    return text;
  }

  kube::Keys keys_ = kube::keys_from_seed("ours", kBegan);
  std::int64_t now_ = kUnixNow;
  std::vector<Notice> notices_;
  int unknown_keys_ = 0;
  std::string held_;
  Mailbox mailbox_;
  std::unique_ptr<Roster> roster_;
};

TEST_F(RosterProofTest, WhatIsSignedCountsAfterARestart) {
  EXPECT_EQ(list({bound("a", Purpose::bound), bound("b", Purpose::promise)}),
            "a has cards;b has cards;");
  EXPECT_EQ(forged(), "");
}

TEST_F(RosterProofTest, AnEditedAnnotationDoesNotCountAfterARestart) {
  auto pod = bound("a", Purpose::bound);
  EXPECT_EQ(list({pod}), "a has cards;");
  edit(pod);
  EXPECT_EQ(list({pod}), "a unknown;") << "the engine keeps what it knows";
  EXPECT_EQ(forged(), "") << "that is drift";
  restart();
  EXPECT_EQ(list({pod}), "a unknown;");
  EXPECT_EQ(forged(), "a;");
  EXPECT_EQ(list({pod}), "a unknown;");
  EXPECT_EQ(forged(), "") << "told once";
  EXPECT_EQ(list({bound("a", Purpose::bound)}), "a has cards;") << "the text was put back";
}

TEST_F(RosterProofTest, NeitherDoesOneOfAnotherPodOrNodeOrOneWithoutSignature) {
  auto copied = bound("b", Purpose::bound);
  copied.annotations = bound("a", Purpose::bound).annotations;
  EXPECT_EQ(list({copied}), "b unknown;");
  EXPECT_EQ(forged(), "b;");
  restart();
  auto moved = bound("c", Purpose::bound);
  moved.node = "n2";
  auto second = node_object();
  second.name = "n2";
  roster_->see_node(second);
  EXPECT_EQ(list({moved}), "c unknown;");
  restart();
  EXPECT_EQ(list({bound("d", std::nullopt)}), "d unknown;");
}

// What the dialect's scheduler would have written, an author may have edited as well.
TEST_F(RosterProofTest, WhereOursIsNotGoodTheWordsOfADialectsSchedulerAreNot) {
  auto pod = bound("a", Purpose::bound);
  pod.annotations["stowage.dev/gpus"] = "garbage";
  EXPECT_EQ(list({pod}), "a unknown;");
  restart();
  pod.annotations.erase("stowage.dev/gpus");
  pod.annotations.erase("stowage.dev/signature");
  pod.scheduler = "stowage";
  EXPECT_EQ(list({pod}), "a unknown;") << "we alone place it, and sign what we write";
  restart();
  pod.scheduler = "another";
  EXPECT_EQ(list({pod}), "a has cards;") << "its agent obeys what that one wrote";
}

TEST_F(RosterProofTest, WhatOlderVersionsWroteCountsIfItIsOlder) {
  auto pod = bound("a", std::nullopt);
  pod.scheduled_since = kBefore;
  EXPECT_EQ(list({pod}), "a has cards;");
  restart();
  pod.scheduled_since = "";
  EXPECT_EQ(list({pod}), "a unknown;") << "made after that";
  restart();
  pod.created = kBefore;
  EXPECT_EQ(list({pod}), "a has cards;");
  EXPECT_EQ(forged(), "a;");
}

TEST_F(RosterProofTest, APromiseOfAnOlderVersionCountsThoughItIsBoundSince) {
  auto pod = decided("a", std::nullopt, (kBegan - 20) * kSecond);
  pod.created = kBefore;
  pod.node = "n";
  pod.scheduled_since = "1970-01-12T13:56:00Z";  // 560 seconds after signing began
  EXPECT_EQ(list({pod}), "a has cards;");
  restart();
  pod.scheduled_since = "1970-01-12T13:58:00Z";
  EXPECT_EQ(list({pod}), "a unknown;") << "no promise lasts so long";
  restart();
  pod = decided("a", std::nullopt, (kBegan + 20) * kSecond);
  pod.created = kBefore;
  pod.node = "n";
  pod.scheduled_since = kAfter;
  EXPECT_EQ(list({pod}), "a unknown;");
}

TEST_F(RosterProofTest, BeforeSigningHasBegunWhatIsThereCounts) {
  auto before = std::make_shared<kube::Keyring>(*keys_);
  before->began_unix.reset();
  EXPECT_FALSE(roster_->use_keys(before));
  EXPECT_EQ(list({bound("a", std::nullopt), decided("b", std::nullopt)}), "a has cards;b held;");
  auto forged_one = bound("c", Purpose::bound);
  edit(forged_one);
  EXPECT_EQ(list({forged_one}), "c unknown;") << "a bad signature is worse than none";
}

TEST_F(RosterProofTest, OnlySignedPromisesAreHeld) {
  EXPECT_EQ(list({decided("a", Purpose::promise)}), "a held;");
  restart();
  EXPECT_EQ(list({decided("b", std::nullopt)}), "");
  EXPECT_EQ(forged(), "b;");
  auto again = decided("b", std::nullopt);
  again.resource_version = "2";
  EXPECT_EQ(list({again}), "");
  EXPECT_EQ(forged(), "") << "told once";
  EXPECT_EQ(list({decided("c", Purpose::bound)}), "") << "it was meant for another moment";
  auto taken = decided("f", Purpose::promise);
  taken.uid = "another";
  EXPECT_EQ(list({taken}), "");
}

// The pod's author may edit what its dialect says; its scheduler may bind it all the same.
TEST_F(RosterProofTest, ASignedPromiseIsHeldByOurOwnTextWhateverItsDialectSays) {
  auto added = decided("a", Purpose::promise);
  added.annotations["nvidia.com/predicate-x"] = "y";
  EXPECT_EQ(list({added}), "a held;");
  EXPECT_EQ(held_, "n n/2 10;");
  EXPECT_EQ(forged(), "a;") << "and it is told";
  auto other = decided("b", Purpose::promise);
  other.annotations["tencent.com/predicate-gpu-idx-0"] = "1";
  EXPECT_EQ(list({other}), "b held;");
  EXPECT_EQ(held_, "n n/2 10;");
  auto later = decided("c", Purpose::promise);
  later.annotations["tencent.com/predicate-time"] = std::to_string(kUnixNow);
  EXPECT_EQ(list({later}), "c held;");
  EXPECT_EQ(held_, "n n/2 10;") << "nor is it made to last";
  auto moved = decided("d", Purpose::promise);
  moved.annotations["tencent.com/predicate-node"] = "m";
  EXPECT_EQ(list({moved}), "d held;");
  EXPECT_EQ(held_, "n n/2 10;");
  EXPECT_FALSE(roster_->believes_promise(moved)) << "not that node";
  auto removed = decided("e", Purpose::promise);
  removed.annotations.erase("tencent.com/predicate-node");
  EXPECT_EQ(list({removed}), "e held;");
  EXPECT_EQ(held_, "n n/2 10;");
}

TEST_F(RosterProofTest, AStandbyKeepsAPromiseThatItHasProvedThoughItsAuthorRemovesIt) {
  const auto promised = decided("a", Purpose::promise);
  std::vector<dialect::PodObject> edits(4, promised);
  edits[0].annotations.erase("stowage.dev/signature");
  edit(edits[1]);
  edits[2].annotations.clear();
  edits[3] = decided("a", Purpose::promise, kUnixNow - 20 * kSecond);  // an older one
  edits[3].annotations["tencent.com/predicate-gpu-idx-0"] = "1";
  for (auto& edited : edits) {
    restart();
    see({promised});
    edited.resource_version = "2";
    see({edited});
    EXPECT_EQ(list({edited}), "a held;");
    EXPECT_EQ(held_, "n n/2 10;");
    roster_->stand_down();
    EXPECT_EQ(list({edited}), "a held;") << "and so does who leads again";
  }
}

TEST_F(RosterProofTest, APromiseIsNotKeptThatWeTookOffOrThatIsOver) {
  auto pod = decided("a", Purpose::promise);
  see({pod});
  auto taken_off = pod;
  taken_off.annotations = roster_->withdrawal(pod);
  taken_off.resource_version = "2";
  EXPECT_EQ(list({taken_off}), "");
  roster_->stand_down();
  EXPECT_EQ(list({pod}), "") << "nor if its author puts it back";

  restart();
  see({pod});
  auto older = pod;
  older.annotations = {{"stowage.dev/signature",
                        kube::withdrawal(*keys_, {.uid = "a", .unix_nanos = kUnixNow / 2})}};
  EXPECT_EQ(list({older}), "a held;") << "one of an earlier promise says nothing of this one";
  roster_->promise_over("a");
  roster_->stand_down();
  EXPECT_EQ(list({older}), "");

  restart();
  see({pod});
  roster_->promise_asked_again("a");
  auto bare = pod;
  bare.annotations.clear();
  EXPECT_EQ(list({bare}), "");
}

TEST_F(RosterProofTest, ASignedPromiseIsHeldWhateverTheClockSays) {
  std::int64_t left = 0;
  const auto look = [&](const Roster::Promised& promised) { left = promised.until.ns / kSecond; };
  roster_->on_promise(look);
  EXPECT_EQ(list({decided("a", Purpose::promise, kUnixNow + 7200 * kSecond)}), "a held;");
  EXPECT_EQ(left, 660) << "it was made before now, by a clock that was ahead";
  restart();
  roster_->on_promise(look);
  EXPECT_EQ(list({decided("b", Purpose::promise, kUnixNow - 7200 * kSecond)}), "b held;");
  EXPECT_EQ(left, 660) << "our clock may be the one that is ahead";
}

// The engine gives away what is free of a node when it is told of it, and the rest of the cards.
TEST_F(RosterProofTest, ASignedPromiseIsHeldWhileItsCardIsAway) {
  roster_->see_node(node_object("1"));
  (void)events();
  EXPECT_EQ(list({decided("a", Purpose::promise)}), "a held;");
  roster_->see_node(node_object("4"));
  EXPECT_EQ(events(), "") << "once";
  restart();
  roster_->lose_node("n");
  (void)events();
  EXPECT_EQ(list({decided("b", Purpose::promise)}), "b held;");
}

// Its agent goes by the indexes: it would give the pod a card that others may have.
TEST_F(RosterProofTest, APromiseWhoseIndexesMeanOtherCardsNowIsLookedUpAtOnce) {
  const auto left = [&](const std::vector<std::string>& ids, const dialect::PodObject& pod) {
    std::int64_t seconds = -1;
    restart();
    roster_->on_promise(
        [&](const Roster::Promised& promised) { seconds = promised.until.ns / kSecond; });
    roster_->see_node(node_with(ids));
    (void)events();
    EXPECT_EQ(list({pod}), "a held;");
    EXPECT_EQ(held_, "n n/2 10;") << "until it is taken off";
    EXPECT_EQ(roster_->promise_outdated(pod), seconds == 0);
    return seconds;
  };
  const auto pod = decided("a", Purpose::promise);
  EXPECT_EQ(left({"n/0", "n/1", "n/2", "n/3"}, pod), 660);
  EXPECT_EQ(left({"n/0", "n/2", "n/1", "n/3"}, pod), 0) << "another order";
  EXPECT_EQ(left({"n/0", "n/1"}, pod), 660) << "it is away, and nobody else has its index";
  auto edited = pod;
  edited.annotations["tencent.com/predicate-gpu-idx-0"] = "1";
  EXPECT_EQ(left({"n/0", "n/1", "n/2", "n/3"}, edited), 660) << "its author does not end it";
}

TEST_F(RosterProofTest, APromiseThatIsOlderThanSigningIsHeldWhileItLasts) {
  now_ = (kBegan + 5) * kSecond;
  auto pod = decided("a", std::nullopt, (kBegan - 5) * kSecond);
  EXPECT_EQ(list({pod}), "") << "its author made the pod later";
  pod.created = kBefore;
  pod.resource_version = "2";
  EXPECT_EQ(list({pod}), "a held;");
  restart();
  auto later = decided("b", std::nullopt, (kBegan + 100) * kSecond);
  later.created = kBefore;
  now_ = (kBegan + 100) * kSecond;
  EXPECT_EQ(list({later}), "");
}

TEST_F(RosterProofTest, AKeyThatIsNotKnownIsLookedForAndThenBelieved) {
  const kube::Keys fresh = kube::keys_from_seed("rotated", kBegan);
  const kube::Keys old = std::exchange(keys_, fresh);
  const auto pod = bound("a", Purpose::bound);
  keys_ = old;
  EXPECT_EQ(list({pod}), "a unknown;");
  EXPECT_EQ(unknown_keys_, 1);
  EXPECT_EQ(list({pod}), "a unknown;");
  auto both = std::make_shared<kube::Keyring>(*old);
  both->known.insert(fresh->known.begin(), fresh->known.end());
  EXPECT_TRUE(roster_->use_keys(both)) << "it has to be seen again";
  EXPECT_EQ(list({pod}), "a has cards;");
  EXPECT_FALSE(roster_->use_keys(both));
}

TEST_F(RosterProofTest, APromiseByAKeyThatIsNotKnownIsHeldOnceItIs) {
  const kube::Keys fresh = kube::keys_from_seed("rotated", kBegan);
  const kube::Keys old = std::exchange(keys_, fresh);
  const auto promised = decided("a", Purpose::promise);
  auto edited = decided("b", Purpose::promise);
  edit(edited);
  keys_ = old;
  EXPECT_EQ(list({promised, edited}), "");
  EXPECT_EQ(unknown_keys_, 2);
  ASSERT_EQ(notices_.size(), 2U);
  EXPECT_NE(notices_[0].text.find("a key that is not known"), std::string::npos);
  auto both = std::make_shared<kube::Keyring>(*old);
  both->known.insert(fresh->known.begin(), fresh->known.end());
  EXPECT_TRUE(roster_->use_keys(both));
  EXPECT_EQ(list({promised, edited}), "a held;") << "of the same resource version";
  EXPECT_EQ(list({promised, edited}), "") << "once";
  EXPECT_FALSE(roster_->use_keys(std::make_shared<kube::Keyring>(*both)));
}

TEST_F(RosterProofTest, APodWithAnUnknownKeyIsNotRememberedLongerThanItLasts) {
  const kube::Keys old = std::exchange(keys_, kube::keys_from_seed("rotated", kBegan));
  auto pod = decided("a", Purpose::promise);
  auto gone = decided("b", Purpose::promise);
  keys_ = old;
  EXPECT_EQ(list({pod, gone}), "");
  pod.annotations.clear();
  pod.resource_version = "2";
  EXPECT_EQ(list({pod}), "");
  EXPECT_FALSE(roster_->use_keys(std::make_shared<kube::Keyring>(*old)));
}

// Threads verify ahead of the loop, by the keys of the moment in which they were asked.
TEST_F(RosterProofTest, AKeyThatHasComeSinceTheSignatureWasLookedAtIsKnown) {
  const auto pod = bound("a", Purpose::bound);
  roster_->begin_pods();
  roster_->see_pod(pod, kube::SealCheck{.result = kube::SealCheck::Result::unknown});
  roster_->end_pods();
  EXPECT_EQ(events(), "a has cards;");
  EXPECT_EQ(unknown_keys_, 0);
}

TEST_F(RosterProofTest, WhatWeSealIsSigned) {
  dialect::PodObject pod = decided("a", std::nullopt);
  dialect::Annotations answer = pod.annotations;
  roster_->seal({.object = pod, .node = "n", .unix_nanos = 1}, answer);
  pod.annotations = answer;
  EXPECT_EQ(kube::check_seal(*keys_, pod, "n").result, kube::SealCheck::Result::good);
}

// A hold of a number of cards (mode count): nothing but a signature makes it count.
TEST_F(RosterProofTest, AHoldByNumberCountsOnlyIfItIsSigned) {
  const auto by_number = [&](const std::string& name, bool signs) {
    auto pod = decided(name, std::nullopt);
    pod.annotations = {{std::string(dialect::kPreAllocatedNodeAnnotation), "n"}};
    pod.created = kBefore;  // older than all signatures: for other promises that is an excuse
    if (signs) {
      kube::seal(*keys_,
                 {.object = pod, .node = "n", .purpose = Purpose::promise, .unix_nanos = kUnixNow},
                 pod.annotations);
    }
    return pod;
  };
  EXPECT_EQ(list({by_number("a", true)}), "a held;");
  EXPECT_EQ(forged(), "");
  restart();
  EXPECT_EQ(list({by_number("b", false)}), "");
  EXPECT_EQ(forged(), "b;");
  restart();
  auto elsewhere = by_number("c", true);
  elsewhere.annotations[std::string(dialect::kPreAllocatedNodeAnnotation)] = "m";
  EXPECT_EQ(list({elsewhere}), "");
  EXPECT_EQ(forged(), "c;");
}

}  // namespace
}  // namespace stowage::scheduler
