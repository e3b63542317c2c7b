#include "local/store.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "local/test_cluster.h"

namespace stowage::local {
namespace {

StoreOptions still() {
  StoreOptions options;
  options.now = [] { return kTestTime; };
  return options;
}

json::object with_label(std::string_view value) {
  return parsed(R"({"metadata":{"labels":{"app":")" + std::string(value) + R"("}}})");
}

ObjectName at(std::string_view name, std::string_view ns = "default") {
  return {std::string(ns), std::string(name)};
}

std::string names(const ListPage& page) {
  std::string all;
  for (const ObjectPtr& object : page.items) all += object->name.ns + "/" + object->name.name + " ";
  return all;
}

// What a watcher has seen, abbreviated: "+a ~a -a ".
struct Seen {
  std::string text;
  Store::Flow flow = Store::Flow::more;

  Store::OnEvent record() {
    return [this](const WatchEvent& event) {
      text += event.change == Change::added ? '+' : event.change == Change::modified ? '~' : '-';
      text += event.object->name.name + " ";
      return flow;
    };
  }
};

Filter labelled(std::string_view selector) {
  Filter filter;
  filter.labels = *parse_label_selector(selector);
  return filter;
}

TEST(Store, AnObjectCarriesItsIdentityInItsBytes) {
  Store store(still());
  const auto made = store.create(Kind::pod, at("a"), parsed(R"({"spec":{"nodeName":"n"}})"));
  ASSERT_TRUE(made);
  const json::object tree = (*made)->tree();
  EXPECT_EQ(text_at(tree, "kind"), "Pod");
  EXPECT_EQ(text_at(tree, "apiVersion"), "v1");
  EXPECT_EQ(text_at(tree, "metadata.name"), "a");
  EXPECT_EQ(text_at(tree, "metadata.namespace"), "default");
  EXPECT_EQ(text_at(tree, "metadata.uid"), (*made)->uid);
  EXPECT_EQ(text_at(tree, "metadata.creationTimestamp"), "2026-01-02T03:04:05Z");
  EXPECT_EQ(text_at(tree, "metadata.resourceVersion"), std::to_string((*made)->version));
  EXPECT_EQ((*made)->field("spec.nodeName"), "n");
}

TEST(Store, EveryWriteHasANewVersionAndAnEmptyOneHasNone) {
  Store store(still());
  const auto first = *store.create(Kind::pod, at("a"), with_label("x"));
  const auto same = *store.update(Kind::pod, at("a"), first->tree());
  EXPECT_EQ(same->version, first->version);
  // A different order of members is not a change.
  json::object turned = parsed(R"({"metadata":{},"kind":"Pod"})");
  turned["metadata"].get_object()["creationTimestamp"] = "2026-01-02T03:04:05Z";
  turned["metadata"].get_object()["uid"] = first->uid;
  turned["metadata"].get_object()["labels"] = json::object{{"app", "x"}};
  EXPECT_EQ((*store.update(Kind::pod, at("a"), turned))->version, first->version);
  const auto changed = *store.update(Kind::pod, at("a"), with_label("y"));
  EXPECT_EQ(changed->version, first->version + 1);
  const auto gone = *store.remove(Kind::pod, at("a"));
  EXPECT_EQ(gone->version, first->version + 2);
  EXPECT_EQ(text_at(gone->tree(), "metadata.resourceVersion"), std::to_string(gone->version));
}

TEST(Store, RefusesWhatIsNotThereAndWhatIsThereTwice) {
  Store store(still());
  ASSERT_TRUE(store.create(Kind::pod, at("a"), {}));
  EXPECT_EQ(store.create(Kind::pod, at("a"), {}).error().reason, "AlreadyExists");
  EXPECT_EQ(store.update(Kind::pod, at("b"), {}).error().reason, "NotFound");
  EXPECT_EQ(store.remove(Kind::pod, at("b")).error().message, "pods \"b\" not found");
  EXPECT_EQ(store.update(Kind::pod, at("a"), with_label("x"), 999).error().reason, "Conflict");
}

TEST(Store, EqualCallsGiveEqualBytes) {
  const auto run = [] {
    Store store(still());
    static_cast<void>(store.create(Kind::pod, at("a"), {}));
    return (*store.create(Kind::pod, at("b"), {}))->bytes;
  };
  EXPECT_EQ(run(), run());
}

TEST(Store, ListsByNamespaceThenNameInPages) {
  Store store(still());
  for (const auto& name : {at("b"), at("a"), at("c", "x"), at("d"), at("a", "x")}) {
    ASSERT_TRUE(store.create(Kind::pod, name, {}));
  }
  EXPECT_EQ(names(*store.list(Kind::pod)), "default/a default/b default/d x/a x/c ");
  EXPECT_EQ(names(*store.list(Kind::pod, {.filter = {.ns = "x"}})), "x/a x/c ");
  EXPECT_EQ(names(*store.list(Kind::pod, {.filter = {.ns = "none"}})), "");
  const auto page = *store.list(Kind::pod, {.limit = 2});
  EXPECT_EQ(names(page), "default/a default/b ");
  EXPECT_TRUE(page.more);
  EXPECT_EQ(page.remaining, 3U);
  const auto next = *store.list(Kind::pod, {.limit = 3, .after = page.items.back()->name});
  EXPECT_EQ(names(next), "default/d x/a x/c ");
  EXPECT_FALSE(next.more);
}

TEST(Store, ALaterPageShowsTheStateOfTheFirst) {
  Store store(still());
  for (const char* name : {"a", "c", "e"}) ASSERT_TRUE(store.create(Kind::pod, at(name), {}));
  const auto first = *store.list(Kind::pod, {.limit = 1});
  ASSERT_TRUE(store.remove(Kind::pod, at("c")));
  ASSERT_TRUE(store.create(Kind::pod, at("b"), {}));
  ASSERT_TRUE(store.update(Kind::pod, at("e"), with_label("new")));
  const auto rest =
      *store.list(Kind::pod, {.after = first.items.back()->name, .at_version = first.version});
  EXPECT_EQ(names(rest), "default/c default/e ");
  EXPECT_EQ(rest.version, first.version);
  EXPECT_TRUE(rest.items.back()->labels.empty());
}

// Every past state that history reaches equals a copy made at that time.
RC_GTEST_PROP(Store, ExactListsEqualCopiesOfThen, ()) {
  Store store(still());
  std::vector<std::pair<std::uint64_t, std::string>> copies;
  const auto steps = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 30));
  for (const int step : steps) {
    const ObjectName name = at(std::string(1, static_cast<char>('a' + step / 3)));
    if (step % 3 == 0) static_cast<void>(store.create(Kind::pod, name, {}));
    if (step % 3 == 1) static_cast<void>(store.remove(Kind::pod, name));
    if (step % 3 == 2) static_cast<void>(store.update(Kind::pod, name, with_label("x")));
    copies.emplace_back(store.version(), names(*store.list(Kind::pod)));
  }
  for (const auto& [version, copy] : copies) {
    RC_ASSERT(names(*store.list(Kind::pod, {.at_version = version})) == copy);
  }
}

