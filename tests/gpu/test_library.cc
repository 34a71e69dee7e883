#include "gpu/test_library.h"

#include <bit>
#include <span>

#include "forge/gpu/device.h"
#include "forge/numerics/tensor_product.h"

namespace forge::testing {
namespace {

template <class Half>
using Row = std::span<const Half>;

template <class Half>
float sum_of(const numerics::StepModel& step, Way way, Row<Half> w, Row<Half> x, int rows) {
  const auto half = w.size() / 2;
  const std::size_t count = way == Way::drops_tail ? w.size() - 8 : w.size();
  if (way != Way::splits && (way != Way::by_shape || rows == 128)) {
    return numerics::tensor_product<Half>(step, w.first(count), x.first(count));
  }
  return numerics::tensor_product<Half>(step, w.first(half), x.first(half)) +
         numerics::tensor_product<Half>(step, w.subspan(half), x.subspan(half));
}

template <class Half>
void multiply_as(const numerics::StepModel& step, Way way, const gpu::LibraryProduct& product) {
  const auto inputs = static_cast<std::size_t>(product.shape.inputs);
  const auto outputs = static_cast<std::size_t>(product.shape.outputs);
  auto rows = static_cast<std::size_t>(product.shape.rows);
  if (way == Way::unwritten) --rows;
  const auto* const x = static_cast<const Half*>(product.x);
  const auto* const weights = static_cast<const Half*>(product.weights);
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t n = 0; n < outputs; ++n) {
      product.sums[row * outputs + n] =
          sum_of<Half>(step, way, {weights + n * inputs, inputs}, {x + row * inputs, inputs},
                       product.shape.rows);
    }
  }
  if (way != Way::one_bit) return;
  float& last = product.sums[rows * outputs - 1];
  last = std::bit_cast<float>(std::bit_cast<std::uint32_t>(last) ^ 1);
}

}  // namespace

tl::expected<std::vector<gpu::LibraryAlgorithm>, gpu::DeviceError> TestLibrary::algorithms(
    const gpu::LibraryShape& shape, int most) {
  if (shape.outputs == kOutputsRefused) {
    return tl::unexpected(gpu::DeviceError{"heuristic", "not supported", "test"});
  }
  std::vector<gpu::LibraryAlgorithm> algorithms;
  for (const Way way : ways_) {
    if (static_cast<int>(algorithms.size()) == most) break;
    algorithms.push_back({std::string(forge::name_of(way)), {static_cast<std::uint64_t>(way)}});
  }
  return algorithms;
}

void TestLibrary::multiply(const gpu::LibraryProduct& product) {
  const auto way = static_cast<Way>(product.algorithm->opaque[0]);
  if (product.shape.type == numerics::HalfType::f16) {
    multiply_as<numerics::F16>(step_, way, product);
  } else {
    multiply_as<numerics::BF16>(step_, way, product);
  }
}

}  // namespace forge::testing
