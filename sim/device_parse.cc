#include <nlohmann/json.hpp>

#include "forge/gpu/kernels.h"
#include "forge/json/fields.h"
#include "forge/sim/device_description.h"

namespace forge::sim {
namespace {

using json::Fields;

constexpr NumberRange kLaunchTimes = {0.01, 1e4};  // us

/// The numbers of a description: objects {value, source, note}.
class Numbers {
 public:
  Numbers(const Fields& file, DeviceDescription& device) : file_(file), device_(device) {}

  void read_all() {
    DeviceDescription& d = device_;
    integer("compute_capability", {80, 999}, d.compute_capability);
    integer("multiprocessors", {1, 1024}, d.multiprocessors);
    real("clock_ghz", {0.1, 10}, d.clock_ghz);
    integer("fp32_lanes", {1, 1024}, d.fp32_lanes);
    integer("matrix_flops", {1, 1 << 20}, d.matrix_flops);
    integer("max_threads", {1024, 65536}, d.max_threads);
    integer("max_blocks", {1, 1024}, d.max_blocks);
    integer("registers", {1024, 1 << 24}, d.registers);
    integer("l1_bytes", {1 << 10, 1 << 30}, d.l1_bytes);
    integer("shared_bytes", {1 << 10, 1 << 30}, d.shared_bytes);
    integer("l2_bytes", {1 << 10, std::int64_t{1} << 40}, d.l2_bytes);
    integer("memory_bytes", {1 << 20, std::int64_t{1} << 50}, d.memory_bytes);
    real("memory_gb_per_s", {0.1, 1e6}, d.memory_gb_per_s);
    real("l2_gb_per_s", {0.1, 1e6}, d.l2_gb_per_s);
    real("memory_latency_ns", {1, 1e6}, d.memory_latency_ns);
    real("l2_latency_ns", {1, 1e6}, d.l2_latency_ns);
    real("operation_latency_cycles", {1, 1000}, d.operation_latency_cycles);
    real("launch_us", kLaunchTimes, d.launch_us);
    real("graph_launch_us", kLaunchTimes, d.graph_launch_us);
    real("host_link_gb_per_s", {0.01, 1e5}, d.host_link_gb_per_s);
    real("host_link_latency_us", {0.01, 1e4}, d.host_link_latency_us);
    if (d.shared_bytes > d.l1_bytes) {
      file_.required_object("shared_bytes")
          .fail("value", "at most l1_bytes, " + std::to_string(d.l1_bytes));
    }
  }

 private:
  /// The object of a number, all of it but the value.
  Fields number_of(const char* name) {
    Fields number = file_.required_object(name);
    if (device_.sources.count(number.text("source")) == 0) {
      number.fail("source", "one of the names in sources");
    }
    if (number.has("note")) number.text("note");
    return number;
  }

  template <class Integer>
  void integer(const char* name, IntegerRange range, Integer& out) {
    const Fields number = number_of(name);
    out = number.integer<Integer>("value", range);
    number.finish();
  }
  void real(const char* name, NumberRange range, double& out) {
    const Fields number = number_of(name);
    out = number.number("value", range);
    number.finish();
  }

  const Fields& file_;
  DeviceDescription& device_;
};

void read_calibration(const Fields& section, Calibration& calibration) {
  calibration.device = section.text("device");
  calibration.driver = section.text("driver");
  calibration.date = section.text("date");
  calibration.commit = section.text("commit");
  calibration.launch_us = section.number("launch_us", kLaunchTimes);
  calibration.graph_launch_us = section.number("graph_launch_us", kLaunchTimes);
  const Fields factors = section.required_object("kernel_factors");
  for (const std::string_view kernel : gpu::kKernelNames) {
    if (!factors.has(kernel)) continue;
    calibration.kernel_factors[std::string(kernel)] = factors.number(kernel, {0.001, 1000});
  }
  factors.finish();
  section.finish();
}

void read_device(const Fields& file, DeviceDescription& device) {
  device.name = file.text("name");
  device.full_name = file.text("full_name");
  const Fields sources = file.required_object("sources");
  for (const std::string& name : sources.keys()) device.sources[name] = sources.text(name);
  Numbers(file, device).read_all();
  if (const auto section = file.object("calibration")) {
    read_calibration(*section, device.calibration.emplace());
  }
  file.finish();
}

}  // namespace

tl::expected<DeviceDescription, std::string> parse_device(const std::string& text) {
  const auto file = json::parse_object(text);
  if (!file) return tl::unexpected(to_string(file.error()));
  json::Fault fault;
  DeviceDescription device;
  read_device({*file, "", fault}, device);
  if (fault.is_set()) return tl::unexpected(fault.message);
  return device;
}

tl::expected<std::string, std::string> with_calibration(const std::string& text,
                                                        const Calibration& calibration) {
  if (auto device = parse_device(text); !device) return tl::unexpected(device.error());
  auto file = nlohmann::ordered_json::parse(text);
  file["calibration"] = {{"device", calibration.device},
                         {"driver", calibration.driver},
                         {"date", calibration.date},
                         {"commit", calibration.commit},
                         {"launch_us", calibration.launch_us},
                         {"graph_launch_us", calibration.graph_launch_us},
                         {"kernel_factors", calibration.kernel_factors}};
  const std::string calibrated = file.dump(2) + "\n";
  if (auto device = parse_device(calibrated); !device) return tl::unexpected(device.error());
  return calibrated;
}

}  // namespace forge::sim
