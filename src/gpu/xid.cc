#include "gpu/xid.h"

#include <algorithm>
#include <array>

namespace stowage::gpu {
namespace {

struct Row {
  std::uint32_t xid;
  XidMeaning meaning;
};

// No effect: errors that NVIDIA's device plugin attributes to applications (13, 31, 43, 45, 68,
// 109), test messages (106, 107), and 154, which only reports that the driver's recommendation
// about a reset has changed; samples contain the recommendation. A reset: errors for which NVIDIA's
// catalogue requires one, and two for which it recommends one when convenient (48, 94), because a
// scheduler can use other cards meanwhile. All others: rest, unless HealthOptions::xids overrides
// it.
constexpr std::array kRows = std::to_array<Row>({
    {13, {XidEffect::none, "exception in the graphics engine"}},
    {31, {XidEffect::none, "page fault in the card's memory"}},
    {32, {XidEffect::rest, "corrupted stream of commands"}},
    {38, {XidEffect::rest, "firmware error of the driver"}},
    {43, {XidEffect::none, "an application stopped the card's work"}},
    {45, {XidEffect::none, "clean-up after an earlier error"}},
    {46, {XidEffect::needs_reset, "the card stopped working"}},
    {48, {XidEffect::needs_reset, "double-bit memory error"}},
    {61, {XidEffect::rest, "breakpoint of an internal processor"}},
    {62, {XidEffect::needs_reset, "an internal processor halted"}},
    {63, {XidEffect::rest, "bad memory was taken out of use"}},
    {64, {XidEffect::needs_reset, "bad memory could not be taken out of use"}},
    {68, {XidEffect::none, "exception in the video processor"}},
    {69, {XidEffect::rest, "error of the graphics engine"}},
    {74, {XidEffect::rest, "NVLink error"}},
    {79, {XidEffect::needs_reset, "the card has fallen off the bus"}},
    {92, {XidEffect::rest, "many single-bit memory errors"}},
    {94, {XidEffect::needs_reset, "contained memory error"}},
    {95, {XidEffect::needs_reset, "uncontained memory error"}},
    {106, {XidEffect::none, "test message"}},
    {107, {XidEffect::none, "test message"}},
    {109, {XidEffect::none, "switching between applications took too long"}},
    {119, {XidEffect::needs_reset, "the card's system processor does not answer"}},
    {120, {XidEffect::needs_reset, "error of the card's system processor"}},
    {121, {XidEffect::rest, "error of the link to the CPU"}},
    {140, {XidEffect::needs_reset, "memory errors that could not be handled"}},
    {154, {XidEffect::none, "the required recovery action changed"}},
    {155, {XidEffect::needs_reset, "NVLink error"}},
    {156, {XidEffect::needs_reset, "a part of the card was taken out of use"}},
});

}  // namespace

XidMeaning meaning_of(std::uint32_t xid) {
  const auto found = std::lower_bound(kRows.begin(), kRows.end(), xid,
                                      [](const Row& row, std::uint32_t x) { return row.xid < x; });
  return found != kRows.end() && found->xid == xid ? found->meaning : XidMeaning{};
}

}  // namespace stowage::gpu
