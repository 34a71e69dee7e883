#include "forge/linear/large_memory.h"

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace forge::linear {
namespace {

constexpr std::size_t kLine = 64;
constexpr std::size_t kLargePage = std::size_t{2} << 20;

}  // namespace

LargeMemory make_large_memory(std::size_t bytes) {
  const std::align_val_t alignment{bytes >= kLargePage ? kLargePage : kLine};
  LargeMemory memory(static_cast<std::byte*>(::operator new[](bytes, alignment)), {alignment});
#ifdef __linux__
  const std::size_t large = bytes / kLargePage * kLargePage;
  if (large > 0) static_cast<void>(::madvise(memory.get(), large, MADV_HUGEPAGE));  // a wish
#endif
  return memory;
}

}  // namespace forge::linear
