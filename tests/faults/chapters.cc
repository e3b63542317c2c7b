#include "chapters.h"

#include <algorithm>

namespace stowage::faults {
namespace {

constexpr double kSecond = 1000;  // in milliseconds
// Every healthy replica must know what happened that long ago (witness.h), with a margin.
constexpr double kOldNews = 40 * kSecond;

class Author {
 public:
  Author(Plan& plan, std::uint64_t salt) : plan_(plan), rng_(mixed(plan.seed, salt)) {}

  [[nodiscard]] std::uint32_t below(std::uint64_t n) {
    return static_cast<std::uint32_t>(rng_.below(n));
  }
  [[nodiscard]] bool once_in(std::uint64_t n) { return rng_.below(n) == 0; }
  [[nodiscard]] Duration between(double least, double most) {
    return draw_millis(rng_, least, most);
  }
  [[nodiscard]] Duration some_time() {
    return draw_millis(rng_, 0, std::chrono::duration<double, std::milli>(plan_.active).count());
  }
  [[nodiscard]] std::uint32_t counted_node() { return plan_.nodes + below(plan_.counted); }

  std::uint32_t pod(const PodShape& shape, Duration at) {
    plan_.extra.push_back(shape);
    const auto number = kExtraPods + static_cast<std::uint32_t>(plan_.extra.size()) - 1;
    step({.at = at, .kind = StepKind::create_pod, .subject = number});
    return number;
  }
  void pods(std::uint32_t count, const PodShape& shape, Duration at, double within = 200) {
    for (std::uint32_t i = 0; i < count; ++i) pod(shape, at + between(0, within));
  }
  void step(const Step& step) { plan_.steps.push_back(step); }

  [[nodiscard]] PodShape device_pod(std::uint32_t most_cards) {
    PodShape shape;
    shape.asks = Asks::devices;
    shape.cards = 1 + below(most_cards);
    shape.priority = below(2);
    shape.replaced = once_in(2);
    return shape;
  }
  [[nodiscard]] PodShape share_pod() {
    PodShape shape;
    shape.percent = 10 * (1 + below(6));
    shape.memory_mib = 1024 * (1 + below(6));
    shape.priority = below(3);
    return shape;
  }

