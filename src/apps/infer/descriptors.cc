#include "descriptors.h"

#include <sys/resource.h>

#include <algorithm>

namespace forge::apps {
namespace {

/// Open files beside the connections that have a place: those of visitors, the listening socket,
/// the trace, standard streams, what the system wants for timers and events.
constexpr rlim_t kOtherFiles = 64;

}  // namespace

tl::expected<std::size_t, std::string> allow_connections(std::size_t wanted) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return wanted;
  const rlim_t needed = wanted + kOtherFiles;
  if (limit.rlim_cur < needed) {
    rlimit raised = limit;
    raised.rlim_cur = std::min(needed, limit.rlim_max);
    if (setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
  }
  if (limit.rlim_cur <= kOtherFiles) {
    return tl::unexpected("this process may open " + std::to_string(limit.rlim_cur) +
                          " files, accepted: " + std::to_string(kOtherFiles + 1) +
                          " or more (ulimit -n)");
  }
  return static_cast<std::size_t>(std::min(needed, limit.rlim_cur) - kOtherFiles);
}

}  // namespace forge::apps
