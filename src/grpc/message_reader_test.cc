#include "grpc/message_reader.h"

#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/rng.h"
#include "grpc/testing/frames.h"

namespace stowage::grpc {
namespace {

using Fault = MessageReader::Fault;
using testing::message;

std::vector<std::string> read_all(MessageReader& reader, std::string_view bytes,
                                  std::size_t piece) {
  std::vector<std::string> messages;
  while (!bytes.empty() && reader.fault() == Fault::none) {
    const std::size_t used = reader.put(bytes.substr(0, piece));
    bytes.remove_prefix(used);
    if (reader.complete()) messages.push_back(reader.take());
  }
  return messages;
}

TEST(MessageReader, CutsByLengthWhereverTheBytesAreCut) {
  const std::string bytes = message("ab") + message("") + message(std::string(300, 'x'));
  const std::vector<std::string> expected = {"ab", "", std::string(300, 'x')};
  for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
    MessageReader reader(1000);
    EXPECT_EQ(read_all(reader, bytes, piece), expected) << piece;
    EXPECT_TRUE(reader.between_messages());
    EXPECT_EQ(reader.held(), 0U);
  }
}

TEST(MessageReader, KnowsWhenAMessageIsCutOff) {
  MessageReader reader(1000);
  EXPECT_TRUE(read_all(reader, message("abc").substr(0, 3), 10).empty());
  EXPECT_FALSE(reader.between_messages());
  EXPECT_TRUE(read_all(reader, message("abc").substr(3, 3), 10).empty());
  EXPECT_FALSE(reader.between_messages());
  EXPECT_EQ(reader.held(), 1U);
}

TEST(MessageReader, RefusesWhatIsCompressedOrTooLong) {
  MessageReader compressed(1000);
  EXPECT_TRUE(read_all(compressed, message("abc", '\1'), 100).empty());
  EXPECT_EQ(compressed.fault(), Fault::compressed);
  EXPECT_EQ(compressed.put("more"), 0U);

  MessageReader small(3);
  EXPECT_EQ(read_all(small, message("abc"), 100), std::vector<std::string>{"abc"});
  EXPECT_TRUE(read_all(small, message("abcd"), 100).empty());
  EXPECT_EQ(small.fault(), Fault::too_long);
  EXPECT_EQ(small.length(), 4U);
  EXPECT_EQ(small.held(), 0U);
}

TEST(MessageReader, AllocatesNothingForWhatIsOnlyAnnounced) {
  MessageReader reader(std::size_t{16} << 20U);
  const std::string head = message_head(std::size_t{16} << 20U);
  EXPECT_EQ(reader.put(head + "x"), 6U);
  EXPECT_EQ(reader.held(), 1U);
}

TEST(MessageReader, WritesTheHeadThatItReads) {
  EXPECT_EQ(message_head(3) + "abc", message("abc"));
  EXPECT_EQ(message_head(0x01020304), std::string("\0\1\2\3\4", 5));
}

RC_GTEST_PROP(MessageReader, AnyMessagesInAnyPieces,
              (const std::vector<std::string>& messages, std::uint64_t seed)) {
  std::string bytes;
  for (const std::string& each : messages) bytes += message(each);
  base::Rng rng(seed);
  MessageReader reader(1 << 20);
  std::vector<std::string> found;
  std::string_view rest = bytes;
  while (!rest.empty()) {
    rest.remove_prefix(reader.put(rest.substr(0, 1 + rng.below(40))));
    if (reader.complete()) found.push_back(reader.take());
  }
  RC_ASSERT(found == messages);
  RC_ASSERT(reader.between_messages());
}

}  // namespace
}  // namespace stowage::grpc
