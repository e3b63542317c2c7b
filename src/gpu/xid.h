// What the numbers mean by which the driver reports errors (NVIDIA, "XID Errors").
#pragma once

#include <cstdint>

namespace stowage::gpu {

enum class XidEffect : std::uint8_t {
  none,         // of an application, or of no consequence: the card is as good as before
  rest,         // the card is not to be trusted for a while
  needs_reset,  // the card is of no use before it was reset
};

struct XidMeaning {
  XidEffect effect = XidEffect::rest;
  const char* words = "";  // empty: a number that we have no words for
};
[[nodiscard]] XidMeaning meaning_of(std::uint32_t xid);

}  // namespace stowage::gpu
