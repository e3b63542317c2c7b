#include "core/ledger/name_tables.h"

#include <string>

#include <gtest/gtest.h>

namespace stowage::core {
namespace {

TEST(OfferBits, NamesBeyondTheLastBitShareIt) {
  OfferBits bits;
  std::uint32_t seen = 0;
  for (int i = 0; i < 30; ++i) {
    const std::uint32_t bit = bits.take("r" + std::to_string(i));
    EXPECT_EQ(seen & bit, 0U);
    seen |= bit;
  }
  constexpr std::uint32_t kLast = std::uint32_t{1} << 31U;
  for (int i = 30; i < 40; ++i) EXPECT_EQ(bits.take("r" + std::to_string(i)), kLast);
  EXPECT_EQ(bits.take("r3"), bits.find("r3"));
  EXPECT_NE(bits.find("r3"), kLast);
  EXPECT_EQ(bits.find("unknown"), kLast);
}

TEST(NameTables, NumbersACardUntilItIsGivenBack) {
  NameTables names;
  CardState row;
  names.take({.id = "0", .model = "T4", .memory_mib = 16'000}, row);
  EXPECT_EQ(names.models().names()[row.model], "T4");
  EXPECT_EQ(names.memory().sizes()[row.memory_class], 16'000);
  EXPECT_EQ(names.models().cards()[row.model], 1U);
  names.give_back(std::span(&row, 1));
  EXPECT_EQ(names.models().cards()[row.model], 0U);
}

TEST(NameTables, BorrowedOnesReadTheOwnersNamesAndCountNothing) {
  NameTables owner;
  CardState row;
  owner.take({.model = "T4"}, row);
  ASSERT_TRUE(owner.offer("example.com/x"));
  const std::uint32_t bit = owner.offer_bit("way");

  NameTables borrowed;
  borrowed.borrow(owner);
  NameTables again;
  again.borrow(borrowed);
  EXPECT_EQ(&again.models(), &owner.models());
  CardState copy;
  again.take({.model = "T4"}, copy);
  EXPECT_EQ(copy.model, row.model);
  EXPECT_EQ(owner.models().cards()[row.model], 1U);
  EXPECT_FALSE(again.offer("example.com/y"));
  EXPECT_EQ(again.withdraw("example.com/x"), ResourceNames::kNone);
  EXPECT_EQ(again.resources().size(), 1U);
  EXPECT_EQ(again.offer_bit("way"), bit);
}

}  // namespace
}  // namespace stowage::core
