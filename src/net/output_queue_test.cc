#include "net/output_queue.h"

#include <array>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "net/input_buffer.h"

namespace stowage::net {
namespace {

std::string gathered(const OutputQueue& queue, std::size_t pieces_max) {
  std::vector<std::string_view> pieces(pieces_max);
  const std::size_t count = queue.gather(pieces);
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += pieces[i];
  return text;
}

TEST(OutputQueue, JoinsTheFramingOfChunks) {
  OutputQueue queue;
  const auto chunk = std::make_shared<const std::string>("abc");
  for (int i = 0; i < 3; ++i) {
    queue.push("3\r\n");
    queue.push_payload(chunk);
    queue.push("\r\n");
  }
  std::array<std::string_view, 16> pieces;
  EXPECT_EQ(queue.gather(pieces), 7U);
  EXPECT_EQ(pieces[2], "\r\n3\r\n");
  EXPECT_EQ(pieces[1].data(), chunk->data()) << "the payload is not copied";
  EXPECT_EQ(queue.payload(), 9U);
}

RC_GTEST_PROP(OutputQueue, GivesTheBytesBackInOrderAndCountsThePayload, ()) {
  struct Byte {
    char value;
    bool payload;
  };
  OutputQueue queue;
  std::vector<Byte> model;
  const int steps = *rc::gen::inRange(0, 60);
  for (int i = 0; i < steps; ++i) {
    const auto bytes = *rc::gen::container<std::string>(rc::gen::inRange('a', 'z'));
    switch (*rc::gen::inRange(0, 3)) {
      case 0:
        for (const char c : bytes) model.push_back({c, false});
        queue.push(bytes);
        break;
      case 1:
        for (const char c : bytes) model.push_back({c, true});
        queue.push_payload(std::make_shared<const std::string>(bytes));
        break;
      default: {
        const auto visible = gathered(queue, *rc::gen::inRange<std::size_t>(1, 5));
        const std::size_t count = *rc::gen::inRange<std::size_t>(0, visible.size() + 1);
        for (std::size_t k = 0; k < visible.size(); ++k) RC_ASSERT(visible[k] == model[k].value);
        queue.consume(count);
        model.erase(model.begin(), model.begin() + static_cast<std::ptrdiff_t>(count));
      }
    }
    std::size_t payload = 0;
    for (const Byte& byte : model) payload += byte.payload ? 1 : 0;
    RC_ASSERT(queue.payload() == payload);
    RC_ASSERT(queue.empty() == model.empty());
  }
}

RC_GTEST_PROP(InputBuffer, HoldsWhatWasCommittedAndNotConsumed, ()) {
  InputBuffer buffer;
  std::string model;
  char next = 'a';
  const int steps = *rc::gen::inRange(0, 60);
  for (int i = 0; i < steps; ++i) {
    const auto wanted = *rc::gen::inRange<std::size_t>(4, 64);
    const std::span<char> room = buffer.prepare(wanted);
    RC_ASSERT(room.size() >= wanted / 4);
    // Consumed during a read, as by a handler that answers late.
    const auto consumed = *rc::gen::inRange<std::size_t>(0, model.size() + 1);
    buffer.consume(consumed);
    model.erase(0, consumed);
    const auto count = *rc::gen::inRange<std::size_t>(0, room.size() + 1);
    for (std::size_t k = 0; k < count; ++k) {
      room[k] = next;
      model += next;
      next = next == 'z' ? 'a' : static_cast<char>(next + 1);
    }
    buffer.commit(count);
    RC_ASSERT(buffer.view() == model);
    buffer.trim(16);
    RC_ASSERT(buffer.view() == model);
  }
}

}  // namespace
}  // namespace stowage::net
