// libFuzzer target: any bytes as a recorded workload. What is read keeps its promises.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>

#include "workload.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::istringstream in(std::string(reinterpret_cast<const char*>(data), size));
  constexpr std::size_t kLimit = 100;
  const auto workload = forge::apps::read_workload(in, kLimit);
  if (!workload) return workload.error().empty() ? std::abort(), 0 : 0;
  if (workload->empty() || workload->size() > kLimit) std::abort();
  for (std::size_t i = 1; i < workload->size(); ++i) {
    if ((*workload)[i].arrival_us < (*workload)[i - 1].arrival_us) std::abort();
  }
  return 0;
}
