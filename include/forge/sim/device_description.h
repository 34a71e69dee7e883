// DeviceDescription: a GPU in numbers, enough to estimate how long a kernel takes there.
//
// Files are sim/devices/*.json. They are compiled in, and others can be read. Each number says
// where it is from, by the name of one of the file's sources:
//
//   { "name": "h200", "full_name": "NVIDIA H200 SXM 141GB",
//     "sources": { "datasheet": "NVIDIA H200 Tensor Core GPU, datasheet, 2024", ... },
//     "memory_gb_per_s": { "value": 4800, "source": "datasheet" },
//     "clock_ghz": { "value": 1.98, "source": "datasheet", "note": "of the 67 TFLOP/s" },
//     ... every number of the struct below, by its name there,
//     "calibration": { "device": "NVIDIA H200", "driver": "580.65.06", "date": "2026-01-31",
//                      "commit": "0123abc", "launch_us": 2.4, "graph_launch_us": 1.3,
//                      "kernel_factors": { "project": 1.7, ... } } }
//
// `calibration` is what was measured on the real thing (scripts/gpu-check writes it). While a file
// has none, every estimate made from it is labelled "uncalibrated".
//
// Thread contract: pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

namespace forge::sim {

/// What was measured on hardware: the times of launches, and for each kernel what its estimate is
/// multiplied by.
struct Calibration {
  std::string device;  ///< as the driver names it
  std::string driver;
  std::string date;
  std::string commit;
  double launch_us = 0;                          ///< time to launch a kernel in a stream
  double graph_launch_us = 0;                    ///< time to launch a kernel in a graph
  std::map<std::string, double> kernel_factors;  ///< by kernel name, measured over estimated
};

struct DeviceDescription {
  std::string name;                            ///< "h200"
  std::string full_name;                       ///< "NVIDIA H200 SXM 141GB"
  std::map<std::string, std::string> sources;  ///< where the numbers are from, by short name
  int compute_capability = 0;                  ///< 90 for 9.0
  int multiprocessors = 0;
  double clock_ghz = 0;            ///< boost
  int fp32_lanes = 0;              ///< fused multiply-adds of a multiprocessor in a clock cycle
  int matrix_flops = 0;            ///< operations of its tensor cores in a clock cycle, of bf16
  int max_threads = 0;             ///< resident on a multiprocessor
  int max_blocks = 0;              ///< resident on a multiprocessor
  int registers = 0;               ///< of a multiprocessor
  std::uint64_t l1_bytes = 0;      ///< of a multiprocessor: L1 and shared memory together
  std::uint64_t shared_bytes = 0;  ///< of these, the most that blocks can have together
  std::uint64_t l2_bytes = 0;
  std::uint64_t memory_bytes = 0;
  double memory_gb_per_s = 0;  ///< of device memory; a GB is 10^9 bytes
  double l2_gb_per_s = 0;
  double memory_latency_ns = 0;  ///< of a load that misses all caches
  double l2_latency_ns = 0;
  double operation_latency_cycles = 0;  ///< of a dependent fused multiply-add
  double launch_us = 0;                 ///< time to launch a kernel in a stream
  double graph_launch_us = 0;           ///< time to launch a kernel in a graph
  double host_link_gb_per_s = 0;        ///< PCIe or NVLink to the host, one direction
  double host_link_latency_us = 0;
  std::optional<Calibration> calibration;
};

/// Reads the JSON form. Errors: name the field, its value and what is accepted.
tl::expected<DeviceDescription, std::string> parse_device(const std::string& json);

/// The descriptions that are built in, by name: "a100", "h100", "h200", "l4", "rtx4090".
const std::vector<DeviceDescription>& known_devices();

/// A built-in name or the path of a JSON file. Errors: name both and the known names.
tl::expected<DeviceDescription, std::string> find_device(const std::string& name_or_path);

/// The JSON text of a description, with `calibration` in place of any that it had.
/// Errors: those of parse_device, for the text or for the result.
tl::expected<std::string, std::string> with_calibration(const std::string& json,
                                                        const Calibration& calibration);

}  // namespace forge::sim
