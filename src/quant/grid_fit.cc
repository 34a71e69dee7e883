#include "grid_fit.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>

namespace forge::quant {
namespace {

/// A narrower range has no inverse that is finite, or no square that is not 0.
constexpr float kNarrow = 0x1p-60F;

/// Four numbers, one operation on each: a register of SSE2 or NEON, with g++ and clang alike.
using Lanes = float __attribute__((vector_size(16)));

Lanes load(const float* x) {
  Lanes lanes;
  std::memcpy(&lanes, x, sizeof lanes);
  return lanes;
}

float total(Lanes x) { return (x[0] + x[2]) + (x[1] + x[3]); }

/// The importance of numbers i .. i + 3.
Lanes importance_at(Group x, std::size_t i) {
  return x.importance() == nullptr ? Lanes{} + 1.0F : load(x.importance() + i);
}

struct Ends {
  float smallest;
  float largest;
};

Ends ends_of(Group x) {
  Lanes low = load(x.data());
  Lanes high = low;
  for (std::size_t i = 4; i < x.size(); i += 4) {
    const Lanes numbers = load(&x[i]);
    low = numbers < low ? numbers : low;
    high = numbers > high ? numbers : high;
  }
  return {std::min({low[0], low[1], low[2], low[3]}),
          std::max({high[0], high[1], high[2], high[3]})};
}

/// The grid seen from a number: code = x * inverse + shift, rounded to nearest and kept in range.
class Coder {
 public:
  Coder(Grid grid, CodeRange range)
      : inverse_(grid.step == 0.0F ? 0.0F : 1.0F / grid.step),
        shift_(grid.offset * inverse_),
        low_(Lanes{} + range.low),
        high_(Lanes{} + range.high) {}

  Lanes operator()(Lanes x) const {
    constexpr float kRound = 0x1.8p+23F;  // next to it, floats are the whole numbers
    Lanes code = x * inverse_ + shift_;
    code = code < low_ ? low_ : code;
    code = code > high_ ? high_ : code;
    return (code + kRound) - kRound;
  }

 private:
  float inverse_;
  float shift_;
  Lanes low_;
  Lanes high_;
};

/// A fitted grid and by how much it lowers the squared error, against storing zeros.
struct Fit {
  Grid grid;
  float gain = 0;
};

Fit least_squares_symmetric(const CodeSums& sums) {
  if (sums.qq == 0.0F) return {};
  const float step = sums.xq / sums.qq;
  return {{step, 0.0F}, step * sums.xq};
}

/// An offset below 0 cannot be stored: the best with 0 takes its place.
Fit least_squares_affine(const CodeSums& sums, float count, float sum_x) {
  const float determinant = count * sums.qq - sums.q * sums.q;
  if (determinant > 0.0F) {
    const float step = (count * sums.xq - sums.q * sum_x) / determinant;
    const float offset = (sums.q * sums.xq - sums.qq * sum_x) / determinant;
    if (step >= 0.0F && offset >= 0.0F) {
      return {{step, offset}, step * sums.xq - offset * sum_x};
    }
  }
  const Fit fit = least_squares_symmetric(sums);
  return fit.grid.step >= 0.0F ? fit : Fit{};
}

}  // namespace

CodeSums code_sums(Group x, Grid grid, CodeRange range) {
  const Coder code(grid, range);
  Lanes xq{};
  Lanes qq{};
  Lanes q{};
  for (std::size_t i = 0; i < x.size(); i += 4) {
    const Lanes numbers = load(&x[i]);
    const Lanes codes = code(numbers);
    const Lanes weighted = importance_at(x, i) * codes;
    xq += numbers * weighted;
    qq += codes * weighted;
    q += weighted;
  }
  return {total(xq), total(qq), total(q)};
}

float squared_error(Group x, Grid grid, CodeRange range) {
  const Coder code(grid, range);
  Lanes sum{};
  for (std::size_t i = 0; i < x.size(); i += 4) {
    const Lanes numbers = load(&x[i]);
    const Lanes error = numbers - (grid.step * code(numbers) - grid.offset);
    sum += importance_at(x, i) * error * error;
  }
  return total(sum);
}

void nearest_codes(Group x, Grid grid, CodeRange range, std::uint8_t* codes) {
  const Coder code(grid, range);
  for (std::size_t i = 0; i < x.size(); i += 4) {
    const Lanes from_low = code(load(&x[i])) - range.low;
    for (int lane = 0; lane < 4; ++lane) *codes++ = static_cast<std::uint8_t>(from_low[lane]);
  }
}

float sum(Group x) {
  Lanes sum{};
  for (std::size_t i = 0; i < x.size(); i += 4) sum += importance_at(x, i) * load(&x[i]);
  return total(sum);
}

float sum_of_importance(Group x) {
  Lanes sum{};
  for (std::size_t i = 0; i < x.size(); i += 4) sum += importance_at(x, i);
  return total(sum);
}

float largest_magnitude(Group x) {
  const Ends ends = ends_of(x);
  return std::max(-ends.smallest, ends.largest);
}

Grid fit_affine(Group x, float high) {
  const auto [smallest, largest] = ends_of(x);
  const float bottom = std::min(smallest, 0.0F);  // as an offset is not below 0
  const float width = largest - bottom;
  if (width < kNarrow) return {0.0F, -bottom};

  const float sum_x = sum(x);
  const float count = sum_of_importance(x);
  Fit best;
  for (const float beyond_low : {0.0F, 0.5F}) {
    for (const float beyond_high : {0.0F, 0.5F}) {
      const float step = width / (high + beyond_low + beyond_high);
      const Grid trial = {step, step * -beyond_low - bottom};
      const CodeSums sums = code_sums(x, trial, {0.0F, high});
      const Fit fit = least_squares_affine(sums, count, sum_x);
      if (fit.gain > best.gain) best = fit;
    }
  }
  return best.grid;
}

Grid fit_symmetric(Group x, float half) {
  const auto [smallest, largest] = ends_of(x);
  const float extreme = -smallest > largest ? smallest : largest;
  if (std::fabs(extreme) < kNarrow) return {};

  // The number of largest magnitude as code -(half - 1), where codes cover both signs, to
  // -(half + 2), of which the range has only -half.
  Fit best;
  for (float code = 1.0F - half; code >= -half - 2.0F; code -= 0.5F) {
    const Fit fit =
        least_squares_symmetric(code_sums(x, {extreme / code, 0.0F}, {-half, half - 1.0F}));
    if (fit.gain > best.gain) best = fit;
  }
  return best.grid;
}

}  // namespace forge::quant
