// Migration: for every input, the output is a v1 configuration that needs no migration.
#include "client/migrate.h"
#include "fuzz/fuzz.h"

namespace stowage::fuzz {

void one(std::string_view input) {
  const auto migrated = client::migrate_scheduler_config(input, "f.yaml");
  if (!good(migrated)) return;
  STOWAGE_CHECK(migrated->yaml.find("apiVersion: kubescheduler.config.k8s.io/v1\n") !=
                std::string::npos);
  const auto again = client::migrate_scheduler_config(migrated->yaml, "f.yaml");
  STOWAGE_CHECK(again.has_value());
}

}  // namespace stowage::fuzz
