// DeviceClock: how long work on a stream takes, by the device's own clock.
//
// The benchmarks abort with the name of the call when the device fails: there is no result then.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "forge/core/must.h"
#include "forge/gpu/device.h"

namespace forge {

inline double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

class DeviceClock {
 public:
  static constexpr int kRounds = 11;
  static constexpr int kWarmups = 2;  ///< rounds before them

  explicit DeviceClock(gpu::Device& device)
      : stream_(must(device.create_stream())),
        begin_(must(device.create_event())),
        end_(must(device.create_event())) {}

  gpu::Stream& stream() { return *stream_; }

  /// Microseconds that the device needs for what `body(stream)` queues: the median of `rounds`,
  /// after kWarmups that do not count.
  template <class Body>
  double median_us(int rounds, const Body& body) {
    std::vector<double> times;
    for (int round = -kWarmups; round < rounds; ++round) {
      must(stream_->record(*begin_));
      body(*stream_);
      must(stream_->record(*end_));
      must(end_->synchronize());
      if (round >= 0) times.push_back(must(end_->microseconds_since(*begin_)));
    }
    return median(std::move(times));
  }

  /// Microseconds of one launch of many in a row, each of which waits for the one before.
  double launch_us(const gpu::KernelLaunch& launch) {
    return median_us(kRounds, [&](gpu::Stream& stream) { repeat(stream, launch); }) / kLaunches;
  }

  /// The same in a graph.
  double launch_in_graph_us(const gpu::KernelLaunch& launch) {
    return in_graph_us(kLaunches, [&](gpu::Stream& stream, int) { must(stream.launch(launch)); });
  }

  /// Microseconds of one of `count` that `queue(stream, i)` queues, in a graph.
  template <class Queue>
  double in_graph_us(int count, const Queue& queue) {
    must(stream_->begin_capture());
    for (int i = 0; i < count; ++i) queue(*stream_, i);
    const std::unique_ptr<gpu::Graph> graph = must(stream_->end_capture());
    return median_us(kRounds, [&](gpu::Stream& stream) { must(stream.launch(*graph)); }) / count;
  }

 private:
  static constexpr int kLaunches = 32;

  static void repeat(gpu::Stream& stream, const gpu::KernelLaunch& launch) {
    for (int i = 0; i < kLaunches; ++i) must(stream.launch(launch));
  }

  std::unique_ptr<gpu::Stream> stream_;
  std::unique_ptr<gpu::Event> begin_;
  std::unique_ptr<gpu::Event> end_;
};

}  // namespace forge
