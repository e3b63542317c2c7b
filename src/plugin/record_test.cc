#include "plugin/record.h"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sys/resource.h>

#include <gtest/gtest.h>

#include "net/testing/temporary_folder.h"
#include "plugin/record_store.h"

namespace stowage::plugin {
namespace {

Record record(const std::string& name) {
  return {.name = name,
          .resource = "stowage.dev/attachment",
          .ids = {"attachment-0001", "attachment-0002"},
          .allocated_unix = 1'790'000'000,
          .given = {}};
}

GivenCards cards(const std::string& card = "GPU-1") {
  return {.pod_uid = "u",
          .ns = "ml",
          .pod = "p",
          .container = "main",
          .cards = {card, "MIG-2"},
          .shares = {{.milli = 250, .memory_mib = 3072}, {.milli = 1000}},
          .decided_nanos = 1'790'000'000'123'456'789};
}

TEST(Record, LinesAreReadBack) {
  const std::vector<RecordChange> changes{Allocated{record("a-1")}, Given{"a-1", cards()},
                                          Dropped{"a-1"}};
  for (const RecordChange& change : changes) {
    const std::string line = to_line(change);
    EXPECT_EQ(line.back(), '\n');
    const auto read = parse_record_line(line);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(*read, change);
  }
}

TEST(Record, DamagedLinesAreErrors) {
  const std::string line = to_line(Given{"a-1", cards()});
  for (std::size_t length = 0; length + 1 < line.size(); ++length) {
    EXPECT_FALSE(parse_record_line(line.substr(0, length))) << length;
  }
  for (std::size_t i = 0; i + 1 < line.size(); ++i) {
    std::string other = line;
    other[i] = static_cast<char>(other[i] ^ 1);
    EXPECT_FALSE(parse_record_line(other)) << i;
  }
}

TEST(Record, NamesOfDevices) {
  EXPECT_EQ(qualified_name("ab-1"), "stowage.dev/gpu=ab-1");
  EXPECT_EQ(own_name("stowage.dev/gpu=ab-1"), "ab-1");
  EXPECT_EQ(own_name("nvidia.com/gpu=0"), "");
  EXPECT_EQ(own_name("stowage.dev/gpu"), "");
  EXPECT_EQ(own_name("stowage.dev/gpus=a"), "");
  EXPECT_EQ(own_name("stowage.dev/gpu=../../etc/passwd"), "");
  EXPECT_EQ(own_name("stowage.dev/gpu=.a"), "");
  EXPECT_FALSE(is_cdi_name(std::string(64, 'a')));
}

class RecordStoreTest : public ::testing::Test {
 protected:
  [[nodiscard]] RecordStore open() const {
    auto store = RecordStore::open(folder_.path("state"));
    EXPECT_TRUE(store) << store.error().message;
    return std::move(*store);
  }
  [[nodiscard]] std::string file() const { return folder_.path("state") + "/records"; }

