#include "ownership.h"

#include <string>

#include "sha256.h"

namespace forge::serve {
namespace {

/// What differs in `use`, in the owner or in the text has another number.
std::uint64_t number_of(char use, const Owner& owner, std::string_view text) {
  std::string all(1, use);
  if (owner) all.append(owner->begin(), owner->end());
  all.append(text);
  std::uint64_t number = 0;
  for (std::size_t i = 0; const std::uint8_t byte : sha256(all)) {
    if (i++ == sizeof number) break;
    number = number << 8 | byte;
  }
  return number;
}

}  // namespace

SessionId session_of(const Owner& owner, SessionId said) {
  if (!owner) return said;
  return SessionId(number_of('s', owner, std::to_string(said.value)));
}

CacheSalt salt_of(const Owner& owner, std::string_view said) {
  if (!owner && said.empty()) return {};
  return CacheSalt(number_of(owner ? 'k' : 'p', owner, said));
}

ClientId client_of(const Owner& owner, std::string_view host, std::string_view salt) {
  if (owner) return ClientId(number_of('c', owner, ""));
  return ClientId(number_of('a', owner, std::string(salt).append(host)));
}

UserId user_of(const Owner& owner, std::string_view said) {
  if (said.empty()) return {};
  return UserId(number_of(owner ? 'u' : 'v', owner, said));
}

}  // namespace forge::serve
