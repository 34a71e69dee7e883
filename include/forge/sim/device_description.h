// DeviceDescription: a GPU in numbers, enough to estimate how long a kernel takes there.
//
// Files are sim/devices/*.json; each number is from the device's datasheet or whitepaper, which the
// file cites. `calibration` is absent until the numbers have been compared with the real thing
// (scripts/gpu-check writes it); until then every estimate is labelled "uncalibrated".
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

namespace forge::sim {

/// Measured on hardware: what the estimate is multiplied by, kernel by kernel.
struct Calibration {
  std::string device;  ///< as the driver names it
  std::string driver;
  std::string date;
  std::string commit;
  double launch_us = 0;                          ///< of a kernel in a stream
  double graph_launch_us = 0;                    ///< of a kernel in a graph
  std::map<std::string, double> kernel_factors;  ///< by kernel name, measured over estimated
};

struct DeviceDescription {
  std::string name;                  ///< "h200"
  std::string full_name;             ///< "NVIDIA H200 SXM 141GB"
  std::vector<std::string> sources;  ///< where the numbers are from
  int multiprocessors = 0;
  double clock_ghz = 0;    ///< boost
  int fp32_lanes = 0;      ///< fused multiply-adds a clock and multiprocessor
  int max_threads = 2048;  ///< resident, a multiprocessor
  int max_blocks = 32;     ///< resident, a multiprocessor
  int shared_bytes = 0;    ///< a multiprocessor, for blocks
  int registers = 65536;   ///< a multiprocessor
  std::uint64_t l2_bytes = 0;
  std::uint64_t memory_bytes = 0;
  double memory_gb_per_s = 0;  ///< of device memory
  double l2_gb_per_s = 0;
  double memory_latency_ns = 0;  ///< of a load that misses all caches
  double l2_latency_ns = 0;
  double operation_latency_cycles = 4;  ///< of a dependent fused multiply-add
  double launch_us = 0;                 ///< of a kernel in a stream
  double graph_launch_us = 0;           ///< of a kernel in a graph
  double host_link_gb_per_s = 0;        ///< PCIe or NVLink to the host, one direction
  double host_link_latency_us = 0;
  std::optional<Calibration> calibration;
};

/// Reads the JSON form. Errors: name the field, its value and what is accepted.
tl::expected<DeviceDescription, std::string> parse_device(const std::string& json);

/// The descriptions that are built in, by name: "h200", "h100", "a100", "rtx4090", "l4".
const std::vector<DeviceDescription>& known_devices();

/// A built-in name or the path of a JSON file. Errors: name both and the known names.
tl::expected<DeviceDescription, std::string> find_device(const std::string& name_or_path);

}  // namespace forge::sim