  net::testing::TemporaryFolder folder_;
};

TEST_F(RecordStoreTest, KeepsWhatItWasTold) {
  {
    RecordStore store = open();
    ASSERT_TRUE(store.allocate(record("a-1")));
    ASSERT_TRUE(store.allocate(record("a-2")));
    ASSERT_TRUE(store.allocate(record("a-3")));
    ASSERT_TRUE(store.give("a-2", cards()));
    ASSERT_TRUE(store.drop("a-3"));
  }
  const RecordStore again = open();
  EXPECT_EQ(again.all().size(), 2U);
  EXPECT_EQ(*again.find("a-1"), record("a-1"));
  ASSERT_TRUE(again.find("a-2")->given);
  EXPECT_EQ(*again.find("a-2")->given, cards());
  EXPECT_EQ(again.find("a-3"), nullptr);
  EXPECT_EQ(again.unreadable_lines(), 0U);
}

// The machine lost power while the last line was written.
TEST_F(RecordStoreTest, ALineThatIsCutOffIsSkipped) {
  {
    RecordStore store = open();
    ASSERT_TRUE(store.allocate(record("a-1")));
    ASSERT_TRUE(store.give("a-1", cards()));
  }
  std::filesystem::resize_file(file(), std::filesystem::file_size(file()) - 5);
  {
    RecordStore store = open();
    EXPECT_EQ(store.unreadable_lines(), 1U);
    ASSERT_NE(store.find("a-1"), nullptr);
    EXPECT_FALSE(store.find("a-1")->given);
    ASSERT_TRUE(store.give("a-1", cards("GPU-9")));
  }
  RecordStore again = open();
  ASSERT_TRUE(again.find("a-1")->given);
  EXPECT_EQ(*again.find("a-1")->given, cards("GPU-9"));
}

// Whatever lines say: the first cards of a name count.
TEST_F(RecordStoreTest, TheFirstWordCounts) {
  { (void)open(); }
  std::ofstream(file()) << to_line(Given{"a-1", cards("GPU-0")})
                        << to_line(Allocated{record("a-1")})
                        << to_line(Given{"a-1", cards("GPU-1")})
                        << to_line(Given{"a-1", cards("GPU-2")}) << "nonsense\n";
  const RecordStore store = open();
  EXPECT_EQ(*store.find("a-1")->given, cards("GPU-1"));
  EXPECT_EQ(store.unreadable_lines(), 1U);
}

TEST_F(RecordStoreTest, TheFileStaysSmall) {
  RecordStore store = open();
  for (int i = 0; i < 200; ++i) {
    Record large = record("a-" + std::to_string(i));
    for (int id = 0; id < 1000; ++id) large.ids.push_back("attachment-" + std::to_string(id));
    ASSERT_TRUE(store.allocate(std::move(large)));
    if (i >= 10) {
      ASSERT_TRUE(store.drop("a-" + std::to_string(i - 10)));
    }
  }
  EXPECT_LT(std::filesystem::file_size(file()), std::size_t{1} << 20U);
  EXPECT_EQ(open().all().size(), 10U);
}

// RLIMIT_FSIZE stands for a full disk.
TEST_F(RecordStoreTest, AFullDiskIsAnErrorAndLosesNothing) {
  RecordStore store = open();
  ASSERT_TRUE(store.allocate(record("a-1")));
  const auto before = std::signal(SIGXFSZ, SIG_IGN);
  rlimit old{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  const rlimit full{.rlim_cur = std::filesystem::file_size(file()) + 20, .rlim_max = old.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &full), 0);
  const Status refused = store.allocate(record("a-2"));
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &old), 0);
  std::signal(SIGXFSZ, before);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("File too large"), std::string::npos);
  EXPECT_EQ(store.trouble(), refused.error().message);
  EXPECT_EQ(store.find("a-2"), nullptr);
  store.recover();
  EXPECT_EQ(store.trouble(), "");
  ASSERT_TRUE(store.allocate(record("a-3")));
  const RecordStore again = open();
  EXPECT_EQ(again.all().size(), 2U);
  EXPECT_EQ(again.unreadable_lines(), 0U);
}

TEST_F(RecordStoreTest, AFolderThatCannotBeMadeIsAnError) {
  std::ofstream(folder_.path("state")) << "a file";
  const auto store = RecordStore::open(folder_.path("state"));
  ASSERT_FALSE(store);
  EXPECT_NE(store.error().message.find(folder_.path("state")), std::string::npos);
}

TEST_F(RecordStoreTest, TheNumberOfRecordsIsLimited) {
  { (void)open(); }
  std::string lines;
  for (std::size_t i = 0; i < RecordStore::kRecordsMax; ++i) {
    lines += to_line(Allocated{record("a-" + std::to_string(i))});
  }
  std::ofstream(file()) << lines;
  RecordStore store = open();
  EXPECT_FALSE(store.allocate(record("b")));
  ASSERT_TRUE(store.drop("a-7"));
  EXPECT_TRUE(store.allocate(record("b")));
}

}  // namespace
}  // namespace stowage::plugin
