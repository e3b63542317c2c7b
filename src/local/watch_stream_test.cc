#include "local/watch_stream.h"

#include <gtest/gtest.h>

#include "local/test_cluster.h"

namespace stowage::local {
namespace {

// A client that reads only when the test tells it to.
class FakeClient : public net::Responder {
 public:
  void send(net::HttpResponse) override { FAIL() << "a watch is a stream"; }
  void begin(net::HttpResponse head) override { status = head.status; }
  void upgrade(std::string, std::function<void(std::string_view)>) override {}
  void write(std::shared_ptr<const std::string> chunk) override {
    text += *chunk;
    backlog_ += chunk->size();
  }
  void end() override { ended = true; }
  [[nodiscard]] std::size_t backlog() const override { return slow ? backlog_ : 0; }
  void abort() override { ended = true; }
  void on_closed(std::function<void()>) override {}
  void drain() { backlog_ = 0; }

  // "ADDED p 5" per line.
  std::string lines() const {
    std::string out;
    std::string_view rest = text;
    while (!rest.empty()) {
      const std::size_t end = rest.find('\n');
      const json::object event = parsed(rest.substr(0, end));
      out += std::string(text_at(event, "type")) + " " +
             std::string(text_at(event, "object.metadata.name")) + "\n";
      rest.remove_prefix(end + 1);
    }
    return out;
  }

  int status = 0;
  bool ended = false;
  bool slow = false;
  std::string text;

 private:
  std::size_t backlog_ = 0;
};

class WatchStreamTest : public testing::Test {
 protected:
  WatchStream& open(WatchRequest request, WatchLimits limits = {}) {
    stream_ = std::make_unique<WatchStream>(cluster_.store(), std::move(request), client_, limits,
                                            start_);
    stream_->start();
    return *stream_;
  }

