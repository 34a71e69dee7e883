#include <string>

#include "forge/simt/machine.h"
#include "words.h"

namespace forge::simt {
namespace {

std::string name_of(FaultKind kind) {
  switch (kind) {
    case FaultKind::race:
      return "race";
    case FaultKind::out_of_bounds:
      return "access out of bounds";
    case FaultKind::misaligned:
      return "misaligned access";
    case FaultKind::uninitialised:
      return "read of uninitialised memory";
    case FaultKind::pending_copy:
      return "copy that nobody has waited for";
    case FaultKind::divergent_barrier:
      return "divergent barrier";
    case FaultKind::missing_lane:
      return "missing lane";
  }
  return "";
}

}  // namespace

std::string to_string(const Site& site) {
  const std::string_view file = site.file;
  const std::size_t slash = file.rfind('/');
  return std::string(slash == file.npos ? file : file.substr(slash + 1)) + ":" +
         std::to_string(site.line);
}

std::string to_string(const Index3& index) {
  return "(" + std::to_string(index.x) + ", " + std::to_string(index.y) + ", " +
         std::to_string(index.z) + ")";
}

std::string count_bytes(std::size_t bytes) {
  return std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes");
}

std::string name_threads(std::span<const int> threads) {
  std::string ranges;
  for (std::size_t i = 0; i < threads.size();) {
    std::size_t last = i;
    while (last + 1 < threads.size() && threads[last + 1] == threads[last] + 1) ++last;
    if (i > 0) ranges += last + 1 == threads.size() ? " and " : ", ";
    ranges += std::to_string(threads[i]);
    if (last > i) ranges += (last == i + 1 ? ", " : "-") + std::to_string(threads[last]);
    i = last + 1;
  }
  return (threads.size() == 1 ? "thread " : "threads ") + ranges;
}

std::string to_string(const KernelFault& fault) {
  const bool divergent =
      fault.kind == FaultKind::divergent_barrier || fault.kind == FaultKind::missing_lane;
  std::string text = name_of(fault.kind) + " in kernel '" + fault.kernel + "', block " +
                     to_string(fault.block) + "\n";
  if (divergent) {
    text += "  " + name_threads(fault.threads) + (fault.threads.size() == 1 ? " is" : " are") +
            " missing at " + to_string(fault.sites[0]) + "\n";
  }
  for (std::size_t i = 0; i < fault.threads.size() && !divergent; ++i) {
    text += "  " + name_threads({&fault.threads[i], 1}) + " at " + to_string(fault.sites[i]) + "\n";
  }
  text += "  ";
  for (std::size_t i = 0; i < fault.detail.size(); ++i) {
    const bool part_ends = fault.detail.compare(i, 2, "; ") == 0;
    text += part_ends ? "\n " : fault.detail.substr(i, 1);
  }
  text += "\n";
  if (fault.seed.has_value()) text += "  schedule seed " + std::to_string(*fault.seed) + "\n";
  return text;
}

}  // namespace forge::simt
