// For labs of GPU kernels: a launch on the simulated GPU, first under the checker, then counted.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "answering.h"
#include "forge/numerics/canonical.h"
#include "forge/simt/checker.h"
#include "forge/simt/machine.h"
#include "forge/simt/memory_map.h"
#include "forge/simt/traffic.h"

namespace forge::labs {

/// Global memory of the simulated GPU: buffers that begin where a sector does.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  ~DeviceMemory() {
    for (const Buffer& buffer : buffers_) std::free(buffer.data);
  }

  /// A buffer with these values. `name` is what the checker calls it.
  template <class T>
  T* put(const char* name, const std::vector<T>& values) {
    static_assert(std::is_trivially_copyable_v<T>);
    const std::size_t bytes = values.size() * sizeof(T);
    void* const data = std::aligned_alloc(kAlignment, (bytes / kAlignment + 1) * kAlignment);
    std::memcpy(data, values.data(), bytes);
    std::string first(static_cast<const char*>(data), bytes);
    buffers_.push_back({data, std::move(first)});
    if (bytes > 0) map_.add({reinterpret_cast<std::uintptr_t>(data), bytes, name});
    return static_cast<T*>(data);
  }

  const simt::MemoryMap& map() const { return map_; }
  /// Every buffer gets its first values again.
  void reset() {
    for (const Buffer& buffer : buffers_) {
      std::memcpy(buffer.data, buffer.first.data(), buffer.first.size());
    }
  }

 private:
  static constexpr std::size_t kAlignment = 256;
  struct Buffer {
    void* data;
    std::string first;
  };
  std::vector<Buffer> buffers_;
  simt::MemoryMap map_;
};

/// What a launch was like.
struct Launched {
  std::string fault;  ///< what the checker has stopped it for, in a line; mostly empty
  simt::Traffic traffic;

  /// What the lines of one kind count, in all.
  std::uint64_t sum(std::uint64_t simt::LineTraffic::*count, simt::Space space,
                    simt::AccessKind kind) const {
    std::uint64_t total = 0;
    for (const simt::LineTraffic& line : traffic.lines) {
      if (line.space == space && line.kind == kind) total += line.*count;
    }
    return total;
  }
  std::uint64_t sectors_read() const {
    return sum(&simt::LineTraffic::sectors, simt::Space::global, simt::AccessKind::read);
  }
  std::uint64_t sectors_written() const {
    return sum(&simt::LineTraffic::sectors, simt::Space::global, simt::AccessKind::write);
  }
};

/// The fault without lines of source, which are other ones in each solution: a mistake is known
/// again by what it answers.
inline std::string in_a_line(const simt::KernelFault& fault) {
  std::string text;
  const std::string whole = simt::to_string(fault);
  for (std::size_t at = 0; at < whole.size();) {
    const std::size_t end = whole.find('\n', at);
    std::string line = whole.substr(at, end - at);
    const std::size_t place = line.find(" at ");
    if (place != line.npos && line.find(".cuh:", place) != line.npos) line.resize(place);
    line.erase(0, line.find_first_not_of(' '));
    text += (text.empty() ? "" : "; ") + line;
    at = end + 1;
  }
  return text;
}

/// Launches a kernel of the instrumented build under the checker and, if that has found nothing,
/// once more to count. The buffers are then as the second launch has left them.
inline Launched launch(const char* name, simt::Entry entry, const simt::LaunchShape& shape,
                       const void* args, DeviceMemory& memory) {
  const simt::KernelCode code{.name = name, .plain = nullptr, .instrumented = entry};
  simt::Machine machine;
  simt::Checker checker(memory.map());
  const auto checked = machine.run(code, shape, args, {.observer = &checker});
  if (!checked) return {.fault = in_a_line(checked.error()), .traffic = {}};
  memory.reset();
  simt::TrafficCounter counter({.l1_bytes = 1 << 16, .l2_bytes = 1 << 20});
  const auto counted = machine.run(code, shape, args, {.observer = &counter});
  if (!counted) return {.fault = in_a_line(counted.error()), .traffic = {}};
  return {.fault = "", .traffic = counter.result()};
}

/// As "0.25 (3e800000)".
inline std::string value_and_bits(float x) {
  char text[48];
  std::snprintf(text, sizeof text, "%.9g (%08x)", static_cast<double>(x), numerics::bits_of(x));
  return text;
}

/// Members of a case.
inline int whole(const Json& input, const char* name) { return input.at(name).get<int>(); }
inline std::vector<int> wholes(const Json& input, const char* name) {
  std::vector<int> values;
  for (const Json& value : input.at(name)) values.push_back(value.get<int>());
  return values;
}
/// Of tenths: cases have whole numbers, which become smaller when they are made small.
inline std::vector<float> floats_of_tenths(const std::vector<int>& tenths) {
  std::vector<float> values;
  for (const int tenth : tenths) values.push_back(static_cast<float>(tenth) / 10);
  return values;
}

/// Numbers that look like any.
inline std::vector<float> made_up(int count, int seed) {
  std::vector<float> values;
  for (int i = 0; i < count; ++i) {
    values.push_back(static_cast<float>((i * 37 + seed * 11) % 101 - 50) / 10);
  }
  return values;
}

/// An answer, line by line.
using Lines = std::vector<std::string>;

/// Puts a lines-answer in the form of a task.
inline Answer in_lines(Lines (*play)(const Json&)) {
  return [play](const Json& input) {
    Json answer = Json::array();
    for (std::string& line : play(input)) answer.push_back(std::move(line));
    return answer;
  };
}

}  // namespace forge::labs
