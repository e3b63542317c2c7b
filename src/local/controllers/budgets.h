// Works out the status of PodDisruptionBudgets: how many of their pods may be evicted now.
#pragma once

#include <map>
#include <string>

#include "local/api.h"
#include "local/controllers/agenda.h"
#include "local/controllers/pod_index.h"
#include "local/controllers/workload.h"

namespace stowage::local {

class Budgets {
 public:
  Budgets(Api& api, Agenda& agenda, PodIndex& pods);  // all of them outlive it

 private:
  void see(const WatchEvent& event);
  void see_pod(const PodFacts* now, const PodFacts* before);
  void look(const ObjectName& name);

  Api& api_;
  Agenda& agenda_;
  PodIndex& pods_;
  WorkList work_;
  std::map<ObjectName, LabelSelector> selectors_;
  Watch watch_;
};

}  // namespace stowage::local
