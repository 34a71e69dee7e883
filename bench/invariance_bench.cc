// forge-invariance-bench: what it costs that the bits of a row do not depend on the batch.
//
// forge::linear computes each element of y in one order of operations whatever the shape
// (forge/linear/product.h). Here the same products run in turns by paths that may choose their
// order by the shape:
//
//   split K    the inputs are cut among the threads, whose sums are added: one row keeps all of
//              them busy with few outputs, too
//   split rows each thread takes some rows and all outputs (its bits are Forge's)
//   library    OpenBLAS for F32, oneDNN for BF16 and for bytes. It gets x in the form that it
//              multiplies; Forge converts it each time. Its bytes have a scale for each output, not
//              for 32 inputs as Q8_0, so they are fewer and have no sums of groups: that is another
//              product, and a bound.
//
// Weights are read from memory: products go around copies of them. Prints a table of the best
// times, which other load on the machine disturbs least; cost is Forge over the best other path to
// the same product, less one.
#include <cblas.h>
#include <omp.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <iomanip>
#include <iostream>
#include <limits>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "forge/linear/product.h"
#include "forge/numerics/philox.h"
#include "forge/quant/quantize.h"
#include "oneapi/dnnl/dnnl.hpp"

namespace forge::linear {
namespace {

constexpr std::size_t kWeightBytes = std::size_t{256} << 20;

struct Shape {
  int inputs;
  int outputs;
};

struct Options {
  int threads = 2;
  int rounds = 9;
  Shape shape{2048, 5632};
};

/// A product of the weights' `copy`.
using Path = std::function<void(std::size_t copy)>;

std::vector<float> random_values(int count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::uint32_t i = 0; i < values.size(); ++i) {
    values[i] = numerics::uniform_open(numerics::philox({{i, 0, 0, 0}}, 1).x[0]) - 0.5F;
  }
  return values;
}

/// `rows` rows of `inputs` of `values`, from input `first` on.
std::vector<float> columns(const std::vector<float>& values, int row_size, int first, int inputs) {
  std::vector<float> out;
  for (std::size_t row = 0; row < values.size(); row += static_cast<std::size_t>(row_size)) {
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(row) + first;
    out.insert(out.end(), begin, begin + inputs);
  }
  return out;
}

/// As many copies as memory, not a cache, has to deliver.
std::vector<LinearWeights> pack_copies(const std::vector<float>& w, const Shape& shape,
                                       quant::WeightType type, ThreadPool& pool) {
  const std::size_t bytes = *quant::bytes_of(type, w.size());
  std::vector<std::byte> stored(bytes);
  if (type == quant::WeightType::f32) {
    std::memcpy(stored.data(), w.data(), bytes);
  } else {
    (void)quant::quantize(type, w, stored.data());
  }
  const StoredLinear linear{shape.outputs, shape.inputs, StoredRows{type, stored.data()}};
  std::vector<LinearWeights> copies;
  for (std::size_t all = 0; all < kWeightBytes; all += copies.back().bytes()) {
    copies.emplace_back(std::span(&linear, 1), pool);
  }
  return copies;
}

/// A product whose inputs, or rows, are cut among the threads.
class Split {
 public:
  /// Cuts inputs.
  Split(const std::vector<float>& w, const std::vector<float>& x, const Shape& shape,
        quant::WeightType type, ThreadPool& pool)
      : pool_(pool), shape_(shape), rows_(static_cast<int>(x.size()) / shape.inputs) {
    const int inputs = shape.inputs / pool.threads();
    for (int part = 0; part < pool.threads(); ++part) {
      parts_.push_back({.x = columns(x, shape.inputs, part * inputs, inputs),
                        .weights = pack_copies(columns(w, shape.inputs, part * inputs, inputs),
                                               {inputs, shape.outputs}, type, pool)});
      parts_.back().y.resize(size_of_y());
    }
  }

  void operator()(std::size_t copy, std::vector<float>& y) {
    pool_.run(pool_.threads(), [&](int i) {
      Part& part = parts_[static_cast<std::size_t>(i)];
      ThreadPool alone(1);
      multiply({part.x.data(), rows_}, part.weights[copy % part.weights.size()], part.y.data(),
               part.scratch, alone);
    });
    const auto of_thread = size_of_y() / parts_.size();
    pool_.run(pool_.threads(), [&](int thread) {
      const std::size_t begin = static_cast<std::size_t>(thread) * of_thread;
      for (std::size_t i = begin; i < begin + of_thread; ++i) {
        float sum = 0;
        for (const Part& part : parts_) sum += part.y[i];
        y[i] = sum;
      }
    });
  }

