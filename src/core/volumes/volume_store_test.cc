#include "core/volumes/volume_store.h"

#include <gtest/gtest.h>

#include "core/volumes/test_tracker.h"

namespace stowage::core {
namespace {

using testing::bound;
using testing::volume;

TEST(VolumeStore, FindsClaimsByVolumeAndVolumesByClaim) {
  VolumeStore store;
  store.set(bound("c", "v"));
  store.set(bound("d", "v"));
  EXPECT_EQ(*store.claims_on("v"), (VolumeStore::Names{"ns/c", "ns/d"}));
  store.set(bound("c", "w"));
  EXPECT_EQ(*store.claims_on("v"), VolumeStore::Names{"ns/d"});
  store.drop(AuxKind::claim, "ns/d");
  EXPECT_EQ(store.claims_on("v"), nullptr);
  EXPECT_EQ(store.claim("ns/d"), nullptr);

  Volume made = volume("v");
  made.claim = "ns/c";
  store.set(made);
  EXPECT_EQ(*store.volumes_for("ns/c"), VolumeStore::Names{"v"});
  store.drop(AuxKind::volume, "v");
  EXPECT_EQ(store.volumes_for("ns/c"), nullptr);
}

TEST(VolumeStore, FreeAreVolumesThatNoClaimHas) {
  VolumeStore store;
  const auto smallest = [&] {
    const Reach* free = store.free_volumes("local");
    const std::string* name =
        free == nullptr ? nullptr : free->smallest({}, 1, [](const auto&) { return true; });
    return name == nullptr ? "-" : *name;
  };
  EXPECT_EQ(smallest(), "-");
  store.set(volume("big", 20));
  store.set(volume("small", 10));
  EXPECT_EQ(smallest(), "small");
  Volume taken = volume("small", 10);
  taken.claim = "ns/c";
  store.set(taken);
  EXPECT_EQ(smallest(), "big");
  Volume going = volume("big", 20);
  going.deleting = true;
  store.set(going);
  EXPECT_EQ(smallest(), "-");
  store.set(volume("small", 10));
  EXPECT_EQ(smallest(), "small");
}

TEST(VolumeStore, OtherKindsAreIgnored) {
  VolumeStore store;
  store.set(StorageClass{.name = "x"});
  for (const AuxKind kind : {AuxKind::name_space, AuxKind::budget, AuxKind::attachment}) {
    store.drop(kind, "x");
  }
  EXPECT_NE(store.storage_class("x"), nullptr);
  store.drop(AuxKind::storage_class, "x");
  EXPECT_EQ(store.storage_class("x"), nullptr);
}

}  // namespace
}  // namespace stowage::core
