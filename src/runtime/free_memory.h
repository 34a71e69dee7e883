// free_memory_bytes: what this program could still take without being stopped for it.
//
// The least of what each limit leaves: the machine (MemAvailable), the control groups that the
// process is in (a container's limit, say; versions 1 and 2, with their parents), and the limits of
// the process itself (ulimit -v, ulimit -d). Of a control group's use, files that nobody has
// touched lately do not count: the system gives them up first.
//
// Source: Linux, Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/memory.rst; getrlimit(2).
#pragma once

#include <cstdint>
#include <filesystem>

namespace forge::runtime {

/// `root` is where /proc and /sys are found; the limits of the process count in any case.
std::uint64_t free_memory_bytes(const std::filesystem::path& root = "/");

}  // namespace forge::runtime
