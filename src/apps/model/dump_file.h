// What a forward pass computed at its points, printed, written and compared.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <tl/expected.hpp>
#include <vector>

namespace forge::apps {

/// The values at one point, all rows of the prompt.
struct DumpedPoint {
  std::string name;  ///< "embedding", "layer 3 attention", ...
  std::uint64_t rows = 0;
  std::uint64_t width = 0;
  std::vector<float> values;  ///< [rows][width]
};

struct Dump {
  std::vector<std::uint32_t> tokens;
  std::vector<DumpedPoint> points;  ///< in the order of the pass
};

/// A SafeTensors file with a tensor of each point, F32 [rows][width], and "tokens", I64.
/// Errors: those of TensorWriter.
tl::expected<void, std::string> write_dump(const std::string& path, const Dump& dump);

/// Reads what write_dump() has written. Errors: it is no such file, or it has no tokens.
tl::expected<Dump, std::string> read_dump(const std::string& path);

/// How far two dumps differ at a point, and where most.
struct PointDifference {
  std::string name;
  double relative = 0;  ///< largest |a - b| over the rms of b; infinity if either is not a number
  double largest = 0;   ///< |a - b|, at
  std::uint64_t row = 0;
  std::uint64_t column = 0;
};

/// The difference of two points of the same shape.
PointDifference difference(const DumpedPoint& a, const DumpedPoint& b);

/// The spread of all numbers that are finite.
struct Spread {
  double rms = 0;
  float least = 0;
  float largest = 0;
};
Spread spread_of(std::span<const float> values);

}  // namespace forge::apps
