// Parts of the simulation that can be switched on and off. A seed draws some of them; options of
// the program can require or exclude them, so that a finding can be traced to one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace stowage::faults {

enum class Feature : std::uint8_t {
  devices,      // pods of nvidia.com/gpu, on nodes that only count their cards
  resize,       // counted nodes lose and gain cards; their device plugin restarts
  unread,       // others bind pods whose cards are unnamed or unreadable
  reorder,      // inventories list their cards in another order, or replace some
  rules,        // affinity, anti-affinity and spread between pods
  waits,        // capacity is kept for pods that wait long
  nominations,  // another scheduler nominates pods for nodes
  reload,       // the configuration changes while a replica runs
  volumes,      // claims that wait for their first consumer, and a slow provisioner
  late,         // kube-scheduler binds up to 600 s after it has filtered
  lease,        // a user deletes the Lease
  untrusted,    // a tenant writes annotations that only the controller may write
  hostile,      // pods with very many terms, constraints and resources
  quota,        // quotas in thousandths, in memory and by nodes; shares of memory alone
  proxy,        // a proxy between us and the API server answers 404
  unlisted,     // inventories disappear for a while, then give their cards other indexes
  indexed,      // others bind pods whose annotations have the indexes of their cards, but no ids
  restarts,     // kube-scheduler restarts while its calls are open, and so do replicas
  replies,      // replies to binds are lost while watches lag and pods compete for cards
};
inline constexpr std::uint32_t kFeatures = 19;

class Features {
 public:
  [[nodiscard]] bool has(Feature feature) const { return (bits_ & bit(feature)) != 0; }
  void add(Feature feature) { bits_ |= bit(feature); }
  void remove(Feature feature) { bits_ &= ~bit(feature); }
  [[nodiscard]] bool empty() const { return bits_ == 0; }
  friend bool operator==(const Features&, const Features&) = default;

 private:
  [[nodiscard]] static std::uint32_t bit(Feature feature) {
    return std::uint32_t{1} << static_cast<std::uint32_t>(feature);
  }
  std::uint32_t bits_ = 0;
};

// The choice on the command line.
struct FeatureChoice {
  std::optional<Features> only;  // exactly these, in every run
  Features without;              // never these
};
[[nodiscard]] Features draw_features(std::uint64_t seed, const FeatureChoice& choice);

[[nodiscard]] std::string_view name_of(Feature feature);
// "devices,resize"; "none": no feature. Unset: an unknown name.
[[nodiscard]] std::optional<Features> parse_features(std::string_view text);
[[nodiscard]] std::string to_text(const Features& features);

}  // namespace stowage::faults
