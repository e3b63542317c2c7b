// What kubelets say: which devices they have really given to pods. Their word names the cards of a
// pod of which there is no other; where there is one, and it names other cards, that is told.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/instant.h"
#include "base/keyed_hash.h"
#include "core/model/event.h"
#include "core/model/node.h"
#include "core/model/pod.h"
#include "dialect/kubelet_word.h"
#include "scheduler/notice.h"

namespace stowage::scheduler {

class KubeletCards {
 public:
  // What is known here of one pod on a node.
  class Pod {
   private:
    friend class KubeletCards;
    struct Asked {
      std::vector<core::ContainerSpec> containers;  // without anything but their cards
      bool named = false;                           // by the kubelet
      bool told = false;                            // that its word makes no sense
    };
    std::unique_ptr<Asked> asked_;  // while it is on a node with cards that it has not named
    std::uint64_t cards_ = 0;       // hash of those that it has; 0: not known
    bool astray_ = false;
    bool doubted_ = false;  // it is among those of take_doubted()
  };
  explicit KubeletCards(std::function<base::Instant()> now) : now_(std::move(now)) {}

  // Remembers what the pod is known to have, or what it asks for if that is not known.
  void set_cards(Pod& pod, const core::PodSpec& spec,
                 const std::optional<core::NamedAssignment>& cards);
  void forget(Pod& pod);

  // The devices of a pod on this node. The kubelet knows no uids: of a pod that was replaced by one
  // of its name, the word that was there may be of the one before. It counts if it changes, or if
  // the agent still says so when it must have looked again.
  struct About {
    const std::string& node;
    const std::string& name;  // "namespace/name"
    const std::string& uid;   // of the pod of that name that is there; empty: none is
  };
  void set_word(const About& about, dialect::KubeletWord word);
  void forget_word(const std::string& node, const std::string& pod);
  void forget_node(const std::string& node);  // it has gone, and its agent with it
  // Whether the node's agent is heard of.
  void hear_agent(const std::string& node, bool silent);

  // What follows from the word of its kubelet: one of both, or nothing.
  struct Finding {
    std::optional<core::CardsNamed> cards;
    std::optional<Notice> notice;
  };
  struct Where {
    const std::string& uid;
    const std::string& name;     // "namespace/name"
    const core::NodeSpec* node;  // null: not known
  };
  [[nodiscard]] Finding compare(const Where& where, Pod& pod);
  // Uids of pods whose words were doubted, and may have stood long enough: for believe().
  [[nodiscard]] std::vector<std::string> take_doubted();
  // The word counts if the agent was heard for as long; else it is doubted on.
  [[nodiscard]] Finding believe(const Where& where, Pod& pod);

  [[nodiscard]] std::size_t astray() const { return astray_; }
  [[nodiscard]] std::size_t unnamed() const { return unnamed_; }
  [[nodiscard]] std::size_t by_kubelet() const { return by_kubelet_; }

 private:
  [[nodiscard]] Finding name_cards(const Where& where, Pod& pod, const dialect::KubeletWord& word);
  [[nodiscard]] static Notice notice_of(Notice::Kind kind, const Where& where, std::string text);
  [[nodiscard]] std::uint64_t hash_of(const std::vector<std::string>& ids) const;
  void set_astray(Pod& pod, bool astray);
  struct Heard {
    dialect::KubeletWord word;
    std::string about;  // uid of the pod that it is about; empty: none of that name was there yet
  };
  [[nodiscard]] Heard* word_about(const Where& where);
  void doubt(const Where& where, Pod& pod, base::Instant since);

  std::function<base::Instant()> now_;
  // By node, then by "namespace/name" of the pod: what one node says of a pod takes nothing from
  // what another says, and counts if the pod is on it.
  std::unordered_map<std::string, std::unordered_map<std::string, Heard>> words_;
  std::unordered_map<std::string, base::Instant> agents_;  // by node: heard since, without silence
  std::set<std::pair<base::Instant, std::string>> doubted_;  // uids whose words may be another's
  base::HashKey hash_key_ = base::random_hash_key();
  std::size_t astray_ = 0;
  std::size_t unnamed_ = 0;
  std::size_t by_kubelet_ = 0;
};

}  // namespace stowage::scheduler
