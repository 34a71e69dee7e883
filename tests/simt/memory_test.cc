// Where memory of the simulated device begins and ends, and the shadow beside it.
#include <gtest/gtest.h>

#include <vector>

#include "forge/simt/memory_map.h"
#include "shadow_memory.h"

namespace forge::simt {
namespace {

MemoryMap two_buffers() {
  MemoryMap map;
  map.add({1000, 100, "first"});
  map.add({1200, 50, "second"});
  return map;
}

TEST(MemoryMap, FindsTheRangeThatHoldsAWholeAccess) {
  const MemoryMap map = two_buffers();
  EXPECT_EQ(map.find(1000, 100)->name, "first");
  EXPECT_EQ(map.find(1096, 4)->name, "first");
  EXPECT_EQ(map.find(1100, 0)->name, "first") << "a pointer behind the last byte";
  EXPECT_EQ(map.find(1200, 1)->name, "second");
  EXPECT_EQ(map.find(1097, 4), nullptr) << "the last byte is outside";
  EXPECT_EQ(map.find(999, 1), nullptr);
  EXPECT_EQ(map.find(1150, 1), nullptr);
  EXPECT_EQ(map.find(1250, 1), nullptr);
}

TEST(MemoryMap, NamesTheNearestRangeOfAMiss) {
  const MemoryMap map = two_buffers();
  EXPECT_EQ(map.nearest(0)->name, "first");
  EXPECT_EQ(map.nearest(1110)->name, "first");
  EXPECT_EQ(map.nearest(1190)->name, "second");
  EXPECT_EQ(map.nearest(1205)->name, "second");
  EXPECT_EQ(map.nearest(9999)->name, "second");
  EXPECT_EQ(MemoryMap().nearest(0), nullptr);
}

TEST(MemoryMap, ForgetsARange) {
  MemoryMap map = two_buffers();
  map.remove(1000);
  EXPECT_EQ(map.find(1000, 1), nullptr);
  map.add({1000, 200, "again"});
  EXPECT_EQ(map.find(1199, 1)->name, "again");
}

TEST(MemoryMapDeathTest, RefusesRangesThatOverlap) {
  MemoryMap map = two_buffers();
  EXPECT_DEATH(map.add({1099, 10, "late"}), "late overlaps first");
  EXPECT_DEATH(map.add({1150, 51, "early"}), "early overlaps second");
  EXPECT_DEATH(map.remove(1001), "no range begins at 1001");
}

struct Mark {
  int value = 0;
};

/// The addresses of the cells of a stretch, after adding `value` to each.
std::vector<std::uintptr_t> mark(ShadowMemory<Mark>& shadow, std::uintptr_t address,
                                 std::size_t bytes, int value) {
  std::vector<std::uintptr_t> addresses;
  shadow.for_each(address, bytes, [&](std::uintptr_t at, std::size_t, Mark& cell) {
    addresses.push_back(at);
    cell.value += value;
  });
  return addresses;
}

int sum(ShadowMemory<Mark>& shadow) {
  int total = 0;
  shadow.for_all([&](std::uintptr_t, std::size_t bytes, const Mark& cell) {
    total += static_cast<int>(bytes) * cell.value;
  });
  return total;
}

TEST(ShadowMemory, HasACellForEachWord) {
  ShadowMemory<Mark> shadow;
  EXPECT_EQ(mark(shadow, 1016, 16, 1), (std::vector<std::uintptr_t>{1016, 1020, 1024, 1028}))
      << "over the end of a page";
  EXPECT_EQ(sum(shadow), 16);
}

TEST(ShadowMemory, SplitsWordsThatAreTouchedInPart) {
  ShadowMemory<Mark> shadow;
  mark(shadow, 64, 8, 1);
  EXPECT_EQ(mark(shadow, 66, 2, 10), (std::vector<std::uintptr_t>{66, 67}));
  EXPECT_EQ(mark(shadow, 68, 4, 100), (std::vector<std::uintptr_t>{68, 69, 70, 71}));
  EXPECT_EQ(sum(shadow), 8 + 20 + 400);
}

}  // namespace
}  // namespace forge::simt
