#include <algorithm>
#include <charconv>
#include <cstring>
#include <iostream>
#include <map>
#include <set>

#include "forge/numerics/canonical.h"
#include "forge/simt/warp_log.h"
#include "kernel_commands.h"
#include "kernel_sources.h"
#include "kernel_text.h"

namespace forge::apps {
namespace {

using simt::WarpEvent;

std::string file_of(const simt::Site& site) {
  const std::string name = to_string(site);
  return name.substr(0, name.find(':'));
}

/// Whether "embed.cuh:42", "42" or a piece of the line's text means this place.
bool is_meant(const std::string& line, const simt::Site& site) {
  const bool is_number = line.find_first_not_of("0123456789") == std::string::npos;
  if (is_number) return line == std::to_string(site.line);
  return line == to_string(site) || source_line(site).find(line) != std::string::npos;
}

/// The events at the one line that is meant. Errors: name the lines that there are.
tl::expected<std::vector<const WarpEvent*>, std::string> events_at(const std::string& line,
                                                                   const simt::WarpLog& log) {
  using Places = std::map<std::string, std::set<int>>;  // lines of files
  std::vector<const WarpEvent*> events;
  Places all;
  Places meant;
  for (const WarpEvent& event : log.events) {
    const std::string file = file_of(event.site);
    all[file].insert(event.site.line);
    if (!is_meant(line, event.site)) continue;
    events.push_back(&event);
    meant[file].insert(event.site.line);
  }
  if (meant.size() == 1 && meant.begin()->second.size() == 1) return events;
  std::string message = "--line " + line;
  message += meant.empty() ? ": this warp neither uses memory nor meets there, but at"
                           : " means several lines:";
  for (const auto& [file, lines] : meant.empty() ? all : meant) {
    message += "\n  " + file + ":";
    for (const int number : lines) message += " " + std::to_string(number);
  }
  return tl::unexpected(message);
}

/// A word as the float that it is, or as an integer where it can be none of the inputs' floats.
std::string word_text(std::uint32_t word, ElementKind kind) {
  constexpr std::uint32_t kSmallest = 0x00800000;  // normal
  if (word == 0) return "0";
  if (kind == ElementKind::words && word == 0xffffffff) return "-1";
  if (kind == ElementKind::words || word < kSmallest) return std::to_string(word);
  const float value = numerics::float_of(word);
  if (value != value) return "nan";
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", static_cast<double>(value));
  return text;
}

std::string value_text(const WarpEvent::Lane& lane, int bytes, ElementKind kind) {
  if (bytes == 8) {
    std::uint64_t value = 0;
    std::memcpy(&value, lane.value.data(), sizeof value);
    return std::to_string(value);
  }
  std::string text;
  for (int at = 0; at < bytes; at += 4) {
    std::uint32_t word = 0;
    std::memcpy(&word, lane.value.data() + at, std::min(bytes, 4));
    text += (at > 0 ? " " : "") + word_text(word, kind);
  }
  return text;
}

/// Where a request goes: a buffer or a shared array.
struct Place {
  std::string name;
  std::uintptr_t begin = 0;
  ElementKind kind = ElementKind::f32;
};

class StepView {
 public:
  StepView(KernelSimulation& simulation, const simt::WarpLog& log)
      : simulation_(simulation), log_(log) {}

  std::string request_text(const WarpEvent& event) const {
    const std::vector<std::size_t> lanes = lanes_of(event);
    const Place place = place_of(event, lanes.front());
    std::string text =
        paragraph(std::string(name_of(event.access)) + "s",
                  std::to_string(event.bytes) + " bytes a lane of " +
                      (event.space == simt::Space::shared ? "the shared array " : "") + place.name +
                      ", " + std::to_string(lanes.size()) + " of 32 lanes, " + cost_text(event));
    // Vectors are wide; single values fit side by side.
    const std::size_t columns = event.bytes > 8 ? 1 : 2;
    const std::string heading =
        cells("lane", "index", event.space == simt::Space::shared ? "bank" : "sector", "value");
    text += "\n";
    for (std::size_t c = 0; c < columns; ++c) text += heading;
    text.erase(text.find_last_not_of(' ') + 1);
    text += "\n";
    const std::size_t rows = simt::kWarpSize / columns;
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t c = 0; c < columns; ++c) text += lane_text(event, row + c * rows, place);
      text.erase(text.find_last_not_of(' ') + 1);
      text += "\n";
    }
    return text;
  }

 private:
  static std::string cells(const std::string& lane, const std::string& index,
                           const std::string& unit, const std::string& value) {
    return padded_left(lane, 4) + padded_left(index, 10) + padded_left(unit, 8) + "  " +
           padded_right(value, 14);
  }

