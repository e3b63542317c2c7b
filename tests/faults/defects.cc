#include "defects.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include <fmt/format.h>

namespace stowage::faults {
namespace {

constexpr std::array kDefects{
    DefectInfo{Defect::no_reservation, "no-reservation",
               "cards are not reserved while their pod is bound"},
    DefectInfo{Defect::early_release, "early-release",
               "cards are released when a pod begins to terminate"},
    DefectInfo{Defect::lost_reply_is_failure, "lost-reply-is-failure",
               "a binding without a reply counts as not done"},
    DefectInfo{Defect::dropped_event, "dropped-event", "a watch loses every seventh event"},
    DefectInfo{Defect::forgotten_rollback, "forgotten-rollback",
               "a failed bind does not release its cards"},
    DefectInfo{Defect::forgotten_end, "forgotten-end",
               "the end of some pods is not reported to the engine"},
    DefectInfo{Defect::others_unseen, "others-unseen",
               "pods of other schedulers without named cards are not charged"},
    DefectInfo{Defect::no_fence, "no-fence", "bindings may arrive after the lease has ended"},
    DefectInfo{Defect::goes_on, "goes-on", "a leader that lost its lease continues"},
    DefectInfo{Defect::impatient_candidate, "impatient-candidate",
               "a candidate waits for only 2 s of a lease of 6 s"},
    DefectInfo{Defect::stale_list, "stale-list",
               "a new leader begins with an old list of the pods"},
    DefectInfo{Defect::quota_ignored, "quota-ignored", "changes of the quota are ignored"},
    DefectInfo{Defect::node_stays, "node-stays", "deleted nodes stay in the ledger"},
    DefectInfo{Defect::cards_stay, "cards-stay", "cards that a node loses stay in the ledger"},
    DefectInfo{Defect::hold_not_kept, "hold-not-kept",
               "what was pre-allocated to kube-scheduler is not held"},
    DefectInfo{Defect::pre_allocation_unseen, "pre-allocation-unseen",
               "a new leader ignores pre-allocations"},
    DefectInfo{Defect::ledger_sum, "ledger-sum",
               "bound pods are charged a tenth less than their shares"},
    DefectInfo{Defect::quota_sum, "quota-sum", "a quota allows one card, or half of one, too many"},
    DefectInfo{Defect::by_number, "by-number", "a pod of several unnamed cards counts as one card"},
    DefectInfo{Defect::position_for_id, "position-for-id",
               "a binding names the card that is now at the position of the chosen one"},
    DefectInfo{Defect::believes_unsigned, "believes-unsigned",
               "pre-allocations and cards without a signature count"},
};

std::string text_behind(std::string_view text, std::string_view key) {
  const std::size_t at = text.find(key);
  if (at == std::string_view::npos) return {};
  text.remove_prefix(at + key.size());
  return std::string(text.substr(0, text.find('"')));
}

bool is_binding(const net::HttpRequest& request) {
  return request.method == "POST" && request.target.find("/binding") != std::string::npos;
}

bool is_pod_list(const net::HttpRequest& request) {
  return request.method == "GET" && request.target.starts_with("/api/v1/pods?limit=");
}

void shorten_lease(net::HttpResponse& response) {
  constexpr std::string_view kKey = "\"leaseDurationSeconds\":";
  const std::size_t at = response.body.find(kKey);
  if (at == std::string::npos) return;
  const std::size_t begin = at + kKey.size();
  const std::size_t end = response.body.find_first_not_of("0123456789", begin);
  response.body.replace(begin, end - begin, "2");
}

// The event is the queue's own and not stored yet, so it may be changed.
core::Event& own(const core::Event& event) { return const_cast<core::Event&>(event); }

void charge_less(core::PodSeenBound& pod) {
  if (!pod.cards) return;
  for (auto& shares : pod.cards->containers) {
    for (auto& share : shares) share.milli -= share.milli / 10;
  }
}

void count_one(core::PodSeenBound& pod) {
  if (pod.cards) return;
  for (auto& container : pod.pod.containers) {
    if (container.gpu.count > 1) container.gpu.count = 1;
  }
}

void allow_more(core::QuotaChanged& quota) {
  for (auto& [name, each] : quota.quotas.namespaces) {
    for (auto& limit : each.limits) {
      if (limit.cards) ++*limit.cards;
      if (limit.milli) *limit.milli += 500;
      if (limit.memory_mib) *limit.memory_mib += 8192;
    }
  }
}

// Replaces each id of `then` by that of `now`; in two steps, so that none is replaced twice.
void replace_ids(std::string& text, const std::vector<std::string>& then,
                 const std::vector<std::string>& now) {
  const auto replace_all = [&text](const std::string& from, const std::string& to) {
    for (std::size_t at = text.find(from); at != std::string::npos;
         at = text.find(from, at + to.size())) {
      text.replace(at, from.size(), to);
    }
  };
  const std::size_t count = std::min(then.size(), now.size());
  for (std::size_t i = 0; i < count; ++i) replace_all(then[i] + "\\\"", fmt::format("#{}#", i));
  for (std::size_t i = 0; i < count; ++i) replace_all(fmt::format("#{}#", i), now[i] + "\\\"");
}

std::function<void(net::HttpRequest&)> name_by_position(const DefectDeps& deps) {
  auto first = std::make_shared<std::map<std::string, std::vector<std::string>>>();
  return [first, inventory = deps.inventory](net::HttpRequest& request) {
    if (!is_binding(request)) return;
    const std::string node = text_behind(request.body, R"("kind":"Node","name":")");
    const std::vector<std::string> now = inventory(node);
    const auto [then, fresh] = first->try_emplace(node, now);
    if (!fresh) replace_ids(request.body, then->second, now);
  };
}

}  // namespace

std::span<const DefectInfo> all_defects() { return kDefects; }

std::optional<Defect> defect_named(std::string_view name) {
  for (const DefectInfo& each : kDefects) {
    if (each.name == name) return each.defect;
  }
  return std::nullopt;
}

std::string_view name_of(Defect defect) {
  for (const DefectInfo& each : kDefects) {
    if (each.defect == defect) return each.name;
  }
  return "none";
}

std::string bound_uid(const net::HttpRequest& request) {
  return is_binding(request) ? text_behind(request.body, "\"uid\":\"") : std::string();
}

WireDefects wire_defects(Defect defect, const DefectDeps& deps) {
  WireDefects made;
  const auto& tell = deps.tell_engine;
  switch (defect) {
    case Defect::no_reservation:
      made.on_request = [tell](const net::HttpRequest& request) {
        if (is_binding(request)) tell(core::PodGone{bound_uid(request)}, Duration::zero());
      };
      break;
    case Defect::early_release:
      made.on_line = [tell](std::string_view path, std::string_view line) {
        const bool leaving = path == "/api/v1/pods" && !line.starts_with(R"({"type":"DELETED")") &&
                             line.find("\"deletionTimestamp\"") != std::string_view::npos;
        if (leaving) {
          tell(core::PodGone{text_behind(line, "\"uid\":\"")}, std::chrono::milliseconds{1});
        }
        return true;
      };
      break;
    case Defect::lost_reply_is_failure:
      made.on_reply = [](const net::HttpRequest& request,
                         tl::expected<net::HttpResponse, net::CallError>& result) {
        if (is_binding(request) && !result && result.error().sent) {
          result = net::HttpResponse{.status = 422, .headers = {}, .body = "{}"};
        }
      };
      break;
    case Defect::dropped_event:
      made.on_line = [count = std::make_shared<int>(0)](std::string_view path, std::string_view) {
        return path != "/api/v1/pods" || ++*count % 7 != 0;
      };
      break;
    case Defect::impatient_candidate:
      made.on_reply = [](const net::HttpRequest& request,
                         tl::expected<net::HttpResponse, net::CallError>& result) {
        if (result && request.target.find("/leases") != std::string::npos) shorten_lease(*result);
      };
      break;
    case Defect::position_for_id: made.on_request = name_by_position(deps); break;
    case Defect::stale_list:
      made.on_reply = [old = std::make_shared<std::string>()](
                          const net::HttpRequest& request,
                          tl::expected<net::HttpResponse, net::CallError>& result) {
        if (!result || result->status != 200 || !is_pod_list(request)) return;
        if (old->empty()) {
          *old = result->body;
        } else {
          std::swap(*old, result->body);
          old->clear();
        }
      };
      break;
    default: break;
  }
  return made;
}

std::function<bool(const core::Event&)> event_filter(Defect defect) {
  switch (defect) {
    case Defect::forgotten_rollback:
      return
          [](const core::Event& event) { return !std::holds_alternative<core::BindFailed>(event); };
    case Defect::forgotten_end:
      return [count = std::make_shared<int>(0)](const core::Event& event) {
        return !std::holds_alternative<core::PodGone>(event) || ++*count % 4 != 0;
      };
    case Defect::others_unseen:
      return [](const core::Event& event) {
        const auto* seen = std::get_if<core::PodSeenBound>(&event);
        return seen == nullptr || seen->cards.has_value();
      };
    case Defect::quota_ignored:
      return [first = std::make_shared<bool>(true)](const core::Event& event) {
        if (!std::holds_alternative<core::QuotaChanged>(event)) return true;
        return std::exchange(*first, false);
      };
    case Defect::node_stays:
      return
          [](const core::Event& event) { return !std::holds_alternative<core::NodeGone>(event); };
    case Defect::cards_stay:
      return [known = std::make_shared<std::set<std::string>>()](const core::Event& event) {
        const auto* node = std::get_if<core::NodeChanged>(&event);
        return node == nullptr || known->insert(node->node.name).second;
      };
    case Defect::pre_allocation_unseen:
      return [](const core::Event& event) { return !std::holds_alternative<core::PodHeld>(event); };
    case Defect::ledger_sum:
    case Defect::by_number:
      return [defect](const core::Event& event) {
        auto* seen = std::get_if<core::PodSeenBound>(&own(event));
        if (seen != nullptr) defect == Defect::ledger_sum ? charge_less(*seen) : count_one(*seen);
        return true;
      };
    case Defect::quota_sum:
      return [](const core::Event& event) {
        auto* changed = std::get_if<core::QuotaChanged>(&own(event));
        if (changed != nullptr) allow_more(*changed);
        return true;
      };
    default: return {};
  }
}

}  // namespace stowage::faults
