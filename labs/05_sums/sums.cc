// Sums with an order, sums without one, and the experiment that tells them apart: sums.h says how.
#include "sums.h"

#include <algorithm>
#include <bit>
#include <cmath>

// Nothing is fused here but where std::fma stands: the file is compiled with -ffp-contract=off.
namespace forge::labs::sums {

float product(const float* a, const float* b, int n) {
  float total = 0.0f;
  for (int first = 0; first < n; first += kSegment) {
    const int last = std::min(first + kSegment, n);
    float segment = 0.0f;
    for (int k = first; k < last; ++k) segment = std::fma(a[k], b[k], segment);
    total = first == 0 ? segment : total + segment;
  }
  return total;
}

float sum(const float* x, int n) {
  float lanes[kLanes] = {};
  for (int i = 0; i < n; ++i) lanes[i % kLanes] = lanes[i % kLanes] + x[i];
  for (int distance = kLanes / 2; distance > 0; distance /= 2) {
    for (int i = 0; i < distance; ++i) lanes[i] = lanes[i] + lanes[i + distance];
  }
  return lanes[0];
}

float split_product(const float* a, const float* b, int n, int parts) {
  float total = 0.0f;
  for (int part = 0; part < parts; ++part) {
    const int first = n * part / parts;
    const int last = n * (part + 1) / parts;
    float chain = 0.0f;
    for (int k = first; k < last; ++k) chain = std::fma(a[k], b[k], chain);
    total = total + chain;
  }
  return total;
}

float broken_product(Axis axis, const Place& place, const float* a, const float* b, int n) {
  int parts = 1;
  if (axis == Axis::batch) parts = place.rows - place.own_rows + 1;
  if (axis == Axis::chunk) parts = place.own_rows;
  if (axis == Axis::threads) parts = place.threads;
  if (axis == Axis::block_size) parts = place.block_size;
  return split_product(a, b, n, parts);
}

std::vector<Setting> all_settings(const Grid& grid) {
  std::vector<Setting> all;
  for (const int batch : grid.of(Axis::batch)) {
    for (const int chunk : grid.of(Axis::chunk)) {
      for (const int threads : grid.of(Axis::threads)) {
        for (const int block_size : grid.of(Axis::block_size)) {
          all.push_back({batch, chunk, threads, block_size});
        }
      }
    }
  }
  return all;
}

std::optional<std::size_t> first_difference(const Outputs& a, const Outputs& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::bit_cast<std::uint32_t>(a[i]) != std::bit_cast<std::uint32_t>(b[i])) return i;
  }
  return std::nullopt;
}

std::vector<Witness> witnesses(const Server& server, const Grid& grid) {
  std::vector<Witness> found;
  for (const Axis axis : kAxes) {
    const std::vector<int>& values = grid.of(axis);
    std::optional<Witness> first;
    for (const Setting& one : all_settings(grid)) {
      if (first) break;
      const Outputs outputs = server(one);
      Setting other = one;
      auto value = std::find(values.begin(), values.end(), other[axis]);
      for (++value; value != values.end() && !first; ++value) {
        other[axis] = *value;
        const auto output = first_difference(outputs, server(other));
        if (output) first = Witness{axis, one, other, *output};
      }
    }
    if (first) found.push_back(*first);
  }
  return found;
}

}  // namespace forge::labs::sums
