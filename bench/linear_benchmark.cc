// Products with stored weights against what the machine can do at best: with one row against the
// rate at which memory is read, with many against the peak of the arithmetic units.
//
//   linear/bf16/2048x5632/rows:512/threads:2      K x N; time is the kernel's, wall clock
//   linear/bf16_canonical/...                     the same with canonical numerics (numerics.h)
//
// Counters: rate (bytes of weights or operations a second), mark (the same of the machine, sampled
// in turns with the kernel), each the best of all turns, and of_mark, their ratio. Weights are read
// from memory, not from caches: products go around copies of them, 256 MiB together.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "forge/linear/large_memory.h"
#include "forge/linear/machine_limits.h"
#include "forge/linear/product.h"
#include "forge/numerics/philox.h"
#include "forge/quant/quantize.h"

namespace forge::linear {
namespace {

constexpr std::size_t kWeightBytes = std::size_t{256} << 20;
constexpr std::size_t kReadBytes = std::size_t{256} << 20;
constexpr std::size_t kSampleBytes = std::size_t{16} << 20;

struct Shape {
  int inputs;
  int outputs;
};

/// What is stored, how it is called, and how it is multiplied.
struct Form {
  const char* name;
  quant::WeightType type;
  Numerics numerics = Numerics::native;
};

constexpr Form kForms[] = {{"f32", quant::WeightType::f32},
                           {"f16", quant::WeightType::f16},
                           {"bf16", quant::WeightType::bf16},
                           {"bf16_canonical", quant::WeightType::bf16, Numerics::canonical},
                           {"int8", quant::WeightType::i8},
                           {"q8_0", quant::WeightType::q8_0},
                           {"q4_0", quant::WeightType::q4_0},
                           {"q5_0", quant::WeightType::q5_0},
                           {"q5_1", quant::WeightType::q5_1},
                           {"q4_k", quant::WeightType::q4_k},
                           {"q5_k", quant::WeightType::q5_k},
                           {"q6_k", quant::WeightType::q6_k},
                           {"q2_k", quant::WeightType::q2_k},
                           {"q3_k", quant::WeightType::q3_k},
                           {"iq4_xs", quant::WeightType::iq4_xs}};

std::vector<float> random_values(int count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::uint32_t i = 0; i < values.size(); ++i) {
    values[i] = numerics::uniform_open(numerics::philox({{i, 0, 0, 0}}, 1).x[0]) - 0.5F;
  }
  return values;
}

/// Copies of a linear layer all of whose rows are one random row.
std::vector<LinearWeights> make_weights(const Form& form, const Shape& shape, ThreadPool& pool) {
  const auto row = random_values(shape.inputs);
  const std::vector<float> scales(static_cast<std::size_t>(shape.outputs), 0.01F);
  std::vector<std::byte> stored;
  StoredLinear linear{.outputs = shape.outputs, .inputs = shape.inputs};
  if (form.type == quant::WeightType::i8) {
    for (int i = 0; i < shape.outputs * shape.inputs; ++i) stored.push_back(std::byte(i % 251));
    linear.form = StoredInt8{.codes = stored.data(), .scales = scales};
  } else {
    const std::size_t row_bytes = *quant::bytes_of(form.type, row.size());
    stored.resize(row_bytes * static_cast<std::size_t>(shape.outputs));
    if (form.type == quant::WeightType::f32) {
      std::copy_n(reinterpret_cast<const std::byte*>(row.data()), row_bytes, stored.begin());
    } else {
      (void)quant::quantize(form.type, row, stored.data());
    }
    for (std::size_t at = row_bytes; at < stored.size(); at += row_bytes) {
      std::copy_n(stored.begin(), row_bytes, stored.begin() + static_cast<std::ptrdiff_t>(at));
    }
    linear.form = StoredRows{.type = form.type, .rows = stored.data()};
  }
  std::vector<LinearWeights> copies;
  for (std::size_t bytes = 0; bytes < kWeightBytes; bytes += copies.back().bytes()) {
    copies.emplace_back(std::span(&linear, 1), pool, form.numerics);
  }
  return copies;
}

struct Case {
  Form form;
  Shape shape;
  int rows;
  int threads;
};

/// A product is held against memory where it reads more bytes than it computes.
double sample_mark(const Case& c, std::span<const std::byte> memory, ThreadPool& pool) {
  if (c.rows == 1) return sample_read_rate(memory, pool);
  const PanelKind kind = panel_kind({.form = StoredRows{.type = c.form.type}});
  const auto peak = sample_peak_rate(arithmetic_of(kind, c.form.numerics), pool);
  return peak ? *peak : *sample_peak_rate(Arithmetic::f32, pool);
}

void multiply_in_turns(benchmark::State& state, const Case& c) {
  ThreadPool pool(c.threads);
  const auto copies = make_weights(c.form, c.shape, pool);
  const LargeMemory memory = make_large_memory(kReadBytes);
  std::memset(memory.get(), 1, kReadBytes);
  const auto x = random_values(c.rows * c.shape.inputs);
  std::vector<float> y(static_cast<std::size_t>(c.rows) *
                       static_cast<std::size_t>(c.shape.outputs));
  ProductScratch scratch;
  double rate = 0;
  double mark = 0;
  const double work = c.rows == 1 ? static_cast<double>(copies[0].bytes())
                                  : 2.0 * c.rows * c.shape.inputs * c.shape.outputs;
  for (std::size_t turn = 0; auto _ : state) {
    const auto piece = turn % (kReadBytes / kSampleBytes) * kSampleBytes;
    mark = std::max(mark, sample_mark(c, {memory.get() + piece, kSampleBytes}, pool));
    const LinearWeights& w = copies[turn % copies.size()];
    const auto start = std::chrono::steady_clock::now();
    multiply({x.data(), c.rows}, w, y.data(), scratch, pool);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    rate = std::max(rate, work / took.count());
    benchmark::DoNotOptimize(y.data());
    state.SetIterationTime(took.count());
    ++turn;
  }
  state.counters["rate"] = rate;
  state.counters["mark"] = mark;
  state.counters["of_mark"] = rate / mark;
  state.SetLabel(std::string(instructions_used(copies[0].sections()[0].kind, c.form.numerics)));
}

void add_cases() {
  constexpr Shape kShapes[] = {{2048, 2048}, {2048, 5632}, {5632, 2048}, {2048, 32000}};
  for (const Form& form : kForms) {
    for (const Shape& shape : kShapes) {
      for (const int rows : {1, 2, 4, 8, 16, 64, 512}) {
        for (const int threads : {1, 2}) {
          const std::string name = std::string("linear/") + form.name + "/" +
                                   std::to_string(shape.inputs) + "x" +
                                   std::to_string(shape.outputs) + "/rows:" + std::to_string(rows) +
                                   "/threads:" + std::to_string(threads);
          const Case c{form, shape, rows, threads};
          benchmark::RegisterBenchmark(
              name.c_str(), [c](benchmark::State& state) { multiply_in_turns(state, c); })
              ->UseManualTime()
              ->Unit(benchmark::kMillisecond);
        }
      }
    }
  }
}

const bool kAdded = (add_cases(), true);

}  // namespace
}  // namespace forge::linear
