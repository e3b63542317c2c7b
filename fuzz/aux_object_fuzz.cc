// Decoder::aux_object: the first byte of the input chooses the kind, the rest is the object. A used
// decoder gives the same result as a fresh one, aux_object_name() agrees with aux_object(), and the
// object inside a watch event is the same.
#include <cstdint>
#include <string>

#include "base/testing/json_check.h"
#include "codec/kubernetes.h"
#include "fuzz/fuzz.h"

namespace stowage::fuzz {

void one(std::string_view input) {
  if (input.empty()) return;
  const auto place = static_cast<unsigned char>(input.front()) - static_cast<unsigned char>('a');
  const auto kind = static_cast<core::AuxKind>(static_cast<std::uint8_t>(place) %
                                               static_cast<std::uint8_t>(core::kAuxKinds));
  const std::string_view json = input.substr(1);
  codec::Decoder decoder;
  const auto aux_object = decoder.aux_object(kind, json);
  STOWAGE_CHECK(same(aux_object, decoder.aux_object(kind, json)));
  const auto name = decoder.aux_object_name(kind, json);
  static_cast<void>(good(name));
  if (!good(aux_object)) return;
  STOWAGE_CHECK(static_cast<core::AuxKind>(aux_object->aux_object.index()) == kind);
  // The two skip different parts, which need not be valid JSON.
  STOWAGE_CHECK(name ? *name == aux_object->name : !base::JsonCheck::valid(json));
  const std::string line = R"({"type":"ADDED","object":)" + std::string(json) + "}";
  const auto event = decoder.watch_event(line);
  if (good(event)) STOWAGE_CHECK(same(decoder.aux_object(kind, event->object), aux_object));
}

}  // namespace stowage::fuzz
