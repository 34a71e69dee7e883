// The simulator as a module: a device by its name, in a build that has the simulator and in one
// that has not (CMake's FORGE_SIM). Code that needs more of it includes sim_device.h and needs a
// build that has the simulator.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "forge/gpu/device.h"

namespace forge {
class Heartbeat;
}

namespace forge::sim {

bool built_with_sim();

/// "a100", ...; empty without the simulator.
std::vector<std::string> known_device_names();

struct OpenOptions {
  std::string device = "h200";  ///< a known name, or a JSON file like those of sim/devices
  bool checked = false;         ///< SimMode::checked, else plain
  std::optional<std::uint64_t> schedule_seed;  ///< as in SimOptions
  int host_threads = 1;                        ///< as in SimOptions
  Heartbeat* heartbeat = nullptr;              ///< as in SimOptions
};

/// Errors: a sentence that says what is wrong with the device, or that this build has no simulator.
tl::expected<std::unique_ptr<gpu::Device>, std::string> open_device(const OpenOptions& options);

}  // namespace forge::sim
