#include "mps/card_state.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "mps/layout.h"

namespace stowage::mps {
namespace {

RC_GTEST_PROP(CardState, IsReadAsItWasWritten, ()) {
  const CardState state{.running = *rc::gen::arbitrary<bool>(),
                        .exclusive = *rc::gen::arbitrary<bool>(),
                        .error = *rc::gen::container<std::string>(rc::gen::inRange(' ', '~')),
                        .written_unix = *rc::gen::inRange<std::int64_t>(0, 4'000'000'000)};
  const auto read = parse_card_state(to_json(state));
  RC_ASSERT(read.has_value());
  RC_ASSERT(*read == state);
}

TEST(CardState, ThatMakesNoSenseIsAnError) {
  for (const char* text : {"", "[]", R"({"version":2})", R"({"running":1})", R"({"written":"x"})",
                           R"({"version":1,"running":tru)"}) {
    EXPECT_FALSE(parse_card_state(text)) << text;
  }
  EXPECT_FALSE(parse_card_state(std::string(1 << 20U, ' ')));
  EXPECT_TRUE(parse_card_state(R"({"version":1,"later":[1,{}],"running":true})")->running);
}

TEST(CardFolders, HaveNoNamesThatLeadElsewhere) {
  EXPECT_TRUE(usable_as_name("GPU-8f6c1a2b-0000-1111-2222-333344445555"));
  EXPECT_TRUE(usable_as_name("MIG-8f6c1a2b-0000-1111-2222-333344445555"));
  for (const char* name : {"", "..", "a/b", "n1/0", "a b", "GPU-\n"}) {
    EXPECT_FALSE(usable_as_name(name)) << name;
  }
  EXPECT_FALSE(usable_as_name(std::string(65, 'a')));
}

}  // namespace
}  // namespace stowage::mps
