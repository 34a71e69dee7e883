// The fixed-order matrix product against Eigen's, whose order (and so whose bits) depend on the
// shape. Arguments: rows, inputs, outputs. 2 * rows * inputs * outputs operations each.
#include <benchmark/benchmark.h>

#include <Eigen/Dense>
#include <vector>

#include "forge/numerics/packed_matrix.h"

namespace forge {
namespace {

struct Shape {
  int rows;
  int inputs;
  int outputs;

  explicit Shape(const benchmark::State& state)
      : rows(static_cast<int>(state.range(0))),
        inputs(static_cast<int>(state.range(1))),
        outputs(static_cast<int>(state.range(2))) {}
};

void count_operations(benchmark::State& state, const Shape& shape) {
  state.counters["flop/s"] = benchmark::Counter(2.0 * shape.rows * shape.inputs * shape.outputs,
                                                benchmark::Counter::kIsIterationInvariantRate);
}

void multiply_packed(benchmark::State& state) {
  const Shape shape(state);
  using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const Matrix x = Matrix::Random(shape.rows, shape.inputs);
  const Matrix w = Matrix::Random(shape.outputs, shape.inputs);
  const numerics::PackedMatrix packed(w.data(), shape.outputs, shape.inputs);
  Matrix y(shape.rows, shape.outputs);
  for (auto _ : state) {
    numerics::multiply(x.data(), shape.rows, packed, y.data());
    benchmark::DoNotOptimize(y.data());
    benchmark::ClobberMemory();
  }
  count_operations(state, shape);
}

void multiply_eigen(benchmark::State& state) {
  const Shape shape(state);
  using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const Matrix x = Matrix::Random(shape.rows, shape.inputs);
  const Matrix w = Matrix::Random(shape.outputs, shape.inputs);
  Matrix y(shape.rows, shape.outputs);
  for (auto _ : state) {
    y.noalias() = x * w.transpose();
    benchmark::DoNotOptimize(y.data());
    benchmark::ClobberMemory();
  }
  count_operations(state, shape);
}

/// A decode, a batch of 16 and a prompt through the reference model's feed-forward; a large one.
void shapes(benchmark::internal::Benchmark* benchmark) {
  for (const int rows : {1, 16, 64}) {
    benchmark->Args({rows, 64, 256});
    benchmark->Args({rows, 2048, 2048});
  }
}
BENCHMARK(multiply_packed)->Apply(shapes);
BENCHMARK(multiply_eigen)->Apply(shapes);

}  // namespace
}  // namespace forge
