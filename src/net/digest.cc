#include "net/digest.h"

#include <openssl/evp.h>

#include "base/check.h"

namespace stowage::net {

std::string sha256(std::string_view text) {
  std::string digest(EVP_MAX_MD_SIZE, '\0');
  unsigned int size = 0;
  const int done =
      EVP_Digest(text.data(), text.size(), reinterpret_cast<unsigned char*>(digest.data()), &size,
                 EVP_sha256(), nullptr);
  STOWAGE_CHECK(done == 1);
  digest.resize(size);
  return digest;
}

}  // namespace stowage::net