 private:
  struct Part {
    std::vector<float> x;
    std::vector<LinearWeights> weights;
    std::vector<float> y = {};
    ProductScratch scratch = {};
  };

  std::size_t size_of_y() const {
    return static_cast<std::size_t>(rows_) * static_cast<std::size_t>(shape_.outputs);
  }

  ThreadPool& pool_;
  Shape shape_;
  int rows_;
  std::vector<Part> parts_;
};

/// oneDNN's product of bf16, or of bytes.
class Dnnl {
 public:
  Dnnl(const Shape& shape, int rows, bool bytes)
      : source_type_(bytes ? Type::u8 : Type::bf16), weights_type_(bytes ? Type::s8 : Type::bf16) {
    const dnnl::memory::desc x({rows, shape.inputs}, source_type_, Tag::ab);
    const dnnl::memory::desc any({shape.inputs, shape.outputs}, weights_type_, Tag::any);
    const dnnl::memory::desc y({rows, shape.outputs}, Type::f32, Tag::ab);
    dnnl::primitive_attr attributes;
    if (bytes) {
      attributes.set_output_scales(
          1 << 1, std::vector<float>(static_cast<std::size_t>(shape.outputs), 0.01F));
    }
    const dnnl::matmul::primitive_desc description({x, any, y}, attributes, engine_);
    product_.emplace(description);
    x_ = dnnl::memory(x, engine_);
    y_ = dnnl::memory(y, engine_);
    fill(x_, 63);
    for (std::size_t all = 0; all < kWeightBytes; all += weights_.back().get_desc().get_size()) {
      weights_.emplace_back(description.weights_desc(), engine_);
      fill(weights_.back(), 62);
    }
  }

  void operator()(std::size_t copy) {
    product_->execute(stream_, {{DNNL_ARG_SRC, x_},
                                {DNNL_ARG_WEIGHTS, weights_[copy % weights_.size()]},
                                {DNNL_ARG_DST, y_}});
    stream_.wait();
  }

 private:
  using Type = dnnl::memory::data_type;
  using Tag = dnnl::memory::format_tag;

  /// Bytes that are ordinary numbers of either type.
  static void fill(const dnnl::memory& memory, int byte) {
    std::memset(memory.get_data_handle(), byte, memory.get_desc().get_size());
  }

  Type source_type_;
  Type weights_type_;
  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  std::optional<dnnl::matmul> product_;
  dnnl::memory x_;
  dnnl::memory y_;
  std::vector<dnnl::memory> weights_;
};

/// OpenBLAS, which takes weights as they are stored.
class Blas {
 public:
  Blas(const std::vector<float>& w, const std::vector<float>& x, const Shape& shape)
      : x_(x), shape_(shape), rows_(static_cast<int>(x.size()) / shape.inputs) {
    for (std::size_t all = 0; all < kWeightBytes; all += sizeof(float) * w.size()) {
      weights_.push_back(w);
    }
  }

  void operator()(std::size_t copy, std::vector<float>& y) const {
    const float* const w = weights_[copy % weights_.size()].data();
    if (rows_ == 1) {
      cblas_sgemv(CblasRowMajor, CblasNoTrans, shape_.outputs, shape_.inputs, 1, w, shape_.inputs,
                  x_.data(), 1, 0, y.data(), 1);
    } else {
      cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, rows_, shape_.outputs, shape_.inputs, 1,
                  x_.data(), shape_.inputs, w, shape_.inputs, 0, y.data(), shape_.outputs);
    }
  }

 private:
  const std::vector<float>& x_;
  Shape shape_;
  int rows_;
  std::vector<std::vector<float>> weights_;
};

