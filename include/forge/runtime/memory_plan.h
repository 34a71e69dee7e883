// MemoryPlan: the memory of a target by what it is for, known before any of it is taken.
//
//   on       weights                scratch                         KV cache
//   a CPU    packed by LoadedModel  index of the prefix cache       blocks, and those for swaps
//   a GPU    on the device; rooms   what a chunk of rows makes,     blocks on the device, those
//            of the host on their   tables, what is sent to and     for swaps on the host
//            way                    fro; the index on the host
//
// A simulated GPU's memory is this machine's: the device that is described sets no limit. Free is
// the least that the machine, the control groups of the process and its own limits leave.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tl/expected.hpp>

#include "forge/runtime/target_options.h"

namespace forge::runtime {

/// Bytes by what they are for.
struct MemoryUse {
  std::uint64_t weights = 0;
  std::uint64_t scratch = 0;
  std::uint64_t kv = 0;

  std::uint64_t all() const { return weights + scratch + kv; }
  friend bool operator==(const MemoryUse&, const MemoryUse&) = default;
};

/// "4.5 GiB: 3.1 GiB of weights, 412 MiB of scratch, 1.0 GiB of KV cache"
std::string to_string(const MemoryUse& use);

struct MemoryPlan {
  MemoryUse host;                   ///< of this machine
  std::optional<MemoryUse> device;  ///< of a GPU that has memory of its own
};

/// The memory that is free now.
struct FreeMemory {
  std::uint64_t host = 0;
  std::optional<std::uint64_t> device;  ///< as MemoryPlan::device
};

/// Errors: what does not fit, with bytes needed and free.
tl::expected<void, std::string> check_fits(const MemoryPlan& plan, const FreeMemory& free);

/// The index of the prefix cache: the tokens of each block and its place.
std::uint64_t prefix_index_bytes(const SchedulerConfig& config);

}  // namespace forge::runtime
