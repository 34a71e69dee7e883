#include "free_memory.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <fstream>

#include "apps/programs.h"

namespace forge::runtime {
namespace {

/// A /proc and a /sys of this test's own.
class FreeMemoryBytes : public testing::ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    write("proc/meminfo", "MemTotal: 4000 kB\nMemFree: 100 kB\nMemAvailable: 2000 kB\n");
  }
  void write(const std::string& file, const std::string& text) {
    const std::filesystem::path where = path(file);
    std::filesystem::create_directories(where.parent_path());
    std::ofstream(where) << text;
  }
  std::uint64_t free_bytes() const { return free_memory_bytes(path("")); }
};

TEST_F(FreeMemoryBytes, is_what_the_machine_can_give) { EXPECT_EQ(free_bytes(), 2000U * 1024); }

TEST_F(FreeMemoryBytes, of_this_machine_is_more_than_nothing) {
  EXPECT_GT(free_memory_bytes(), 1U << 20);
}

TEST_F(FreeMemoryBytes, is_bounded_by_the_control_group) {
  write("proc/self/cgroup", "0::/service\n");
  write("sys/fs/cgroup/service/memory.max", "1000000\n");
  write("sys/fs/cgroup/service/memory.current", "600000\n");
  EXPECT_EQ(free_bytes(), 400'000U);
  write("sys/fs/cgroup/service/memory.stat", "active_file 7\ninactive_file 50000\n");
  EXPECT_EQ(free_bytes(), 450'000U) << "files that nobody has touched lately can go";
  write("sys/fs/cgroup/service/memory.max", "max\n");
  EXPECT_EQ(free_bytes(), 2000U * 1024);
}

TEST_F(FreeMemoryBytes, is_bounded_by_the_groups_around_it) {
  write("proc/self/cgroup", "0::/outer/inner\n");
  write("sys/fs/cgroup/outer/inner/memory.max", "max\n");
  write("sys/fs/cgroup/outer/inner/memory.current", "1000\n");
  write("sys/fs/cgroup/outer/memory.max", "5000\n");
  write("sys/fs/cgroup/outer/memory.current", "2000\n");
  EXPECT_EQ(free_bytes(), 3000U);
}

TEST_F(FreeMemoryBytes, is_bounded_in_a_container_that_sees_its_group_as_the_top) {
  write("proc/self/cgroup", "0::/docker/0123abcd\n");
  write("sys/fs/cgroup/memory.max", "9000\n");
  write("sys/fs/cgroup/memory.current", "10000\n");
  EXPECT_EQ(free_bytes(), 0U) << "more is used than the limit has";
}

TEST_F(FreeMemoryBytes, is_bounded_by_a_group_of_the_first_version) {
  write("proc/self/cgroup", "3:cpuset:/\n4:cpu,memory:/box\n0::/\n");
  write("sys/fs/cgroup/memory/box/memory.limit_in_bytes", "8000\n");
  write("sys/fs/cgroup/memory/box/memory.usage_in_bytes", "5000\n");
  write("sys/fs/cgroup/memory/box/memory.stat", "inactive_file 9\ntotal_inactive_file 1000\n");
  EXPECT_EQ(free_bytes(), 4000U);
}

TEST_F(FreeMemoryBytes, is_bounded_by_the_limits_of_the_process) {
  write("proc/meminfo", "MemAvailable: 1000000000000 kB\n");
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  rlimit limited = before;
  limited.rlim_cur = rlim_t{1} << 45;
  const bool set = setrlimit(RLIMIT_AS, &limited) == 0;
  const std::uint64_t free = free_bytes();
  setrlimit(RLIMIT_AS, &before);
  ASSERT_TRUE(set);
  EXPECT_LT(free, std::uint64_t{1} << 45);
  EXPECT_GT(free, 0U);
}

}  // namespace
}  // namespace forge::runtime