  static std::vector<std::size_t> lanes_of(const WarpEvent& event) {
    std::vector<std::size_t> lanes;
    for (std::size_t lane = 0; lane < simt::kWarpSize; ++lane) {
      if ((event.lanes >> lane & 1) != 0) lanes.push_back(lane);
    }
    return lanes;
  }

  Place place_of(const WarpEvent& event, std::size_t lane) const {
    const std::uintptr_t address = event.lane[lane].address;
    if (event.space == simt::Space::global) {
      const simt::MemoryRange* const range =
          simulation_.memory().find(address, static_cast<std::size_t>(event.bytes));
      if (range == nullptr) return {"no buffer", 0, ElementKind::words};
      return {range->name, range->begin, simulation_.inputs().kind_of(range->name)};
    }
    for (const simt::SharedArrayPlace& array : log_.shared) {
      if (address >= array.offset && address < array.offset + array.bytes) {
        return {array.name, array.offset, ElementKind::f32};
      }
    }
    return {"no array", 0, ElementKind::words};
  }

  static std::string cost_text(const WarpEvent& event) {
    const simt::RequestCost cost = simt::cost_of(event);
    return event.space == simt::Space::shared
               ? counted(static_cast<std::uint64_t>(cost.wavefronts), "wavefront")
               : counted(static_cast<std::uint64_t>(cost.sectors), "sector");
  }

  static std::string lane_text(const WarpEvent& event, std::size_t lane, const Place& place) {
    if ((event.lanes >> lane & 1) == 0) return cells(std::to_string(lane), "-", "-", "-");
    const WarpEvent::Lane& access = event.lane[lane];
    const std::uintptr_t offset = access.address - place.begin;
    const auto element = static_cast<std::uintptr_t>(event.bytes == 8 ? 8 : 4);
    const std::uintptr_t unit = event.space == simt::Space::shared
                                    ? access.address / 4 % simt::kBanks
                                    : offset / simt::kSectorBytes;
    return cells(std::to_string(lane), std::to_string(offset / element), std::to_string(unit),
                 value_text(access, event.bytes, place.kind));
  }

  KernelSimulation& simulation_;
  const simt::WarpLog& log_;
};

std::string meeting_text(const WarpEvent& event, const simt::LaunchShape& shape) {
  if (event.kind == WarpEvent::Kind::block_meeting) {
    return paragraph("meeting", "all " + std::to_string(shape.threads) +
                                    " threads of the block; nobody goes on before the last is "
                                    "here");
  }
  return paragraph("meeting",
                   "the 32 lanes of the warp: sync_warp, or a collective that "
                   "exchanges a value of each");
}

tl::expected<void, std::string> check_range(const char* flag, long long value, long long count) {
  if (value >= 0 && value < count) return {};
  return tl::unexpected(std::string(flag) + " " + std::to_string(value) + ": accepted are 0 to " +
                        std::to_string(count - 1));
}

}  // namespace

int step_kernel(const KernelOptions& options, const KernelStepOptions& step) {
  auto created = KernelSimulation::create(options);
  if (!created) return unusable_kernel(created.error());
  KernelSimulation& simulation = **created;
  const simt::LaunchShape& shape = simulation.launch().shape;
  const int warps = shape.threads / simt::kWarpSize;
  for (const auto& checked : {check_range("--block", step.block, shape.blocks()),
                              check_range("--warp", step.warp, warps)}) {
    if (!checked) return unusable_kernel(checked.error());
  }
  simt::WarpLogger logger(step.block, step.warp);
  if (auto ran = simulation.run(logger); !ran) {
    std::cout << wrapped(to_string(ran.error()));
    return kKernelWrong;
  }
  const auto events = events_at(step.line, logger.log());
  if (!events) return unusable_kernel(events.error());
  const auto count = static_cast<long long>(events->size());
  if (auto checked = check_range("--occurrence", step.occurrence, count); !checked) {
    return unusable_kernel(checked.error());
  }
  const WarpEvent& event = *(*events)[static_cast<std::size_t>(step.occurrence)];
  const simt::Index3 index = shape.index_of(step.block);
  std::cout
      << paragraph("kernel", std::string(simulation.kernel().name()) + ", block " +
                                 std::to_string(step.block) + " (" + std::to_string(index.x) +
                                 ", " + std::to_string(index.y) + ", " + std::to_string(index.z) +
                                 ") of " + std::to_string(shape.blocks()) + ", warp " +
                                 std::to_string(step.warp) + " of " + std::to_string(warps))
      << clipped(padded_right("line", 12) + to_string(event.site) + "  " + source_line(event.site))
      << "\n"
      << paragraph("occurrence", std::to_string(step.occurrence) + " of " + std::to_string(count));
  std::cout << (event.kind == WarpEvent::Kind::request
                    ? StepView(simulation, logger.log()).request_text(event)
                    : meeting_text(event, shape));
  return kKernelRight;
}

}  // namespace forge::apps
