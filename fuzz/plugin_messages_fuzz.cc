// What a kubelet sends to a device plugin: requests are sorted and within their limits, and read as
// the same when written again; so is the plugin's own answer in a checkpoint.
#include <algorithm>

#include "fuzz/fuzz.h"
#include "plugin/messages.h"
#include "plugin/testing/kubelet_messages.h"

namespace stowage::fuzz {
namespace {

void check_ids(const plugin::Ids& ids) {
  STOWAGE_CHECK(!ids.empty() && ids.size() <= plugin::kRequestIdsMax);
  STOWAGE_CHECK(std::adjacent_find(ids.begin(), ids.end(), std::greater_equal<>()) == ids.end());
  for (const std::string& id : ids) STOWAGE_CHECK(id.size() <= plugin::kIdBytesMax);
}

}  // namespace

void one(std::string_view input) {
  if (const auto ids = plugin::read_pre_start_request(input); good(ids)) {
    check_ids(*ids);
    const auto again = plugin::read_pre_start_request(plugin::testing::ids_message(*ids));
    STOWAGE_CHECK(good(again) && *again == *ids);
  }
  if (const auto containers = plugin::read_allocate_request(input); good(containers)) {
    STOWAGE_CHECK(containers->size() <= plugin::kRequestContainersMax);
    for (const plugin::Ids& ids : *containers) check_ids(ids);
    const auto again =
        plugin::read_allocate_request(plugin::testing::allocate_request(*containers));
    STOWAGE_CHECK(good(again) && *again == *containers);
  }
  if (const auto answer = plugin::read_container_response(input); good(answer)) {
    const std::string message = plugin::allocate_response({*answer});
    const auto parts = plugin::testing::all_bytes(message, 1);
    STOWAGE_CHECK(parts.size() == 1);
    const auto again = plugin::read_container_response(parts[0]);
    STOWAGE_CHECK(good(again) && *again == *answer);
  }
}

}  // namespace stowage::fuzz
