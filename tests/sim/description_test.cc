// Device descriptions: the files that are built in, and what becomes of files that cannot be used.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "forge/sim/device_description.h"

namespace forge::sim {
namespace {

using nlohmann::json;

json h200_file() {
  std::ifstream file(FORGE_DEVICES "/h200.json");
  return json::parse(file);
}

/// What parse_device says of the H200's file after `edit`.
template <class Edit>
std::string error_after(Edit edit) {
  json file = h200_file();
  edit(file);
  const auto device = parse_device(file.dump());
  return device ? "accepted" : device.error();
}

std::string error_of_value(const char* field, const json& value) {
  return error_after([&](json& file) { file[field]["value"] = value; });
}

Calibration measured() {
  return {.device = "NVIDIA H200",
          .driver = "580.65.06",
          .date = "2026-01-31",
          .commit = "0123abc",
          .launch_us = 2.25,
          .graph_launch_us = 1.125,
          .kernel_factors = {{"project", 1.5}, {"sample", 0.75}}};
}

TEST(DeviceDescription, five_devices_are_built_in_by_name) {
  std::string names;
  for (const DeviceDescription& device : known_devices()) names += device.name + " ";
  EXPECT_EQ(names, "a100 h100 h200 l4 rtx4090 ");
}

TEST(DeviceDescription, the_datasheets_rates_of_fp32_follow_from_lanes_and_clocks) {
  const auto teraflops = [](const char* name) {
    const DeviceDescription d = find_device(name).value();
    return 2e-3 * d.multiprocessors * d.fp32_lanes * d.clock_ghz;
  };
  EXPECT_NEAR(teraflops("h200"), 67, 0.5);
  EXPECT_NEAR(teraflops("h100"), 67, 0.5);
  EXPECT_NEAR(teraflops("a100"), 19.5, 0.05);
  EXPECT_NEAR(teraflops("rtx4090"), 82.6, 0.05);
  EXPECT_NEAR(teraflops("l4"), 30.3, 0.05);
}

TEST(DeviceDescription, and_those_of_bf16_from_tensor_cores) {
  const auto teraflops = [](const char* name) {
    const DeviceDescription d = find_device(name).value();
    return 1e-3 * d.multiprocessors * d.matrix_flops * d.clock_ghz;
  };
  // The datasheets' 989 is at 1.83 GHz, the clock here is that of fp32.
  EXPECT_NEAR(teraflops("h200"), 989 * 1.98 / 1.83, 1);
  EXPECT_NEAR(teraflops("h100"), 989 * 1.98 / 1.83, 1);
  EXPECT_NEAR(teraflops("a100"), 312, 0.5);
  EXPECT_NEAR(teraflops("rtx4090"), 165.2, 0.1);
  EXPECT_NEAR(teraflops("l4"), 121, 0.5);
}

TEST(DeviceDescription, none_that_is_built_in_claims_a_calibration_of_another_device) {
  for (const DeviceDescription& device : known_devices()) {
    if (!device.calibration) continue;
    EXPECT_NE(device.full_name.find(device.calibration->device), std::string::npos) << device.name;
  }
}

TEST(DeviceDescription, every_source_that_a_file_lists_is_used_in_it) {
  for (const DeviceDescription& device : known_devices()) {
    std::ifstream file(FORGE_DEVICES "/" + device.name + ".json");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    for (const auto& [name, citation] : device.sources) {
      EXPECT_NE(text.find("\"source\": \"" + name + "\""), std::string::npos)
          << device.name << " lists " << citation;
    }
  }
}

TEST(DeviceDescription, a_device_is_found_by_name_or_by_path) {
  EXPECT_EQ(find_device("l4").value().full_name, "NVIDIA L4 24GB");
  EXPECT_EQ(find_device(FORGE_DEVICES "/l4.json").value().full_name, "NVIDIA L4 24GB");
  EXPECT_EQ(find_device("b200").error(),
            "device 'b200' is neither a known one (a100, h100, h200, l4, rtx4090) nor a file that "
            "can be read");
  EXPECT_NE(find_device(FORGE_DEVICES).error().find("nor a file that can be read"),
            std::string::npos);
}

TEST(DeviceDescription, an_error_in_a_file_names_the_file) {
  const std::string path = ::testing::TempDir() + "/forge_broken_device.json";
  std::ofstream(path) << "{}";
  EXPECT_EQ(find_device(path).error(), path + ": name is missing; accepted is a text");
  std::remove(path.c_str());
}

TEST(DeviceDescription, a_number_out_of_range_is_refused_by_field_value_and_range) {
  EXPECT_EQ(error_of_value("multiprocessors", 0),
            "multiprocessors.value is 0; accepted is an integer, 1 .. 1024");
  EXPECT_EQ(error_of_value("multiprocessors", -132),
            "multiprocessors.value is -132; accepted is an integer, 1 .. 1024");
  EXPECT_EQ(error_of_value("multiprocessors", 132.5),
            "multiprocessors.value is 132.5; accepted is an integer, 1 .. 1024");
  EXPECT_EQ(error_of_value("clock_ghz", 0),
            "clock_ghz.value is 0; accepted is a number, 0.1 .. 10");
  EXPECT_EQ(error_of_value("clock_ghz", "fast"),
            "clock_ghz.value is \"fast\"; accepted is a number, 0.1 .. 10");
  EXPECT_EQ(error_of_value("launch_us", json::array()),
            "launch_us.value is a list of 0; accepted is a number, 0.01 .. 10000");
  EXPECT_EQ(error_of_value("memory_bytes", std::uint64_t{1} << 60),
            "memory_bytes.value is 1152921504606846976; accepted is an integer, 1048576 .. "
            "1125899906842624");
  EXPECT_EQ(error_of_value("shared_bytes", 300000),
            "shared_bytes.value is 300000; accepted is at most l1_bytes, 262144");
}

TEST(DeviceDescription, zero_negative_and_absent_are_refused_for_every_number) {
  const json file = h200_file();
  int numbers = 0;
  for (const auto& [name, entry] : file.items()) {
    if (!entry.contains("value")) continue;
    ++numbers;
    for (const json& value : {json(0), json(-1), json(-0.5), json(), json(1e300), json("nan")}) {
      EXPECT_EQ(error_of_value(name.c_str(), value).rfind(name + ".value is ", 0), 0u)
          << name << " " << value;
    }
    const auto& field = name;
    EXPECT_EQ(error_after([&](json& edited) { edited.erase(field); }),
              name + " is missing; accepted is an object");
    EXPECT_EQ(error_after([&](json& edited) { edited[field].erase("source"); }),
              name + ".source is missing; accepted is a text");
  }
  EXPECT_EQ(numbers, 21);
}

TEST(DeviceDescription, json_that_means_no_number_is_not_json) {
  for (const char* text : {"", "{", "{\"clock_ghz\": NaN}", "{\"clock_ghz\": 1e999}", "\xff"}) {
    EXPECT_EQ(parse_device(text).error().substr(0, 8), "at byte ") << text;
  }
  EXPECT_EQ(parse_device("[]").error(), "is a list of 0; accepted is an object");
}

TEST(DeviceDescription, misspelt_names_and_unknown_sources_are_refused) {
  EXPECT_EQ(error_after([](json& file) { file["clock_mhz"] = 1980; }), "unknown field 'clock_mhz'");
  EXPECT_EQ(error_after([](json& file) { file["clock_ghz"]["src"] = "datasheet"; }),
            "unknown field 'clock_ghz.src'");
  EXPECT_EQ(error_after([](json& file) { file["clock_ghz"]["source"] = "hearsay"; }),
            "clock_ghz.source is \"hearsay\"; accepted is one of the names in sources");
  EXPECT_EQ(error_after([](json& file) { file["name"] = ""; }),
            "name is \"\"; accepted is a text that is not empty");
}

TEST(DeviceDescription, a_calibration_is_written_into_a_file_and_read_from_it) {
  const std::string text = h200_file().dump();
  const auto calibrated = with_calibration(text, measured());
  ASSERT_TRUE(calibrated) << calibrated.error();
  const DeviceDescription device = parse_device(*calibrated).value();
  ASSERT_TRUE(device.calibration);
  EXPECT_EQ(device.calibration->device, "NVIDIA H200");
  EXPECT_EQ(device.calibration->driver, "580.65.06");
  EXPECT_EQ(device.calibration->date, "2026-01-31");
  EXPECT_EQ(device.calibration->commit, "0123abc");
  EXPECT_EQ(device.calibration->launch_us, 2.25);
  EXPECT_EQ(device.calibration->graph_launch_us, 1.125);
  EXPECT_EQ(device.calibration->kernel_factors, measured().kernel_factors);
  EXPECT_EQ(device.memory_gb_per_s, 4800) << "the rest stays";

  Calibration again = measured();
  again.launch_us = 3;
  EXPECT_EQ(parse_device(*with_calibration(*calibrated, again)).value().calibration->launch_us, 3);
}

TEST(DeviceDescription, a_calibration_that_cannot_be_is_refused_by_name) {
  const std::string text = h200_file().dump();
  const auto error = [&](auto edit) {
    Calibration calibration = measured();
    edit(calibration);
    const auto written = with_calibration(text, calibration);
    return written ? "accepted" : written.error();
  };
  EXPECT_EQ(error([](Calibration& c) { c.kernel_factors["projekt"] = 1; }),
            "unknown field 'calibration.kernel_factors.projekt'");
  EXPECT_EQ(error([](Calibration& c) { c.kernel_factors["embed"] = 0; }),
            "calibration.kernel_factors.embed is 0.0; accepted is a number, 0.001 .. 1000");
  EXPECT_EQ(error([](Calibration& c) { c.launch_us = std::nan(""); }),
            "calibration.launch_us is missing; accepted is a number, 0.01 .. 10000");
  EXPECT_EQ(error([](Calibration& c) { c.driver = ""; }),
            "calibration.driver is \"\"; accepted is a text that is not empty");
}

}  // namespace
}  // namespace forge::sim
