// What the system says of this process.
#include "process_metrics.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <ctime>
#include <vector>

namespace forge::serve {
namespace {

TEST(ProcessMetrics, count_files_that_are_opened_and_closed) {
  const std::uint64_t before = read_process_metrics().value().open_fds;
  std::vector<int> files;
  for (int i = 0; i < 20; ++i) files.push_back(::open("/dev/null", O_RDONLY));
  EXPECT_EQ(read_process_metrics().value().open_fds, before + 20);
  for (const int file : files) ::close(file);
  EXPECT_EQ(read_process_metrics().value().open_fds, before);
  EXPECT_GE(before, 3U);
}

TEST(ProcessMetrics, know_the_limit_of_files) {
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_EQ(read_process_metrics().value().max_fds, limit.rlim_cur);
}

TEST(ProcessMetrics, grow_with_memory_that_is_used) {
  const std::uint64_t before = read_process_metrics().value().resident_bytes;
  const std::vector<char> memory(std::size_t{64} << 20, 'x');
  EXPECT_GE(read_process_metrics().value().resident_bytes, before + memory.size() / 2);
}

TEST(ProcessMetrics, tell_of_processor_time_that_the_kernel_confirms) {
  const double before = read_process_metrics().value().cpu_seconds;
  rusage usage{};
  ASSERT_EQ(::getrusage(RUSAGE_SELF, &usage), 0);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  const double exact = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  const double after = read_process_metrics().value().cpu_seconds;
  constexpr double kTicks = 0.05;  // it is told in hundredths
  EXPECT_LE(before, exact + kTicks);
  EXPECT_GE(after, exact - kTicks);
}

TEST(ProcessMetrics, a_process_began_before_it_is_asked_and_always_at_the_same_time) {
  const double start = read_process_metrics().value().start_time;
  EXPECT_GT(start, 1.6e9);
  EXPECT_LE(start, static_cast<double>(std::time(nullptr)) + 1);
  EXPECT_EQ(read_process_metrics().value().start_time, start);
}

}  // namespace
}  // namespace forge::serve
