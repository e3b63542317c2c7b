// Reads the cards of the machine again and again, on a thread of its own: a driver may take its
// time, or never answer at all. What was read comes to the loop's thread as a picture.
//
// A thread that hangs in the driver can not be ended. It is left behind when the sampler goes; the
// process may end without it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gpu/card_list.h"
#include "gpu/health.h"
#include "gpu/source.h"
#include "net/event_loop.h"

namespace stowage::agent {

struct CardsPicture {
  bool known = false;  // the cards have been read at least once
  gpu::Inventory inventory;
  gpu::CardList list;                             // with their health
  std::vector<gpu::CardSample> samples;           // newest
  std::map<std::string, gpu::CardHealth> health;  // by card
  std::vector<std::string> news;                  // what became sick or well, in words
  std::string trouble;                            // why nothing could be read; empty: all is well
};

struct SamplerOptions {
  net::Duration every = std::chrono::seconds{1};
  net::Duration inventory_every = std::chrono::seconds{60};  // or when it is out of date
  gpu::HealthOptions health;
};

class Sampler {
 public:
  using OnPicture = std::function<void(std::shared_ptr<const CardsPicture>)>;
  Sampler(net::EventLoop& loop, std::unique_ptr<gpu::Source> source, SamplerOptions options,
          OnPicture on_picture);
  ~Sampler();
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;

  void start();
  // An operator says that this card is well.
  void pardon(const std::string& card);
  // When the last picture came; the beginning of time: never.
  [[nodiscard]] net::Moment last() const;

 private:
  struct Body;
  std::shared_ptr<Body> body_;
};

}  // namespace stowage::agent
