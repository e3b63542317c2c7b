#include "extender/template_nodes.h"

#include <algorithm>
#include <utility>

#include "codec/kubernetes.h"
#include "core/engine/engine.h"
#include "dialect/dialect.h"

namespace stowage::extender {
namespace {

constexpr std::size_t kTemplatesMax = 256;  // of one dry run
constexpr int kTemplateSearch = 1024;       // steps of the search for cards on one of them

}  // namespace

void judge_template_nodes(const core::PodSpec& pod, const std::vector<codec::RawNode>& nodes,
                          core::FilterAnswer& answer) {
  std::size_t judged = 0;
  codec::Decoder decoder;
  std::vector<core::FilterAnswer::Refused> still_refused;
  for (auto& refused : answer.refused) {
    const bool judge = refused.unknown && ++judged <= kTemplatesMax;
    const auto node = judge ? decoder.node(nodes[refused.node].json)
                            : Result<dialect::NodeObject>(fail("not evaluated"));
    auto spec = node ? dialect::to_spec(*node) : Result<dialect::NodeReading>(fail("unread"));
    if (!spec) {
      still_refused.push_back(refused);
      continue;
    }
    core::Engine engine({core::PolicyOptions{}}, {.search_per_event = kTemplateSearch});
    (void)engine.handle(core::NodeChanged{spec->node}, {});
    core::FilterRequest ask{
        .pod = pod, .nodes = {spec->node.name}, .keep = core::HoldMode::nothing};
    ask.pod.profile = 0;
    core::Commands none;
    const auto verdict = engine.filter(ask, {}, none);
    if (!verdict.fits.empty()) {
      answer.fits.push_back(refused.node);
    } else {
      refused.unknown = false;
      if (!verdict.refused.empty()) refused.reason = verdict.refused.front().reason;
      still_refused.push_back(refused);
    }
  }
  answer.refused = std::move(still_refused);
  std::sort(answer.fits.begin(), answer.fits.end());
}

}  // namespace stowage::extender
