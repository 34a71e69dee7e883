#include "kernel_report.h"

#include <algorithm>

#include "kernel_sources.h"
#include "kernel_text.h"

namespace forge::apps {
namespace {

std::string number(std::uint64_t value) { return std::to_string(value); }

std::string grid_text(const simt::LaunchShape& shape) {
  std::string text = std::to_string(shape.grid.x);
  if (shape.grid.y > 1 || shape.grid.z > 1) text += " x " + std::to_string(shape.grid.y);
  if (shape.grid.z > 1) text += " x " + std::to_string(shape.grid.z);
  return text;
}

std::string result_text(const KernelReport& report) {
  std::string text;
  for (const KernelComparison& c : report.comparisons) {
    if (!text.empty()) text += "; ";
    text += c.buffer + ": ";
    if (c.different == 0) {
      text += "all bits of " + counted(c.values, "value") + " as on the CPU";
    } else {
      text += number(c.different) + " of " + counted(c.values, "value") +
              " differ from the CPU's, the first at " + number(c.first_different);
    }
  }
  return text;
}

std::string occupancy_text(const KernelReport& report) {
  const gpu::BlockResources& block = report.resources;
  return counted(static_cast<std::uint64_t>(report.occupancy.blocks), "block") +
         " on a multiprocessor, " + rounded(100 * report.occupancy.fraction, 0) +
         "% of its threads; limited by " + report.occupancy.limited_by + " (" +
         counted(static_cast<std::uint64_t>(block.registers), "register") + " a thread, " +
         number(static_cast<std::uint64_t>(block.shared_bytes)) + " bytes shared a block)";
}

std::string work_text(const sim::KernelWork& work) {
  const std::uint64_t bytes = work.bytes_read + work.bytes_written;
  const std::uint64_t flops = work.flops + work.matrix_flops;
  return number(flops) + " on " + number(bytes) +
         " bytes: " + rounded(static_cast<double>(flops) / static_cast<double>(bytes), 2) +
         " a byte";
}

std::string time_text(const KernelReport& report) {
  const sim::KernelTime& t = report.time;
  const auto us = [](double time) { return rounded(time, 2); };
  return us(t.total_us) + " us on " + report.device.name + (t.calibrated ? "" : " (uncalibrated)") +
         ", most of it for " + t.bound_by + ": launch " + us(t.launch_us) +
         " + the largest of memory " + us(t.memory_us) + ", compute " + us(t.compute_us) +
         ", latency " + us(t.latency_us) + (t.factor == 1 ? "" : ", times " + us(t.factor));
}

std::string kind_text(const simt::LineTraffic& line) {
  return "  " + std::string(name_of(line.kind));
}

/// Rows of one space under a heading; two lines each: the source, then what was counted.
std::string lines_text(const simt::Traffic& traffic, simt::Space space) {
  const bool shared = space == simt::Space::shared;
  std::string text = padded_right(shared ? "shared memory" : "global memory", 32) +
                     padded_left("requests", 12) + padded_left("lanes", 8) +
                     (shared ? padded_left("wavefronts", 12) + padded_left("conflicts", 12)
                             : padded_left("sectors", 12) + padded_left("used", 8)) +
                     "\n";
  bool any = false;
  simt::Site last;
  for (const simt::LineTraffic& line : traffic.lines) {
    if (line.space != space) continue;
    if (!any || !(line.site == last)) {
      text += clipped(to_string(line.site) + "  " + source_line(line.site)) + "\n";
    }
    any = true;
    last = line.site;
    text += padded_right(kind_text(line), 32) + padded_left(number(line.requests), 12) +
            padded_left(rounded(line.lanes_per_request(), 1), 8);
    if (shared) {
      const double each = static_cast<double>(line.wavefronts) / static_cast<double>(line.requests);
      text += padded_left(rounded(each, 2), 12) +
              padded_left(number(line.wavefronts - line.wavefronts_least), 12);
    } else {
      text += padded_left(rounded(line.sectors_per_request(), 2), 12) +
              padded_left(rounded(100 * line.used(), 0) + "%", 8);
    }
    text += "\n";
  }
  return any ? text : "";
}

std::string level_text(const char* name, const simt::LevelTraffic& level, const char* what) {
  return padded_right(name, 16) + padded_left(number(level.read), 14) +
         padded_left(number(level.written), 14) + "  " + what + "\n";
}

nlohmann::ordered_json to_json(const simt::LevelTraffic& level) {
  return {{"read", level.read}, {"written", level.written}};
}

nlohmann::ordered_json to_json(const simt::Traffic& traffic) {
  auto lines = nlohmann::ordered_json::array();
  for (const simt::LineTraffic& line : traffic.lines) {
    lines.push_back({{"line", to_string(line.site)},
                     {"space", line.space == simt::Space::shared ? "shared" : "global"},
                     {"kind", name_of(line.kind)},
                     {"requests", line.requests},
                     {"lanes", line.lanes},
                     {"bytes", line.bytes},
                     {"sectors", line.sectors},
                     {"bytes_used", line.bytes_used},
                     {"wavefronts", line.wavefronts},
                     {"wavefronts_least", line.wavefronts_least}});
  }
  return {{"lines", lines},
          {"bytes",
           {{"asked", to_json(traffic.asked)},
            {"l1", to_json(traffic.l1)},
            {"l2", to_json(traffic.l2)},
            {"memory", to_json(traffic.memory)},
            {"once_a_block", to_json(traffic.once_a_block)},
            {"once", to_json(traffic.once)}}}};
}

}  // namespace

std::vector<simt::LineMeetings> barriers_of(const simt::Traffic& traffic) {
  std::vector<simt::LineMeetings> barriers;
  std::copy_if(traffic.meetings.begin(), traffic.meetings.end(), std::back_inserter(barriers),
               [](const simt::LineMeetings& meeting) { return meeting.whole_block; });
  return barriers;
}

bool is_right(const KernelReport& report) {
  return std::all_of(report.comparisons.begin(), report.comparisons.end(),
                     [](const KernelComparison& c) { return c.different == 0; });
}

std::string summary_text(const KernelReport& report) {
  const simt::LaunchShape& shape = report.launch.shape;
  std::string text =
      paragraph("kernel", std::string(report.kernel.name()) + ": " + report.kernel.what) +
      paragraph("sizes", to_string(report.kernel, report.sizes)) +
      paragraph("launch", "grid " + grid_text(shape) + ", " +
                              counted(static_cast<std::uint64_t>(shape.blocks()), "block") +
                              " of " + std::to_string(shape.threads) + " threads") +
      paragraph("occupancy", occupancy_text(report)) + paragraph("result", result_text(report)) +
      paragraph("operations", work_text(report.work)) + paragraph("time", time_text(report));
  int index = 0;
  for (const simt::LineMeetings& barrier : barriers_of(report.traffic)) {
    text += clipped(padded_right("barrier:" + std::to_string(++index), 12) +
                    to_string(barrier.site) + "  " + source_line(barrier.site)) +
            "\n";
  }
  return text;
}

std::string trace_text(const simt::Traffic& traffic) {
  const std::string global = lines_text(traffic, simt::Space::global);
  const std::string shared = lines_text(traffic, simt::Space::shared);
  return "\n" + global + (shared.empty() ? "" : "\n" + shared) +
         "lanes, sectors and wavefronts are those of one request; used is the share of the\n"
         "bytes of its sectors that some lane wants\n\n" +
         padded_right("bytes", 16) + padded_left("read", 14) + padded_left("written", 14) + "\n" +
         level_text("lanes", traffic.asked, "what the threads ask for") +
         level_text("L1", traffic.l1, "in whole sectors") +
         level_text("L2", traffic.l2, "what L1 lacks, and all writes") +
         level_text("device memory", traffic.memory, "what L2 lacks") +
         level_text("each once", traffic.once, "what must move at least");
}

nlohmann::ordered_json to_json(const KernelReport& report) {
  nlohmann::ordered_json sizes;
  for (const auto member : report.kernel.sizes) {
    sizes[flag_of(member).name + 2] = report.sizes.*member;
  }
  auto results = nlohmann::ordered_json::array();
  for (const KernelComparison& c : report.comparisons) {
    results.push_back({{"buffer", c.buffer}, {"values", c.values}, {"different", c.different}});
  }
  auto barriers = nlohmann::ordered_json::array();
  for (const auto& b : barriers_of(report.traffic)) barriers.push_back(to_string(b.site));
  const simt::LaunchShape& shape = report.launch.shape;
  const sim::KernelTime& time = report.time;
  return {{"kernel", report.kernel.name()},
          {"sizes", sizes},
          {"seed", report.seed},
          {"grid", {shape.grid.x, shape.grid.y, shape.grid.z}},
          {"threads", shape.threads},
          {"occupancy",
           {{"blocks", report.occupancy.blocks},
            {"fraction", report.occupancy.fraction},
            {"limited_by", report.occupancy.limited_by},
            {"registers", report.resources.registers},
            {"shared_bytes", report.resources.shared_bytes}}},
          {"results", results},
          {"flops", report.work.flops},
          {"matrix_flops", report.work.matrix_flops},
          {"time",
           {{"device", report.device.name},
            {"calibrated", time.calibrated},
            {"total_us", time.total_us},
            {"launch_us", time.launch_us},
            {"memory_us", time.memory_us},
            {"compute_us", time.compute_us},
            {"latency_us", time.latency_us},
            {"factor", time.factor},
            {"bound_by", time.bound_by}}},
          {"barriers", barriers},
          {"traffic", to_json(report.traffic)}};
}

}  // namespace forge::apps