/// The best times in microseconds, the paths in turns: each time a pause, until the threads of the
/// path before sleep, runs until its own are spread over the cores, and some that count.
std::vector<double> measure(const std::vector<Path>& paths, int rounds) {
  using Clock = std::chrono::steady_clock;
  constexpr auto kPause = std::chrono::milliseconds(40);
  constexpr auto kWarmUp = std::chrono::milliseconds(25);
  constexpr int kCounted = 5;
  std::vector<double> best(paths.size(), std::numeric_limits<double>::infinity());
  std::size_t copy = 0;
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < paths.size(); ++i) {
      std::this_thread::sleep_for(kPause);
      for (const auto end = Clock::now() + kWarmUp; Clock::now() < end;) paths[i](copy++);
      for (int run = 0; run < kCounted; ++run) {
        const auto start = Clock::now();
        paths[i](copy++);
        const std::chrono::duration<double, std::micro> took = Clock::now() - start;
        best[i] = std::min(best[i], took.count());
      }
    }
  }
  return best;
}

void print_row(quant::WeightType type, int rows, const std::vector<double>& us) {
  const bool same_product = type != quant::WeightType::q8_0;  // by the library, which is last
  const double best = *std::min_element(us.begin() + 1, us.end() - (same_product ? 0 : 1));
  std::cout << "| " << quant::name_of(type) << " | " << rows << " |" << std::fixed
            << std::setprecision(0);
  for (const double time : us) std::cout << ' ' << time << " |";
  std::cout << ' ' << std::showpos << 100 * (us[0] / best - 1) << std::noshowpos << "% |\n"
            << std::flush;
}

void run_case(quant::WeightType type, int rows, const Options& options) {
  const Shape& shape = options.shape;
  ThreadPool pool(options.threads);
  const std::vector<float> w = random_values(shape.inputs * shape.outputs);
  const std::vector<float> x = random_values(shape.inputs * rows);
  std::vector<float> y(static_cast<std::size_t>(rows) * static_cast<std::size_t>(shape.outputs));
  const auto copies = pack_copies(w, shape, type, pool);
  const auto weights = [&](std::size_t copy) -> const LinearWeights& {
    return copies[copy % copies.size()];
  };
  ProductScratch scratch;
  std::vector<ProductScratch> of_thread(static_cast<std::size_t>(options.threads));
  Split split(w, x, shape, type, pool);
  std::vector<Path> paths;
  paths.emplace_back([&](std::size_t copy) {
    multiply({x.data(), rows}, weights(copy), y.data(), scratch, pool);
  });
  paths.emplace_back([&](std::size_t copy) { split(copy, y); });
  paths.emplace_back([&](std::size_t copy) {
    pool.run(options.threads, [&](int part) {
      const int first = rows * part / options.threads;
      const int count = rows * (part + 1) / options.threads - first;
      ThreadPool alone(1);
      multiply({x.data() + static_cast<std::ptrdiff_t>(first) * shape.inputs, count}, weights(copy),
               y.data() + static_cast<std::ptrdiff_t>(first) * shape.outputs,
               of_thread[static_cast<std::size_t>(part)], alone);
    });
  });
  std::optional<Blas> blas;
  std::optional<Dnnl> dnnl;
  if (type == quant::WeightType::f32) {
    blas.emplace(w, x, shape);
    paths.emplace_back([&](std::size_t copy) { (*blas)(copy, y); });
  } else {
    dnnl.emplace(shape, rows, type == quant::WeightType::q8_0);
    paths.emplace_back([&](std::size_t copy) { (*dnnl)(copy); });
  }
  print_row(type, rows, measure(paths, options.rounds));
}

void run(const Options& options) {
  omp_set_num_threads(options.threads);
  openblas_set_num_threads(options.threads);
  std::cout << options.shape.inputs << " inputs, " << options.shape.outputs << " outputs, "
            << options.threads << " threads; OpenBLAS for " << openblas_get_corename() << "\n\n"
            << "| weights | rows | Forge, us | split K | split rows | library | cost |\n"
            << "|---|---:|---:|---:|---:|---:|---:|\n";
  for (const auto type :
       {quant::WeightType::f32, quant::WeightType::bf16, quant::WeightType::q8_0}) {
    for (const int rows : {1, 4, 16, 512}) run_case(type, rows, options);
  }
}

}  // namespace
}  // namespace forge::linear

int main(int argc, char** argv) {
  CLI::App app("What it costs that the bits of a row do not depend on the batch.",
               "forge-invariance-bench");
  forge::linear::Options options;
  app.add_option("--threads", options.threads, "Threads")
      ->capture_default_str()
      ->check(CLI::Range(1, 64));
  app.add_option("--rounds", options.rounds,
                 "Turns of each path, five runs a turn; the best counts")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  CLI11_PARSE(app, argc, argv);
  forge::linear::run(options);
}
