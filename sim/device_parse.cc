#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "forge/gpu/kernels.h"
#include "forge/sim/device_description.h"

namespace forge::sim {
namespace {

using nlohmann::json;

std::string shown(const json& value) {
  if (value.is_structured()) return value.is_array() ? "(a list)" : "(an object)";
  return value.dump(-1, ' ', false, json::error_handler_t::replace).substr(0, 40);
}

std::string shown(double number) { return json(number).dump(); }
std::string shown(std::uint64_t number) { return std::to_string(number); }

template <class T>
struct Accepted {
  T low;
  T high;
};

/// Reads fields into a description; stops at the first that cannot be used.
class Reader {
 public:
  const std::string& error() const { return error_; }

  void fail(const std::string& field, const std::string& found, const std::string& accepted) {
    if (error_.empty()) error_ = field + ": " + found + " is not accepted, but " + accepted;
  }

  /// The member, or null after saying that it is missing.
  const json* member(const json& object, const std::string& prefix, const char* name) {
    const auto found = object.find(name);
    if (found != object.end()) return &*found;
    if (error_.empty()) error_ = prefix + name + " is missing";
    return nullptr;
  }

  bool is_object(const json& value, const std::string& field) {
    if (!value.is_object()) fail(field, shown(value), "an object");
    return value.is_object();
  }

  void text(const json& object, const std::string& prefix, const char* name, std::string& out) {
    const json* const value = member(object, prefix, name);
    if (value == nullptr) return;
    if (!value->is_string() || value->get_ref<const std::string&>().empty()) {
      return fail(prefix + name, shown(*value), "a text that is not empty");
    }
    out = value->get<std::string>();
  }

  void real(const json& value, const std::string& field, Accepted<double> accepted, double& out) {
    const double number = value.is_number() ? value.get<double>() : std::nan("");
    if (!(number >= accepted.low && number <= accepted.high)) {
      return fail(field, shown(value),
                  "numbers from " + shown(accepted.low) + " to " + shown(accepted.high));
    }
    out = number;
  }

  template <class Integer>
  void integer(const json& value, const std::string& field, Accepted<std::uint64_t> accepted,
               Integer& out) {
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() < accepted.low ||
        value.get<std::uint64_t>() > accepted.high) {
      return fail(field, shown(value),
                  "integers from " + shown(accepted.low) + " to " + shown(accepted.high));
    }
    out = static_cast<Integer>(value.get<std::uint64_t>());
  }

  /// Misspelt names would otherwise go unseen.
  void only(const json& object, const std::string& prefix, const std::set<std::string>& names) {
    for (const auto& [name, value] : object.items()) {
      if (names.count(name) == 0) fail(prefix + name, "this name", "only those of the format");
    }
  }

 private:
  std::string error_;
};

/// The numbers of a description: objects {value, source, note}.
class Numbers {
 public:
  Numbers(const json& file, DeviceDescription& device, Reader& reader)
      : file_(file), device_(device), reader_(reader) {}

  void read_all() {
    DeviceDescription& d = device_;
    integer("multiprocessors", {1, 1024}, d.multiprocessors);
    real("clock_ghz", {0.1, 10}, d.clock_ghz);
    integer("fp32_lanes", {1, 1024}, d.fp32_lanes);
    integer("max_threads", {1024, 65536}, d.max_threads);
    integer("max_blocks", {1, 1024}, d.max_blocks);
    integer("registers", {1024, 1 << 24}, d.registers);
    integer("l1_bytes", {1 << 10, 1 << 30}, d.l1_bytes);
    integer("shared_bytes", {1 << 10, 1 << 30}, d.shared_bytes);
    integer("l2_bytes", {1 << 10, std::uint64_t{1} << 40}, d.l2_bytes);
    integer("memory_bytes", {1 << 20, std::uint64_t{1} << 50}, d.memory_bytes);
    real("memory_gb_per_s", {0.1, 1e6}, d.memory_gb_per_s);
    real("l2_gb_per_s", {0.1, 1e6}, d.l2_gb_per_s);
    real("memory_latency_ns", {1, 1e6}, d.memory_latency_ns);
    real("l2_latency_ns", {1, 1e6}, d.l2_latency_ns);
    real("operation_latency_cycles", {1, 1000}, d.operation_latency_cycles);
    real("launch_us", {0.01, 1e4}, d.launch_us);
    real("graph_launch_us", {0.01, 1e4}, d.graph_launch_us);
    real("host_link_gb_per_s", {0.01, 1e5}, d.host_link_gb_per_s);
    real("host_link_latency_us", {0.01, 1e4}, d.host_link_latency_us);
    if (reader_.error().empty() && d.shared_bytes > d.l1_bytes) {
      reader_.fail("shared_bytes.value", shown(d.shared_bytes),
                   "at most l1_bytes, " + shown(d.l1_bytes));
    }
  }

