#include "sha256.h"

#include <openssl/evp.h>

#include "forge/core/check.h"

namespace forge::serve {

std::array<std::uint8_t, 32> sha256(std::string_view text) {
  std::array<std::uint8_t, 32> digest{};
  const int done =
      EVP_Digest(text.data(), text.size(), digest.data(), nullptr, EVP_sha256(), nullptr);
  FORGE_CHECK(done == 1);
  return digest;
}

}  // namespace forge::serve