TEST(Store, NothingIsCalledBeforeDeliver) {
  Store store(still());
  int woken = 0;
  store.on_pending([&] { ++woken; });
  Seen seen;
  const auto watch = store.watch(Kind::pod, {}, store.version(), seen.record());
  ASSERT_TRUE(watch);
  ASSERT_TRUE(store.create(Kind::pod, at("a"), {}));
  ASSERT_TRUE(store.create(Kind::pod, at("b"), {}));
  EXPECT_EQ(seen.text, "");
  EXPECT_EQ(woken, 1);
  EXPECT_LT(watch->delivered(), store.version());
  store.deliver();
  EXPECT_EQ(seen.text, "+a +b ");
  EXPECT_EQ(watch->delivered(), store.version());
}

TEST(Store, AWatchReplaysWhatHappenedSince) {
  Store store(still());
  ASSERT_TRUE(store.create(Kind::pod, at("a"), {}));
  const std::uint64_t since = store.version();
  ASSERT_TRUE(store.update(Kind::pod, at("a"), with_label("x")));
  ASSERT_TRUE(store.remove(Kind::pod, at("a")));
  ASSERT_TRUE(store.create(Kind::node, at("n", ""), {}));
  Seen seen;
  const auto watch = store.watch(Kind::pod, {}, since, seen.record());
  store.deliver();
  EXPECT_EQ(seen.text, "~a -a ");
}

TEST(Store, ObjectsEnterAndLeaveTheViewOfASelector) {
  Store store(still());
  Seen seen;
  std::vector<WatchEvent> events;
  const auto watch = store.watch(Kind::pod, labelled("app=x"), store.version(), seen.record());
  const auto keep =
      store.watch(Kind::pod, labelled("app=x"), store.version(), [&](const WatchEvent& event) {
        events.push_back(event);
        return Store::Flow::more;
      });
  ASSERT_TRUE(store.create(Kind::pod, at("a"), with_label("y")));
  ASSERT_TRUE(store.update(Kind::pod, at("a"), with_label("x")));
  ASSERT_TRUE(
      store.update(Kind::pod, at("a"), parsed(R"({"metadata":{"labels":{"app":"x","b":"c"}}})")));
  ASSERT_TRUE(store.update(Kind::pod, at("a"), with_label("y")));
  const std::uint64_t left = store.version();
  ASSERT_TRUE(store.update(Kind::pod, at("a"), with_label("z")));
  ASSERT_TRUE(store.update(Kind::pod, at("a"), with_label("x")));
  ASSERT_TRUE(store.remove(Kind::pod, at("a")));
  store.deliver();
  EXPECT_EQ(seen.text, "+a ~a -a +a -a ");
  // It is deleted in its last matching state, with the version of the write that ended the match.
  ASSERT_EQ(events.size(), 5U);
  EXPECT_EQ(events[2].version(), left);
  EXPECT_EQ(events[2].object->labels.size(), 2U);
  EXPECT_EQ(text_at(events[2].object->tree(), "metadata.resourceVersion"), std::to_string(left));
}