  const std::set<std::string>& names() const { return names_; }

 private:
  /// The value of a number whose source is known, or null.
  const json* value_of(const char* name) {
    names_.insert(name);
    const json* const number = reader_.member(file_, "", name);
    if (number == nullptr || !reader_.is_object(*number, name)) return nullptr;
    const std::string prefix = std::string(name) + ".";
    reader_.only(*number, prefix, {"value", "source", "note"});
    std::string source;
    reader_.text(*number, prefix, "source", source);
    if (device_.sources.count(source) == 0) {
      reader_.fail(prefix + "source", "'" + source + "'", "the names in sources");
    }
    if (number->contains("note")) {
      std::string note;
      reader_.text(*number, prefix, "note", note);
    }
    return reader_.member(*number, prefix, "value");
  }

  template <class Integer>
  void integer(const char* name, Accepted<std::uint64_t> accepted, Integer& out) {
    const json* const value = value_of(name);
    if (value != nullptr) reader_.integer(*value, std::string(name) + ".value", accepted, out);
  }
  void real(const char* name, Accepted<double> accepted, double& out) {
    const json* const value = value_of(name);
    if (value != nullptr) reader_.real(*value, std::string(name) + ".value", accepted, out);
  }

  const json& file_;
  DeviceDescription& device_;
  Reader& reader_;
  std::set<std::string> names_;
};

void read_sources(const json& file, DeviceDescription& device, Reader& reader) {
  const json* const sources = reader.member(file, "", "sources");
  if (sources == nullptr || !reader.is_object(*sources, "sources")) return;
  for (const auto& [name, value] : sources->items()) {
    reader.text(*sources, "sources.", name.c_str(), device.sources[name]);
  }
}

void read_calibration(const json& section, Calibration& calibration, Reader& reader) {
  const std::string prefix = "calibration.";
  if (!reader.is_object(section, "calibration")) return;
  reader.only(
      section, prefix,
      {"device", "driver", "date", "commit", "launch_us", "graph_launch_us", "kernel_factors"});
  reader.text(section, prefix, "device", calibration.device);
  reader.text(section, prefix, "driver", calibration.driver);
  reader.text(section, prefix, "date", calibration.date);
  reader.text(section, prefix, "commit", calibration.commit);
  for (auto [name, out] : {std::pair<const char*, double*>{"launch_us", &calibration.launch_us},
                           {"graph_launch_us", &calibration.graph_launch_us}}) {
    const json* const value = reader.member(section, prefix, name);
    if (value != nullptr) reader.real(*value, prefix + name, {0.01, 1e4}, *out);
  }
  const json* const factors = reader.member(section, prefix, "kernel_factors");
  if (factors == nullptr || !reader.is_object(*factors, prefix + "kernel_factors")) return;
  const std::string of_kernel = prefix + "kernel_factors.";
  reader.only(*factors, of_kernel, {gpu::kKernelNames.begin(), gpu::kKernelNames.end()});
  for (const auto& [name, value] : factors->items()) {
    reader.real(value, of_kernel + name, {0.001, 1000}, calibration.kernel_factors[name]);
  }
}

void read_device(const json& file, DeviceDescription& device, Reader& reader) {
  if (!reader.is_object(file, "the description")) return;
  reader.text(file, "", "name", device.name);
  reader.text(file, "", "full_name", device.full_name);
  read_sources(file, device, reader);
  Numbers numbers(file, device, reader);
  numbers.read_all();
  std::set<std::string> names = numbers.names();
  names.insert({"name", "full_name", "sources", "calibration"});
  reader.only(file, "", names);
  if (file.contains("calibration")) {
    read_calibration(file["calibration"], device.calibration.emplace(), reader);
  }
}

}  // namespace

tl::expected<DeviceDescription, std::string> parse_device(const std::string& text) {
  const json file = json::parse(text, nullptr, false);
  if (file.is_discarded()) return tl::unexpected(std::string("not JSON"));
  DeviceDescription device;
  Reader reader;
  read_device(file, device, reader);
  if (!reader.error().empty()) return tl::unexpected(reader.error());
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
