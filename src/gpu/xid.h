// The meaning of the driver's error numbers (NVIDIA, "XID Errors").
#pragma once

#include <cstdint>

namespace stowage::gpu {

enum class XidEffect : std::uint8_t {
  none,         // an application error or without effect: the card is as good as before
  rest,         // the card is not trusted for a while
  needs_reset,  // the card is unusable until it is reset
};

struct XidMeaning {
  XidEffect effect = XidEffect::rest;
  const char* words = "";  // empty: no text for this number
};
[[nodiscard]] XidMeaning meaning_of(std::uint32_t xid);

}  // namespace stowage::gpu