  TestCluster cluster_;
  std::shared_ptr<FakeClient> client_ = std::make_shared<FakeClient>();
  SteadyTime start_{};
  std::unique_ptr<WatchStream> stream_;
};

TEST_F(WatchStreamTest, BeginsWithWhatThereIsAndGoesOn) {
  cluster_.pod("p");
  open({.kind = Kind::pod, .initial_events = true});
  EXPECT_EQ(client_->status, 200);
  EXPECT_EQ(client_->lines(), "ADDED p\n");
  cluster_.pod("q");
  ASSERT_TRUE(cluster_.api.remove(Kind::pod, {"default", "p"}));
  cluster_.store().deliver();
  EXPECT_EQ(client_->lines(), "ADDED p\nADDED q\nDELETED p\n");
}

TEST_F(WatchStreamTest, AStreamedListSaysWhereItEnds) {
  cluster_.pod("p");
  open({.kind = Kind::pod, .initial_events = true, .initial_end = true, .bookmarks = true});
  EXPECT_EQ(client_->lines(), "ADDED p\nBOOKMARK \n");
  EXPECT_NE(client_->text.find(R"("k8s.io/initial-events-end":"true")"), std::string::npos);
}

TEST_F(WatchStreamTest, AnExpiredVersionIsAnErrorEventAndTheEnd) {
  StoreOptions options;
  options.history_events_max = 1;
  TestCluster cluster(options);
  for (const char* name : {"a", "b", "c"}) cluster.pod(name);
  WatchStream stream(cluster.store(), {.kind = Kind::pod, .since = 1}, client_, {}, start_);
  stream.start();
  EXPECT_TRUE(stream.done());
  EXPECT_TRUE(client_->ended);
  const json::object event = parsed(client_->text);
  EXPECT_EQ(text_at(event, "type"), "ERROR");
  EXPECT_EQ(int_at(event, "object.code"), 410);
  EXPECT_EQ(text_at(event, "object.reason"), "Expired");
}

TEST_F(WatchStreamTest, BookmarksComeOnTimeAndTheEndToo) {
  WatchStream& stream = open({.kind = Kind::pod,
                              .since = cluster_.store().version(),
                              .bookmarks = true,
                              .timeout = std::chrono::seconds{100}});
  stream.tick(start_ + std::chrono::seconds{59});
  EXPECT_EQ(client_->text, "");
  ASSERT_TRUE(cluster_.make(Kind::node, R"({"metadata":{"name":"n"}})"));
  stream.tick(start_ + std::chrono::seconds{60});
  const json::object bookmark = parsed(client_->text);
  EXPECT_EQ(text_at(bookmark, "type"), "BOOKMARK");
  EXPECT_EQ(text_at(bookmark, "object.metadata.resourceVersion"),
            std::to_string(cluster_.store().version()));
  stream.tick(start_ + std::chrono::seconds{100});
  EXPECT_TRUE(client_->ended);
  EXPECT_TRUE(stream.done());
}

TEST_F(WatchStreamTest, ASlowClientFallsBehindAndCatchesUp) {
  client_->slow = true;
  WatchStream& stream =
      open({.kind = Kind::pod, .since = cluster_.store().version()}, {.backlog_max = 100});
  for (int i = 0; i < 300; ++i) cluster_.pod("p" + std::to_string(i));
  cluster_.store().deliver();
  EXPECT_TRUE(stream.behind());
  const std::size_t first = client_->text.size();
  EXPECT_LT(first, 100'000U);
  stream.tick(start_);
  cluster_.store().deliver();
  EXPECT_EQ(client_->text.size(), first);
  for (int i = 0; i < 100 && stream.behind(); ++i) {
    client_->drain();
    stream.tick(start_);
    cluster_.store().deliver();
  }
  EXPECT_FALSE(stream.behind());
  std::size_t count = 0;
  for (const char c : client_->text) count += c == '\n' ? 1 : 0;
  EXPECT_EQ(count, 300U);
}

TEST_F(WatchStreamTest, ALargeInitialListWaitsForTheClientToo) {
  for (int i = 0; i < 300; ++i) cluster_.pod("p" + std::to_string(i));
  client_->slow = true;
  WatchStream& stream = open({.kind = Kind::pod, .initial_events = true}, {.backlog_max = 100});
  EXPECT_TRUE(stream.behind());
  cluster_.pod("last");
  for (int i = 0; i < 100 && stream.behind(); ++i) {
    client_->drain();
    stream.tick(start_);
    cluster_.store().deliver();
  }
  const std::string lines = client_->lines();
  EXPECT_TRUE(lines.ends_with("ADDED last\n"));
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 301);
}

TEST_F(WatchStreamTest, AClientThatIsTooSlowIsCutCleanly) {
  StoreOptions options;
  options.history_events_max = 5;
  TestCluster cluster(options);
  client_->slow = true;
  WatchStream stream(cluster.store(), {.kind = Kind::pod, .since = cluster.store().version()},
                     client_, {.backlog_max = 100}, start_);
  stream.start();
  cluster.pod("first");
  cluster.store().deliver();
  cluster.pod("second");
  cluster.store().deliver();
  for (int i = 0; i < 20; ++i) cluster.pod("p" + std::to_string(i));
  client_->drain();
  stream.tick(start_);
  cluster.store().deliver();
  EXPECT_TRUE(client_->ended);
}

TEST_F(WatchStreamTest, TablesNameTheirColumnsOnce) {
  open({.kind = Kind::pod, .shape = {.form = Form::table}, .initial_events = true});
  cluster_.pod("p");
  cluster_.pod("q");
  cluster_.store().deliver();
  const std::size_t end = client_->text.find('\n');
  EXPECT_NE(client_->text.substr(0, end).find(R"("name":"Ready")"), std::string::npos);
  EXPECT_NE(client_->text.substr(end).find(R"("columnDefinitions":null)"), std::string::npos);
}

}  // namespace
}  // namespace stowage::local