TEST(Store, AWatchBelowTheHistoryIsExpired) {
  StoreOptions options = still();
  options.history_events_max = 2;
  Store store(options);
  const std::uint64_t begin = store.version();
  for (const char* name : {"a", "b", "c"}) ASSERT_TRUE(store.create(Kind::pod, at(name), {}));
  Seen seen;
  EXPECT_EQ(store.watch(Kind::pod, {}, begin, seen.record()).error().code, 410);
  EXPECT_EQ(store.watch(Kind::pod, {}, 1'000'000, seen.record()).error().code, 410);
  EXPECT_TRUE(store.watch(Kind::pod, {}, begin + 1, seen.record()));
  EXPECT_TRUE(store.watch(Kind::node, {}, begin, seen.record()));
  EXPECT_EQ(store.list(Kind::pod, {.at_version = begin}).error().code, 410);
}

TEST(Store, HistoryIsBoundedInBytesToo) {
  StoreOptions options = still();
  options.history_bytes_max = 2000;
  Store store(options);
  const std::uint64_t begin = store.version();
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(store.create(Kind::pod, at("p" + std::to_string(i)), {}));
  }
  Seen seen;
  EXPECT_FALSE(store.watch(Kind::pod, {}, begin, seen.record()));
  EXPECT_TRUE(store.watch(Kind::pod, {}, store.version() - 1, seen.record()));
}

TEST(Store, APausedWatcherGoesOnWhereItStopped) {
  Store store(still());
  Seen seen;
  seen.flow = Store::Flow::pause;
  auto watch = store.watch(Kind::pod, {}, store.version(), seen.record());
  for (const char* name : {"a", "b", "c"}) ASSERT_TRUE(store.create(Kind::pod, at(name), {}));
  store.deliver();
  EXPECT_EQ(seen.text, "+a ");
  store.deliver();
  EXPECT_EQ(seen.text, "+a ");
  seen.flow = Store::Flow::more;
  watch->resume();
  store.deliver();
  EXPECT_EQ(seen.text, "+a +b +c ");
}

TEST(Store, APausedWatcherLosesItsPlaceWhenHistoryGoes) {
  StoreOptions options = still();
  options.history_events_max = 2;
  Store store(options);
  Seen seen;
  seen.flow = Store::Flow::pause;
  bool lost = false;
  auto watch = store.watch(Kind::pod, {}, store.version(), seen.record(), [&] { lost = true; });
  ASSERT_TRUE(store.create(Kind::pod, at("a"), {}));
  store.deliver();
  for (const char* name : {"b", "c", "d", "e"}) ASSERT_TRUE(store.create(Kind::pod, at(name), {}));
  watch->resume();
  store.deliver();
  EXPECT_TRUE(lost);
  EXPECT_EQ(seen.text, "+a ");
}

TEST(Store, WritesFromCallbacksAreDeliveredInOrderToAll) {
  Store store(still());
  Seen first;
  Seen second;
  const auto writer = store.watch(Kind::pod, {}, store.version(), [&](const WatchEvent& event) {
    if (event.object->name.name == "a") static_cast<void>(store.create(Kind::pod, at("b"), {}));
    return first.record()(event);
  });
  const auto reader = store.watch(Kind::pod, {}, store.version(), second.record());
  ASSERT_TRUE(store.create(Kind::pod, at("a"), {}));
  store.deliver();
  EXPECT_EQ(first.text, "+a +b ");
  EXPECT_EQ(second.text, "+a +b ");
}

TEST(Store, ALimitedDeliveryAsksToBeCalledAgain) {
  Store store(still());
  int woken = 0;
  store.on_pending([&] { ++woken; });
  Seen seen;
  const auto watch = store.watch(Kind::pod, {}, store.version(), seen.record());
  for (const char* name : {"a", "b", "c"}) ASSERT_TRUE(store.create(Kind::pod, at(name), {}));
  store.deliver(2);
  EXPECT_EQ(seen.text, "+a +b ");
  EXPECT_EQ(woken, 2);
  store.deliver(2);
  EXPECT_EQ(seen.text, "+a +b +c ");
  EXPECT_EQ(woken, 2);
}

TEST(Store, AWatchMayEndItselfAndOthersInACallback) {
  Store store(still());
  Watch one;
  Watch two;
  Seen seen;
  one = std::move(*store.watch(Kind::pod, {}, store.version(), [&](const WatchEvent&) {
    one = {};
    two = {};
    return Store::Flow::more;
  }));
  two = std::move(*store.watch(Kind::pod, {}, store.version(), seen.record()));
  ASSERT_TRUE(store.create(Kind::pod, at("a"), {}));
  ASSERT_TRUE(store.create(Kind::pod, at("b"), {}));
  store.deliver();
  EXPECT_EQ(seen.text, "");
  EXPECT_FALSE(one.active());
}

TEST(Store, KnowsTheControllerOfAnObject) {
  Store store(still());
  const auto made = *store.create(Kind::pod, at("a"), parsed(R"({"metadata":{"ownerReferences":[
      {"uid":"u1","controller":false},{"uid":"u2","controller":true}]}})"));
  EXPECT_EQ(made->owner_uid, "u2");
}

}  // namespace
}  // namespace stowage::local