 private:
  Plan& plan_;
  base::Rng rng_;
};

void devices(Plan& plan, Author author) {
  plan.counted = 1 + author.below(2);
  const std::uint32_t pods = 8 + author.below(8);
  for (std::uint32_t i = 0; i < pods; ++i) {
    PodShape shape = author.device_pod(3);
    const std::uint32_t listener = author.below(10);
    if (listener >= 6)
      shape.listener = listener == 6   ? Listener::choose
                       : listener == 7 ? Listener::bind
                                       : Listener::count;
    if (author.once_in(2)) shape.life = author.between(5 * kSecond, 60 * kSecond);
    author.pod(shape, author.some_time());
  }
  // More pods come when all is calm, so that earlier errors become visible.
  author.pods(1 + author.below(4), author.device_pod(2),
              plan.active + author.between(30 * kSecond, 120 * kSecond), 20 * kSecond);
}

// A counted node is full, loses a card, one of its pods ends, and other pods come.
void resize(Author author) {
  for (std::uint32_t story = 1 + author.below(2); story > 0; --story) {
    const std::uint32_t node = author.counted_node();
    const Duration begin = author.some_time();
    PodShape single = author.device_pod(1);
    author.pods(4, single, begin);
    const Duration shrinks = begin + author.between(5 * kSecond, 20 * kSecond);
    author.step({.at = shrinks,
                 .kind = StepKind::resize_node,
                 .subject = node,
                 .more = 1 + author.below(3)});
    const Duration later = shrinks + author.between(kOldNews, kOldNews + 20 * kSecond);
    author.step({.at = later, .kind = StepKind::end_one_on, .subject = node});
    author.pods(1 + author.below(2), single, later, 2 * kSecond);
    author.step({.at = later + author.between(5 * kSecond, 60 * kSecond),
                 .kind = StepKind::resize_node,
                 .subject = node,
                 .more = 2 + author.below(4)});
  }
  for (std::uint32_t i = author.below(4); i > 0; --i) {
    author.step({.at = author.some_time(),
                 .kind = StepKind::restart_plugin,
                 .subject = author.counted_node(),
                 .lasts = author.between(300, 2500)});
  }
}

// Others bind pods whose cards are unnamed; then pods come that are placed by number.
void unread(Author author) {
  for (std::uint32_t story = 1 + author.below(2); story > 0; --story) {
    const Duration begin = author.some_time();
    PodShape strange;
    strange.listener = Listener::nobody;
    strange.cards = 2 + author.below(2);
    strange.percent = 30;
    strange.memory_mib = author.once_in(2) ? 2048 : 0;
    strange.asks = author.once_in(2) ? Asks::mixed : Asks::native;
    const std::uint32_t number = author.pod(strange, begin);
    author.step({.at = begin + author.between(100, 2 * kSecond),
                 .kind = StepKind::bind_elsewhere,
                 .subject = number,
                 .more = author.counted_node()});
    author.pods(1 + author.below(3), author.device_pod(3),
                begin + author.between(kOldNews, 2 * kOldNews), 10 * kSecond);
  }
}

void reorder(const Plan& plan, Author author) {
  for (std::uint32_t i = 2 + author.below(5); i > 0; --i) {
    author.step({.at = author.some_time(),
                 .kind = author.once_in(3) ? StepKind::replace_card : StepKind::reorder_cards,
                 .subject = author.below(plan.nodes),
                 .more = 1 + author.below(1000)});
  }
}

void rules(Author author) {
  for (std::uint32_t app = 1; app <= 3; ++app) {
    PodShape shape = author.share_pod();
    shape.app = app;
    shape.rule = static_cast<Rule>(1 + author.below(3));
    const Duration begin = author.some_time();
    for (std::uint32_t i = 3 + author.below(4); i > 0; --i) {
      if (author.once_in(3)) shape.life = author.between(5 * kSecond, 40 * kSecond);
      author.pod(shape, begin + author.between(0, author.once_in(2) ? 300 : 30 * kSecond));
    }
  }
}

// Large pods wait among small ones that keep coming.
void waits(Author author) {
  PodShape large;
  large.cards = 2 + author.below(2);
  large.life = author.between(5 * kSecond, 30 * kSecond);
  author.pods(1 + author.below(3), large, author.some_time(), 10 * kSecond);
  for (std::uint32_t i = 6 + author.below(8); i > 0; --i) {
    PodShape small = author.share_pod();
    small.life = author.between(5 * kSecond, 30 * kSecond);
    author.pod(small, author.some_time());
  }
}

// Another scheduler nominates two of its pods for one node; small pods of ours want its cards.
void nominations(Author author) {
  for (std::uint32_t story = 1 + author.below(2); story > 0; --story) {
    const std::uint32_t node = author.counted_node();
    const Duration begin = author.some_time();
    for (std::uint32_t i = 0; i < 5; ++i) {
      PodShape filler = author.device_pod(1);
      filler.priority = 0;
      filler.life = author.between(8 * kSecond, 60 * kSecond);
      author.pod(filler, begin + author.between(0, 500));
    }
    PodShape urgent = author.device_pod(2);
    urgent.listener = Listener::other;
    urgent.priority = 2;
    urgent.replaced = false;
    const Duration when = begin + author.between(3 * kSecond, 6 * kSecond);
    for (std::uint32_t i = author.once_in(4) ? 1 : 2; i > 0; --i) {
      const std::uint32_t number = author.pod(urgent, when);
      author.step({.at = when + author.between(50, 500),
                   .kind = StepKind::nominate,
                   .subject = number,
                   .more = node});
    }
    PodShape small = author.device_pod(1);
    small.priority = author.below(2);
    for (std::uint32_t i = 3 + author.below(4); i > 0; --i) {
      author.pod(small, when + author.between(2 * kSecond, 80 * kSecond));
    }
  }
}

void reload(const Plan& plan, Author author) {
  for (std::uint32_t i = 1 + author.below(3); i > 0; --i) {
    author.step({.at = author.some_time(),
                 .kind = StepKind::reload,
                 .subject = author.below(plan.replicas)});
  }
}

void volumes(const Plan& plan, Author author) {
  const bool changes = plan.features.has(Feature::reorder);
  for (std::uint32_t i = 3 + author.below(4); i > 0; --i) {
    PodShape shape = author.share_pod();
    if (author.once_in(2)) shape = {.cards = 1};
    shape.claim = true;
    if (author.once_in(2)) shape.life = author.between(10 * kSecond, 60 * kSecond);
    const Duration when = author.some_time();
    author.pod(shape, when);
    author.pods(author.below(3), {.cards = 1}, when + author.between(0, 5 * kSecond));
    for (std::uint32_t k = changes ? 1 + author.below(3) : 0; k > 0; --k) {
      author.step({.at = when + author.between(300, 30 * kSecond),
                   .kind = StepKind::reorder_cards,
                   .subject = author.below(plan.nodes),
                   .more = 1 + author.below(1000)});
    }
  }
}

// kube-scheduler binds pods late, and other pods want their cards meanwhile.
void late(Author author) {
  for (std::uint32_t i = 3 + author.below(4); i > 0; --i) {
    PodShape pre_allocated;
    pre_allocated.listener = Listener::pre_allocation;
    pre_allocated.asks = Asks::vcuda;
    if (author.once_in(2)) {
      pre_allocated.percent = 60;
      pre_allocated.memory_mib = 1024 * (1 + author.below(8));
    }
    const Duration when = author.some_time();
    author.pod(pre_allocated, when);
    author.pods(1 + author.below(3), {.cards = 1},
                when + author.between(35 * kSecond, 90 * kSecond), 20 * kSecond);
  }
}

void lease(Author author) {
  for (std::uint32_t i = 1 + author.below(2); i > 0; --i) {
    const Duration when = author.some_time();
    author.step({.at = when, .kind = StepKind::delete_lease});
    for (std::uint32_t k = 0; k < 8; ++k) {
      PodShape shape = author.share_pod();
      shape.life = author.between(5 * kSecond, 20 * kSecond);
      author.pod(shape, when + author.between(-200, 1800));
    }
  }
}

void untrusted(const Plan& plan, Author author) {
  for (std::uint32_t i = 1 + author.below(3); i > 0; --i) {
    PodShape shape;
    shape.listener = Listener::nobody;
    shape.asks = Asks::vcuda;
    shape.limited = true;
    shape.pre_allocated_node = 1 + author.below(plan.nodes);
    author.pod(shape, author.some_time());
    author.pods(1 + author.below(3), {.cards = 1}, plan.active + author.between(0, 60 * kSecond));
  }
  for (std::uint32_t i = author.below(3); i > 0; --i) {
    PodShape shape;
    shape.listener = Listener::nobody;
    shape.limited = true;
    shape.born_on = 1 + author.below(plan.nodes);
    shape.life = author.between(10 * kSecond, 60 * kSecond);
    author.pod(shape, author.some_time());
  }
}

void hostile(Author author) {
  for (std::uint32_t i = 1 + author.below(3); i > 0; --i) {
    PodShape shape = author.share_pod();
    shape.excess = static_cast<Excess>(1 + author.below(3));
    author.pod(shape, author.some_time());
  }
}

void quota(const Plan& plan, Author author) {
  for (std::uint32_t i = 2 + author.below(3); i > 0; --i) {
    author.step({.at = i == 1 ? author.between(0, 5 * kSecond) : author.some_time(),
                 .kind = StepKind::set_limits,
                 .more = 1 + author.below(1000)});
  }
  for (std::uint32_t i = 6 + author.below(6); i > 0; --i) {
    PodShape shape = author.share_pod();
    shape.limited = true;
    if (author.once_in(2)) {
      shape.percent = 0;
      shape.memory_mib = 4096 * (1 + author.below(3));
    }
    if (plan.counted > 0 && author.once_in(3)) {
      shape = author.device_pod(2);
      shape.limited = true;
    }
    author.pod(shape, author.some_time());
  }
  for (std::uint32_t i = plan.counted > 0 ? 1 + author.below(2) : 0; i > 0; --i) {
    author.step({.at = author.some_time(),
                 .kind = StepKind::restart_plugin,
                 .subject = author.counted_node(),
                 .lasts = author.between(300, 2500)});
  }
}

void proxy(const Plan& plan, Author author) {
  for (std::uint32_t i = 2 + author.below(3); i > 0; --i) {
    const Duration when = author.some_time();
    author.step({.at = when,
                 .kind = StepKind::calls_fail,
                 .subject = author.below(plan.replicas),
                 .more = 60,
                 .fault = Fault::not_found,
                 .lasts = author.between(500, 5 * kSecond)});
    author.pods(2, author.share_pod(), when, 2 * kSecond);
  }
}

// Cards are in use, the inventory disappears and comes back, and other pods want cards.
void unlisted(const Plan& plan, Author author) {
  for (std::uint32_t story = 1 + author.below(3); story > 0; --story) {
    const Duration begin = author.some_time();
    author.pods(1 + author.below(2), {.cards = 1}, begin);
    author.pods(author.below(3), author.share_pod(), begin);
    const Duration goes = begin + author.between(2 * kSecond, 20 * kSecond);
    const Duration lasts = author.between(500, 20 * kSecond);
    author.step({.at = goes,
                 .kind = StepKind::hide_inventory,
                 .subject = author.below(plan.nodes),
                 .more = 1 + author.below(1000),
                 .lasts = lasts});
    author.pods(author.below(3), author.share_pod(), goes, 10 * kSecond);
    author.pods(1 + author.below(3), {.cards = 1}, goes + lasts, 10 * kSecond);
  }
}

// The same, with pods that another scheduler binds before, meanwhile and after.
void indexed(const Plan& plan, Author author) {
  for (std::uint32_t story = 2 + author.below(3); story > 0; --story) {
    const std::uint32_t node = author.below(plan.nodes);
    const Duration begin = author.some_time();
    const Duration goes = begin + author.between(5 * kSecond, 20 * kSecond);
    const Duration lasts = author.between(5 * kSecond, 20 * kSecond);
    author.step({.at = goes,
                 .kind = StepKind::hide_inventory,
                 .subject = node,
                 .more = 1 + author.below(1000),
                 .lasts = lasts});
    for (const Duration when : {begin, goes + lasts / 2, goes + lasts + author.between(0, 2000)}) {
      PodShape strange;
      strange.listener = Listener::nobody;
      strange.asks = Asks::vcuda;
      if (author.once_in(2)) {
        strange.percent = 50;
        strange.memory_mib = 4096;
      }
      const std::uint32_t number = author.pod(strange, when);
      author.step({.at = when + author.between(100, 2 * kSecond),
                   .kind = StepKind::bind_by_index,
                   .subject = number,
                   .more = node});
    }
    author.pods(1 + author.below(3), author.share_pod(), goes + lasts, 20 * kSecond);
  }
}

// kube-scheduler restarts while pre-allocations are being written for it, and asks again. At the
// same time the leader ends, or changes its configuration, and other pods want the cards.
void restarts(const Plan& plan, Author author) {
  for (std::uint32_t story = 2 + author.below(3); story > 0; --story) {
    const Duration begin = author.some_time();
    const Fault fault = author.once_in(3) ? Fault::write_fails : Fault::slow_write;
    for (std::uint32_t replica = 0; replica < plan.replicas; ++replica) {
      author.step({.at = begin,
                   .kind = StepKind::calls_fail,
                   .subject = replica,
                   .more = 60 + author.below(41),
                   .fault = fault,
                   .lasts = author.between(1 * kSecond, 4 * kSecond)});
    }
    PodShape asked{.listener = Listener::pre_allocation, .asks = Asks::vcuda};
    asked.percent = 60;
    asked.memory_mib = 1024 * (1 + author.below(8));
    author.pods(2 + author.below(3), asked, begin);
    author.step({.at = begin + author.between(400, 1500),
                 .kind = author.once_in(2) ? StepKind::stop : StepKind::reload,
                 .subject = kLeader,
                 .lasts = author.between(2 * kSecond, 10 * kSecond)});
    for (std::uint32_t i = 1 + author.below(3); i > 0; --i) {
      author.step({.at = begin + author.between(400, 3 * kSecond),
                   .kind = StepKind::restart_kube_scheduler});
    }
    author.pods(1 + author.below(3), asked, begin + author.between(500, 2500), 2 * kSecond);
    author.pods(author.below(3), author.share_pod(), begin + author.between(500, 2500));
  }
}

// Binds succeed and their replies are lost. Meanwhile the watches lag, so only the reservations
// keep the cards from the next pods.
void replies(const Plan& plan, Author author) {
  for (std::uint32_t story = 2 + author.below(2); story > 0; --story) {
    const Duration begin = author.some_time();
    for (std::uint32_t replica = 0; replica < plan.replicas; ++replica) {
      author.step({.at = begin,
                   .kind = StepKind::delay_watches,
                   .subject = replica,
                   .lasts = author.between(4 * kSecond, 8 * kSecond)});
      author.step({.at = begin + author.between(100, 400),
                   .kind = StepKind::calls_fail,
                   .subject = replica,
                   .more = 60 + author.below(41),
                   .fault = Fault::reply_lost,
                   .lasts = author.between(1 * kSecond, 3 * kSecond)});
    }
    author.pods(3 + author.below(4), {.cards = 1}, begin, 1500);
    author.pods(2 + author.below(4), author.share_pod(), begin, 4 * kSecond);
  }
}

}  // namespace

void add_chapters(Plan& plan) {
  const auto on = [&](Feature feature) { return plan.features.has(feature); };
  const auto author = [&](Feature feature) {
    return Author(plan, 300 + static_cast<std::uint64_t>(feature));
  };
  if (on(Feature::late) || on(Feature::restarts)) plan.pre_allocations = true;
  // First: it creates the counted nodes that other features use.
  if (on(Feature::devices)) devices(plan, author(Feature::devices));
  if (on(Feature::resize)) resize(author(Feature::resize));
  if (on(Feature::unread)) unread(author(Feature::unread));
  if (on(Feature::reorder)) reorder(plan, author(Feature::reorder));
  if (on(Feature::rules)) rules(author(Feature::rules));
  if (on(Feature::waits)) waits(author(Feature::waits));
  if (on(Feature::nominations)) nominations(author(Feature::nominations));
  if (on(Feature::reload)) reload(plan, author(Feature::reload));
  if (on(Feature::volumes)) volumes(plan, author(Feature::volumes));
  if (on(Feature::late)) late(author(Feature::late));
  if (on(Feature::lease)) lease(author(Feature::lease));
  if (on(Feature::untrusted)) untrusted(plan, author(Feature::untrusted));
  if (on(Feature::hostile)) hostile(author(Feature::hostile));
  if (on(Feature::quota)) quota(plan, author(Feature::quota));
  if (on(Feature::proxy)) proxy(plan, author(Feature::proxy));
  if (on(Feature::unlisted)) unlisted(plan, author(Feature::unlisted));
  if (on(Feature::indexed)) indexed(plan, author(Feature::indexed));
  if (on(Feature::restarts)) restarts(plan, author(Feature::restarts));
  if (on(Feature::replies)) replies(plan, author(Feature::replies));
  for (Step& step : plan.steps) step.at = std::max(step.at, Duration::zero());
}

}  // namespace stowage::faults
