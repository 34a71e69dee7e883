#include "process_metrics.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <sstream>
#include <string>

namespace forge::serve {
namespace {

/// The fields of /proc/self/stat that are counted from 1 in proc(5).
struct Stat {
  std::uint64_t user_ticks = 0;      // 14
  std::uint64_t system_ticks = 0;    // 15
  std::uint64_t start_ticks = 0;     // 22, since the system was started
  std::uint64_t resident_pages = 0;  // 24
};

std::optional<Stat> read_stat() {
  std::ifstream file("/proc/self/stat");
  // Field 2, the name of the program, is in parentheses and may hold any character.
  file.ignore(std::numeric_limits<std::streamsize>::max(), '(');
  std::string rest;
  if (!std::getline(file, rest)) return std::nullopt;
  std::istringstream fields(rest.substr(rest.rfind(')') + 1));
  std::string state;
  fields >> state;
  Stat stat;
  for (int number = 4; number <= 24 && fields; ++number) {
    std::int64_t value = 0;
    fields >> value;
    const auto count = static_cast<std::uint64_t>(value);
    if (number == 14) stat.user_ticks = count;
    if (number == 15) stat.system_ticks = count;
    if (number == 22) stat.start_ticks = count;
    if (number == 24) stat.resident_pages = count;
  }
  return fields ? std::optional(stat) : std::nullopt;
}

/// When the system was started, in seconds since 1970; 0 where it does not say.
std::uint64_t boot_time() {
  std::ifstream file("/proc/stat");
  std::string name;
  std::uint64_t value = 0;
  while (file >> name) {
    if (name == "btime" && file >> value) return value;
    file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return 0;
}

/// Linux 6.2 and later say it in the size of the folder; before that its entries are counted.
std::uint64_t open_files() {
  constexpr const char* kFolder = "/proc/self/fd";
  struct stat folder {};
  if (::stat(kFolder, &folder) == 0 && folder.st_size > 0) {
    return static_cast<std::uint64_t>(folder.st_size);
  }
  std::error_code error;
  const auto count = std::distance(std::filesystem::directory_iterator(kFolder, error), {});
  return count > 0 ? static_cast<std::uint64_t>(count - 1) : 0;  // without the one that counts
}

}  // namespace

std::optional<ProcessMetrics> read_process_metrics() {
  const auto stat = read_stat();
  if (!stat) return std::nullopt;
  const auto ticks_per_second = static_cast<double>(::sysconf(_SC_CLK_TCK));
  const auto page_bytes = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  return ProcessMetrics{
      .resident_bytes = stat->resident_pages * page_bytes,
      .cpu_seconds = static_cast<double>(stat->user_ticks + stat->system_ticks) / ticks_per_second,
      .open_fds = open_files(),
      .max_fds = limit.rlim_cur,
      .start_time = static_cast<double>(boot_time()) +
                    static_cast<double>(stat->start_ticks) / ticks_per_second};
}

}  // namespace forge::serve
