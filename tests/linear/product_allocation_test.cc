// A program of its own, because it replaces operator new.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "linear/float_layers.h"

namespace {
std::atomic<std::size_t> allocations{0};

void* counted(std::size_t size) noexcept {
  ++allocations;
  return std::malloc(size == 0 ? 1 : size);
}
}  // namespace

// GCC sees malloc behind new and free behind delete, and warns of a mismatch that is none.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
#endif
void* operator new(std::size_t size) {
  if (void* memory = counted(size)) return memory;
  throw std::bad_alloc();
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return counted(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }

namespace forge::linear {
namespace {

TEST(ProductAllocation, the_largest_product_makes_the_room_for_all) {
  StoredParts layer(600);
  layer.add(quant::WeightType::f32, 100).add(quant::WeightType::bf16, 100);
  layer.add(quant::WeightType::f16, 100);
  for (const int threads : {1, 3}) {
    ThreadPool pool(threads);
    const LinearWeights w(layer.parts(), pool);
    const auto x = numerics::random_values(64 * 600, 1);
    std::vector<float> y(64 * 300);
    ProductScratch scratch;
    const std::size_t before_first = allocations;
    multiply({x.data(), 64}, w, y.data(), scratch, pool);
    EXPECT_GT(allocations, before_first) << "the counter does not count";
    const std::size_t before = allocations;
    for (const int rows : {1, 2, 12, 13, 40, 64}) {
      multiply({x.data(), rows}, w, y.data(), scratch, pool);
    }
    EXPECT_EQ(allocations, before);
  }
}

}  // namespace
}  // namespace forge::linear
