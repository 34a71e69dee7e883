// Prints the targets of Google Highway, as HWY_DISABLED_TARGETS takes them, that a build for this
// machine alone can do without: all but its best and the static one, which Highway always compiles.
#include <cstdio>
#include <hwy/targets.h>

int main() {
  const auto supported = static_cast<long long>(hwy::SupportedTargets()) & HWY_TARGETS;
  const long long best = supported & -supported;  // lower is better
  std::printf("%lldLL", HWY_TARGETS & ~(best | HWY_STATIC_TARGET));
}
