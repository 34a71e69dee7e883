// project: every element is product_reference, whatever the rows, the tile and the warps.
#include <algorithm>

#include "forge/numerics/vector_ops.h"
#include "gpu/float_panels.h"
#include "gpu/kernel_rig.h"

namespace forge::gpu {
namespace {

class Project : public KernelTest {
 protected:
  struct Case {
    int rows;
    int inputs;
    int outputs;
    bool accumulate = false;
    int warps = 0;           ///< of a block; 0: as the shape says
    int panels_along_y = 0;  ///< of the grid; 0: likewise
    bool bias = false;
    float multiplier = 1;
    int beside = 0;  ///< floats of a row of y that are another's
    float cap = 0;   ///< 0: none
  };

  /// y with what is made of a product, by the CPU's functions one after the other.
  static void finish(const Case& c, const std::vector<float>& bias, float* product, float* y) {
    if (c.bias) numerics::add(product, bias.data(), c.outputs);
    if (c.accumulate) {
      numerics::add_scaled(y, product, c.multiplier, c.outputs);
    } else {
      numerics::scale(product, c.multiplier, c.outputs);
      if (c.cap > 0) numerics::soft_cap(product, c.cap, c.outputs);
      std::copy_n(product, c.outputs, y);
    }
  }

  void expect(const Case& c) const {
    SCOPED_TRACE(testing::Message() << "rows " << c.rows << " K " << c.inputs << " N " << c.outputs
                                    << (c.accumulate ? " accumulate" : "") << " warps " << c.warps);
    Random random(static_cast<std::uint64_t>(c.rows + 100 * c.inputs + 10'000 * c.outputs));
    const int rows_max = c.rows + 9;
    const auto size = [](int a, int b) {
      return static_cast<std::size_t>(a) * static_cast<std::size_t>(b);
    };
    const std::vector<float> weights = random.reals(size(c.outputs, c.inputs));
    const FloatPanels panels(weights, c.outputs, c.inputs);
    const std::vector<float> x = random.reals(size(std::max(c.rows, 1), c.inputs));
    const int y_stride = c.outputs + c.beside;
    const std::vector<float> before = random.reals(size(rows_max, y_stride));
    const std::vector<float> bias = random.reals(static_cast<std::size_t>(c.outputs));

    std::vector<float> product = panels.product_by_definition(x, c.rows);
    std::vector<float> after = before;
    for (int row = 0; row < c.rows; ++row) {
      finish(c, bias, &product[size(row, c.outputs)], &after[size(row, y_stride)]);
    }

    const auto rig = this->rig(random.word());
    const std::vector<std::uint32_t> row_count{static_cast<std::uint32_t>(c.rows)};
    const ProjectArgs args{.row_count = rig->input("row_count", row_count),
                           .x = rig->input("x", x),
                           .panels = rig->input("panels", panels.floats()),
                           .y = rig->output("y", before, after),
                           .inputs = c.inputs,
                           .outputs = c.outputs,
                           .accumulate = c.accumulate,
                           .bias = c.bias ? rig->input("bias", bias) : nullptr,
                           .multiplier = c.multiplier,
                           .y_stride = c.beside > 0 ? y_stride : 0,
                           .cap = c.cap};
    simt::LaunchShape shape = args.shape(rows_max);
    if (c.warps > 0) shape.threads = c.warps * simt::kWarpSize;
    if (c.panels_along_y > 0) {
      shape.grid.z = ceil_div(shape.grid.y, c.panels_along_y);
      shape.grid.y = c.panels_along_y;
    }
    rig->expect(launch_of(args, shape));
  }
};
FORGE_KERNEL_TEST_TARGETS(Project);

TEST_P(Project, RowsOfEveryTile) {
  for (const int rows : {1, 2, 3, 4, 5, 7, 8, 9, 16, 20}) expect({rows, 64, 40});
}

TEST_P(Project, InputsOfEveryTail) {
  for (const int inputs : {1, 2, 7, 8, 9, 63, 65, 255, 256, 257, 300, 520}) {
    expect({1, inputs, 33});
    expect({6, inputs, 33, true});
  }
}

TEST_P(Project, OutputsThatAreNoMultipleOfAPanel) {
  for (const int outputs : {1, 31, 32, 33, 64, 95}) expect({3, 24, outputs});
}

TEST_P(Project, SegmentsInSeveralRoundsHaveTheSameBitsForEveryNumberOfWarps) {
  for (const int warps : {1, 2, 3, 5, 8}) expect({5, 5 * 256 + 3, 32, true, warps});
}

TEST_P(Project, BiasMultiplierAndResidualStreamInTheOrderOfTheCpu) {
  for (const bool accumulate : {false, true}) {
    for (const float multiplier : {1.0f, 0.22f, 1.0f / 16}) {
      expect({.rows = 9,
              .inputs = 300,
              .outputs = 70,
              .accumulate = accumulate,
              .bias = true,
              .multiplier = multiplier});
    }
  }
  expect({.rows = 3, .inputs = 40, .outputs = 33, .accumulate = true, .multiplier = 0.3f});
}

TEST_P(Project, CapOfLogitsAfterTheirDivisor) {
  for (const float cap : {0.5f, 30.0f}) {
    expect({.rows = 5, .inputs = 300, .outputs = 70, .multiplier = 1.0f / 3, .cap = cap});
  }
}

TEST_P(Project, PartOfTheOutputsOfARow) {
  expect({.rows = 11, .inputs = 65, .outputs = 45, .bias = true, .beside = 19});
}

TEST_P(Project, LongInputs) { expect({2, 9 * 256 + 17, 32}); }

TEST_P(Project, MorePanelsThanAGridIsHigh) {
  const ProjectArgs args{.inputs = 1, .outputs = 65536 * 32 + 40};
  EXPECT_EQ(args.shape(9).grid, (simt::Index3{2, 1 << 15, 3}));
  expect({.rows = 1, .inputs = 20, .outputs = 140, .panels_along_y = 2});
}

TEST_P(Project, NoRowIsNoWork) { expect({0, 64, 64}); }

}  // namespace
}  // namespace forge::gpu
