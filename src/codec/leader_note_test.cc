#include "codec/leader_note.h"

#include <gtest/gtest.h>

namespace stowage::codec {
namespace {

TEST(LeaderNote, IsWrittenAndReadBack) {
  const LeaderNote note{.extenders = {{"stowage", "http://10.0.0.7:10361"}, {"a", "https://h:1"}}};
  const std::string text = leader_note(note);
  EXPECT_EQ(text,
            R"({"version":1,"extenders":{"a":"https://h:1","stowage":"http://10.0.0.7:10361"}})");
  const auto read = read_leader_note(text);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, note);
}

TEST(LeaderNote, WhatCannotBeReadIsAnError) {
  for (const char* text :
       {"", "{", "[]", "{}", R"({"version":2,"extenders":{}})", R"({"version":"1","extenders":{}})",
        R"({"version":1,"extenders":{"a":7}})"}) {
    EXPECT_FALSE(read_leader_note(text)) << text;
  }
  EXPECT_TRUE(read_leader_note(R"({"version":1,"later":[1,{}]})"));
}

}  // namespace
}  // namespace stowage::codec
