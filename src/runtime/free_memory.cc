#include "free_memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace forge::runtime {
namespace {

using Path = std::filesystem::path;

constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

std::uint64_t left(std::uint64_t limit, std::uint64_t used) {
  if (limit == kUnlimited) return kUnlimited;
  return limit > used ? limit - used : 0;
}

/// The number behind `key` in lines of keys and numbers; 0 if there is none.
std::uint64_t number_of(const Path& file, std::string_view key) {
  std::ifstream in(file);
  std::string name;
  std::uint64_t number = 0;
  for (std::string rest; in >> name >> number; std::getline(in, rest)) {
    if (name == key) return number;
    number = 0;
  }
  return 0;
}

/// The number that is the whole file; nothing if it is a word ("max") or there is no file.
std::optional<std::uint64_t> number_in(const Path& file) {
  std::ifstream in(file);
  std::uint64_t number = 0;
  if (in >> number) return number;
  return std::nullopt;
}

/// The names of a version's files.
struct GroupFiles {
  const char* limit;
  const char* used;
  const char* idle_files;  // its key in memory.stat
};
constexpr GroupFiles kVersion1{"memory.limit_in_bytes", "memory.usage_in_bytes",
                               "total_inactive_file"};
constexpr GroupFiles kVersion2{"memory.max", "memory.current", "inactive_file"};

/// What the group in `folder` leaves, and those that it is in, up to `top`.
std::uint64_t left_by_group(Path folder, const Path& top, const GroupFiles& files) {
  std::uint64_t least = kUnlimited;
  for (;; folder = folder.parent_path()) {
    const auto limit = number_in(folder / files.limit);
    const auto used = number_in(folder / files.used);
    if (limit && used) {
      const std::uint64_t idle = number_of(folder / "memory.stat", files.idle_files);
      least = std::min(least, left(*limit, *used - std::min(*used, idle)));
    }
    if (folder == top || folder == folder.parent_path()) return least;
  }
}

/// Lines of /proc/self/cgroup: "0::/path" for version 2, "7:cpu,memory:/path" for version 1.
std::uint64_t left_by_groups(const Path& root) {
  const Path mounted = root / "sys/fs/cgroup";
  std::ifstream in(root / "proc/self/cgroup");
  std::uint64_t least = kUnlimited;
  for (std::string line; std::getline(in, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string::npos || line.find('/', second) != second + 1) continue;
    const std::string kinds = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string path = line.substr(second + 2);
    const auto folder = [&path](const Path& top) { return path.empty() ? top : top / path; };
    if (kinds == ",,") {
      least = std::min(least, left_by_group(folder(mounted), mounted, kVersion2));
    } else if (kinds.find(",memory,") != std::string::npos) {
      const Path top = mounted / "memory";
      least = std::min(least, left_by_group(folder(top), top, kVersion1));
    }
  }
  return least;
}

std::uint64_t left_by_limit(__rlimit_resource limit, std::uint64_t used) {
  rlimit value{};
  if (getrlimit(limit, &value) != 0 || value.rlim_cur == RLIM_INFINITY) return kUnlimited;
  return left(value.rlim_cur, used);
}

std::uint64_t left_by_machine(const Path& root) {
  const std::uint64_t kib = number_of(root / "proc/meminfo", "MemAvailable:");
  if (kib > 0) return kib * 1024;
  return static_cast<std::uint64_t>(sysconf(_SC_AVPHYS_PAGES)) *
         static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace

std::uint64_t free_memory_bytes(const Path& root) {
  // The numbers of /proc/self/status are in KiB. Its first lines have words behind their keys.
  std::ifstream status("/proc/self/status");
  std::uint64_t mapped = 0;
  std::uint64_t data = 0;
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmSize:")) mapped = std::stoull(line.substr(7)) * 1024;
    if (line.starts_with("VmData:")) data = std::stoull(line.substr(7)) * 1024;
  }
  return std::min({left_by_machine(root), left_by_groups(root), left_by_limit(RLIMIT_AS, mapped),
                   left_by_limit(RLIMIT_DATA, data)});
}

}  // namespace forge::runtime
