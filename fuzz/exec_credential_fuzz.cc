// parse_exec_credential: a credential is complete, and its token is valid in a header.
#include <algorithm>

#include "fuzz/fuzz.h"
#include "kube/exec_credential.h"

namespace stowage::fuzz {

void one(std::string_view input) {
  kube::ExecPlugin plugin;
  plugin.command = "plugin";
  plugin.api_version = "client.authentication.k8s.io/v1";
  const auto credential = kube::parse_exec_credential(plugin, input);
  if (!good(credential)) return;
  STOWAGE_CHECK(!credential->token.empty() || !credential->certificate_pem.empty());
  STOWAGE_CHECK(credential->certificate_pem.empty() == credential->key_pem.empty());
  STOWAGE_CHECK(std::all_of(credential->token.begin(), credential->token.end(),
                            [](char c) { return c > ' ' && c <= '~'; }));
}

}  // namespace stowage::fuzz
