// Prints whether this build contracts; run with several compilers and flags by golden_hashes.cmake.
#include "contraction_canary.h"

#include <cstdio>

int main() {
  std::puts(forge::numerics::is_contracted() ? "contracted" : "separate");
#if defined(__x86_64__) && !defined(__FMA__)
  std::puts("no fma instruction on this target");
#endif
}
