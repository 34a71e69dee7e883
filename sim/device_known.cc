#include <fstream>
#include <sstream>

#include "device_files.h"
#include "forge/core/check.h"
#include "forge/sim/device_description.h"

namespace forge::sim {
namespace {

std::vector<DeviceDescription> parse_built_in() {
  std::vector<DeviceDescription> devices;
  for (const auto& [name, text] : built_in_device_files()) {
    auto device = parse_device(text);
    FORGE_CHECK(device && device->name == name, "sim/devices/", name,
                ".json: ", device ? "its name is " + device->name : device.error());
    devices.push_back(*std::move(device));
  }
  return devices;
}

std::string known_names() {
  std::string names;
  for (const DeviceDescription& device : known_devices()) {
    names += (names.empty() ? "" : ", ") + device.name;
  }
  return names;
}

}  // namespace

const std::vector<DeviceDescription>& known_devices() {
  static const std::vector<DeviceDescription> kDevices = parse_built_in();
  return kDevices;
}

tl::expected<DeviceDescription, std::string> find_device(const std::string& name_or_path) {
  for (const DeviceDescription& device : known_devices()) {
    if (device.name == name_or_path) return device;
  }
  std::ifstream file(name_or_path, std::ios::binary);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf())) {  // of a folder nothing can be read
    return tl::unexpected("device '" + name_or_path + "' is neither a known one (" + known_names() +
                          ") nor a file that can be read");
  }
  auto device = parse_device(text.str());
  if (!device) return tl::unexpected(name_or_path + ": " + device.error());
  return device;
}

}  // namespace forge::sim
