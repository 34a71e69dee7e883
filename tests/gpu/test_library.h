// TestLibrary: a library of matrix products for a simulated device, some of whose algorithms lie.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "forge/core/names.h"
#include "forge/numerics/matrix_step.h"
#include "forge/sim/sim_library.h"

namespace forge::testing {

/// How an algorithm computes.
enum class Way : std::uint8_t {
  right,       ///< as project_wide
  splits,      ///< both halves of K, and then their sum
  drops_tail,  ///< without the last eight inputs
  by_shape,    ///< right for 128 rows, splits for others
  one_bit,     ///< right but for the last bit of the last sum
  unwritten,   ///< right but for the last row, which it leaves as it is
};
constexpr Names<Way> names_of(Way) {
  return {"right", "splits", "drops_tail", "by_shape", "one_bit", "unwritten"};
}

class TestLibrary : public sim::SimLibrary {
 public:
  /// With these algorithms for every shape, the favourite first.
  explicit TestLibrary(std::vector<Way> ways, numerics::StepModel step = numerics::kMmaSm90)
      : ways_(std::move(ways)), step_(step) {}

  /// Outputs of matrices that it refuses.
  static constexpr int kOutputsRefused = 56;

  std::string name() const override { return "test library 1.0"; }
  tl::expected<std::vector<gpu::LibraryAlgorithm>, gpu::DeviceError> algorithms(
      const gpu::LibraryShape& shape, int most) override;
  void multiply(const gpu::LibraryProduct& product) override;

 private:
  std::vector<Way> ways_;
  numerics::StepModel step_;
};

}  // namespace forge::testing
