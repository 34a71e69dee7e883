// ProcessMetrics: what the system says of this process, as every client of Prometheus tells it.
//
// Source: proc(5); prometheus.io, "Writing client libraries", process metrics.
//
// Thread contract: any thread.
#pragma once

#include <cstdint>
#include <optional>

namespace forge::serve {

struct ProcessMetrics {
  std::uint64_t resident_bytes = 0;
  double cpu_seconds = 0;  ///< user and system
  std::uint64_t open_fds = 0;
  std::uint64_t max_fds = 0;  ///< the limit that is in force
  double start_time = 0;      ///< seconds since 1970
};

/// Nothing where the system has no /proc.
std::optional<ProcessMetrics> read_process_metrics();

}  // namespace forge::serve
