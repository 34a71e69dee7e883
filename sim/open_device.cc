#include "forge/sim/open_device.h"

#include "forge/sim/sim_device.h"

namespace forge::sim {

bool built_with_sim() { return true; }

std::vector<std::string> known_device_names() {
  std::vector<std::string> names;
  for (const DeviceDescription& device : known_devices()) names.push_back(device.name);
  return names;
}

tl::expected<std::unique_ptr<gpu::Device>, std::string> open_device(const OpenOptions& options) {
  auto description = find_device(options.device);
  if (!description) return tl::unexpected(description.error());
  return std::make_unique<SimDevice>(
      SimOptions{.device = *std::move(description),
                 .mode = options.checked ? SimMode::checked : SimMode::plain,
                 .schedule_seed = options.schedule_seed,
                 .host_threads = options.host_threads,
                 .faults = {},
                 .heartbeat = options.heartbeat});
}

}  // namespace forge::sim
