#include "random_id.h"

#include <random>

namespace forge::serve {

std::string random_id() {
  constexpr char kDigits[] = "0123456789abcdef";
  thread_local std::random_device random;  // to open one takes longer than to ask it
  std::string id;
  while (id.size() < 32) {
    unsigned bits = random();
    for (int digit = 0; digit < 8; ++digit, bits >>= 4) id += kDigits[bits & 15];
  }
  return id;
}

}  // namespace forge::serve
