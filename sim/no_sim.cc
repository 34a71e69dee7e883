// What forge/sim/open_device.h says where the build left the simulator out.
#include "forge/sim/open_device.h"

namespace forge::sim {

bool built_with_sim() { return false; }

std::vector<std::string> known_device_names() { return {}; }

tl::expected<std::unique_ptr<gpu::Device>, std::string> open_device(const OpenOptions& options) {
  return tl::unexpected("simulating '" + options.device +
                        "': this program was built without the simulated GPU (CMake's FORGE_SIM)");
}

}  // namespace forge::sim
