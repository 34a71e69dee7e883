#include "peers_products.h"

#include <algorithm>
#include <iomanip>
#include <sstream>

#include "cuda_clock.h"
#include "peers_memory.h"

namespace forge {
namespace {

using numerics::BF16;
using Row = std::vector<float>;

constexpr std::size_t kProductRandom = (std::size_t{1} << 20) + 8;
/// What a level needs beside the numbers.
constexpr std::uint64_t kProductSpareBytes = std::uint64_t{1} << 28;

std::size_t matrix_bytes(const ProductShape& shape) {
  return static_cast<std::size_t>(shape.outputs) * static_cast<std::size_t>(shape.inputs) *
         sizeof(BF16);
}

class OwnProducts final : public ProductLevel {
 public:
  OwnProducts(gpu::Device& device, const ProductOperands& operands)
      : operands_(operands), memory_(device), clock_(device) {}

  tl::expected<void, std::string> plan(int rows) override {
    rows_ = rows;
    row_count_ = memory_.upload(std::vector{static_cast<std::uint32_t>(rows)}, "row count");
    return {};
  }
  tl::expected<void, std::string> multiply() override {
    must(clock_.stream().launch(launch(0)));
    must(clock_.stream().synchronize());
    return {};
  }
  tl::expected<double, std::string> time_us(int launches) override {
    return clock_.in_graph_us(launches, [&](gpu::Stream& stream, int i) {
      must(stream.launch(launch(i % operands_.matrices)));
    });
  }

 private:
  gpu::KernelLaunch launch(int matrix) const {
    const gpu::TensorProduct product{.row_count = row_count_.as<std::uint32_t>(),
                                     .rows_max = rows_,
                                     .x = operands_.x,
                                     .weights = operands_.matrix(matrix),
                                     .inputs = operands_.shape.inputs,
                                     .outputs = operands_.shape.outputs,
                                     .type = numerics::HalfType::bf16,
                                     .y = operands_.y};
    if (rows_ <= gpu::kNarrowRowsMax) {
      const gpu::ProjectNarrowArgs args{product};
      return gpu::launch_of(args, args.shape());
    }
    const gpu::ProjectWideArgs args{product};
    return gpu::launch_of(args, args.shape());
  }

  ProductOperands operands_;
  PeerMemory memory_;
  DeviceClock clock_;
  int rows_ = 0;
  gpu::Buffer row_count_;
};

/// A level of a shape, and what it made of the first row with the fewest rows.
struct LevelRun {
  std::string name;
  ProductMaker::Made level;
  Row fewest;
};

/// The numbers of a shape.
class ShapeRun {
 public:
  ShapeRun(gpu::Device& device, const ProductSizes& sizes, const ProductShape& shape)
      : launches_(sizes.launches), memory_(device) {
    const auto rows = static_cast<std::size_t>(std::ranges::max(sizes.rows));
    const std::vector<BF16> random = random_bf16(kProductRandom, 3, 1);
    const int matrices = matrices_of(sizes, shape);
    x_ = memory_.repeat(random, rows * static_cast<std::size_t>(shape.inputs) * sizeof(BF16), "x");
    weights_ =
        memory_.repeat(random, static_cast<std::size_t>(matrices) * matrix_bytes(shape), "weights");
    y_ = memory_.allocate(rows * row_bytes(shape), "y");
    operands_ = {shape, x_.as<void>(), weights_.as<void>(), matrices, y_.as<float>()};
  }

  static std::uint64_t bytes(const ProductSizes& sizes, const ProductShape& shape) {
    const auto rows = static_cast<std::uint64_t>(std::ranges::max(sizes.rows));
    const std::uint64_t of_row =
        static_cast<std::uint64_t>(shape.inputs) * sizeof(BF16) + row_bytes(shape);
    return static_cast<std::uint64_t>(matrices_of(sizes, shape)) * matrix_bytes(shape) +
           rows * of_row;
  }

  const ProductOperands& operands() const { return operands_; }

  /// `ours`: the first row of the first level, or nothing.
  void measure(LevelRun& run, const Row& ours, ProductResult& result) {
    const auto row = first_row(run, result.rows);
    const auto us = row ? (*run.level)->time_us(launches_) : tl::unexpected(row.error());
    if (!us) {
      result.not_run = us.error();
      return;
    }
    result.us = *us;
    if (run.fewest.empty()) run.fewest = *row;
    result.fewest = compare_bits(*row, run.fewest);
    if (!ours.empty()) result.ours = compare_bits(*row, ours);
  }

 private:
  static std::size_t row_bytes(const ProductShape& shape) {
    return static_cast<std::size_t>(shape.outputs) * sizeof(float);
  }
  static int matrices_of(const ProductSizes& sizes, const ProductShape& shape) {
    const std::uint64_t wanted = (sizes.weight_bytes - 1) / matrix_bytes(shape) + 1;
    return static_cast<int>(std::min(wanted, static_cast<std::uint64_t>(sizes.launches)));
  }

  tl::expected<Row, std::string> first_row(const LevelRun& run, int rows) {
    if (!run.level) return tl::unexpected(run.level.error());
    memory_.set_nan(y_, row_bytes(operands_.shape));
    auto done = (*run.level)->plan(rows);
    if (done) done = (*run.level)->multiply();
    if (!done) return tl::unexpected(done.error());
    return memory_.download<float>(y_, static_cast<std::size_t>(operands_.shape.outputs));
  }

  int launches_;
  PeerMemory memory_;
  ProductOperands operands_;
  gpu::Buffer x_;
  gpu::Buffer weights_;
  gpu::Buffer y_;
};

double gb_per_s(const ProductResult& result) {
  return static_cast<double>(matrix_bytes(result.shape)) / result.us / 1e3;
}

double tflops(const ProductResult& result) {
  return 2.0 * result.rows * result.shape.outputs * result.shape.inputs / result.us / 1e6;
}

void measure_shape(gpu::Device& device, const ProductSizes& sizes, const ProductShape& shape,
                   const std::vector<ProductMaker>& makers,
                   const std::function<void(const ProductResult&)>& tell) {
  ShapeRun shape_run(device, sizes, shape);
  std::vector<LevelRun> runs;
  runs.reserve(makers.size());
  for (const ProductMaker& maker : makers) {
    runs.push_back({maker.name, maker.make(device, shape_run.operands()), {}});
  }
  for (const int rows : sizes.rows) {
    for (LevelRun& run : runs) {
      ProductResult result{.shape = shape, .rows = rows, .level = run.name};
      shape_run.measure(run, &run == &runs.front() ? Row{} : runs.front().fewest, result);
      tell(result);
    }
  }
}

}  // namespace

const void* ProductOperands::matrix(int index) const {
  return static_cast<const std::byte*>(weights) +
         static_cast<std::size_t>(index) * matrix_bytes(shape);
}

ProductMaker own_products() {
  return {"ours", [](gpu::Device& device, const ProductOperands& operands) {
            return ProductMaker::Made(std::make_unique<OwnProducts>(device, operands));
          }};
}

void measure_products(gpu::Device& device, const ProductSizes& sizes,
                      const std::vector<ProductMaker>& makers,
                      const std::function<void(const ProductResult&)>& tell) {
  for (const ProductShape& shape : sizes.shapes) {
    const std::string missing =
        missing_bytes(device, ShapeRun::bytes(sizes, shape) + kProductSpareBytes);
    if (missing.empty()) {
      measure_shape(device, sizes, shape, makers, tell);
      continue;
    }
    for (const int rows : sizes.rows) {
      for (const ProductMaker& maker : makers) {
        tell({.shape = shape, .rows = rows, .level = maker.name, .not_run = missing});
      }
    }
  }
}

nlohmann::ordered_json to_json(const ProductResult& result) {
  nlohmann::ordered_json json{{"product", result.shape.name},
                              {"outputs", result.shape.outputs},
                              {"inputs", result.shape.inputs},
                              {"rows", result.rows},
                              {"level", result.level}};
  if (!result.not_run.empty()) {
    json["not_run"] = result.not_run;
    return json;
  }
  json["us"] = result.us;
  json["gb_per_s"] = gb_per_s(result);
  json["tflops"] = tflops(result);
  json["bits_survive"] = result.fewest.survived();
  json["different"] = result.fewest.different;
  if (result.ours) json["different_from_ours"] = result.ours->different;
  return json;
}

std::string product_heading() {
  return "product  outputs  inputs  rows  level            us     GB/s  TFLOP/s  bits survive      "
         "  "
         "  bits of ours\n";
}

std::string to_text(const ProductResult& result) {
  std::ostringstream out;
  out << std::left << std::setw(8) << result.shape.name << std::right << std::setw(8)
      << result.shape.outputs << std::setw(8) << result.shape.inputs << std::setw(6) << result.rows
      << "  " << std::left << std::setw(10) << result.level << std::right;
  if (!result.not_run.empty()) {
    out << "  not run: " << result.not_run << "\n";
    return out.str();
  }
  out << std::fixed << std::setprecision(1) << std::setw(9) << result.us << std::setw(9)
      << gb_per_s(result) << std::setw(9) << tflops(result) << "  " << std::left << std::setw(22)
      << to_string(result.fewest) << (result.ours ? to_string(*result.ours) : "-") << "\n";
  return out.str();
}

}  // namespace forge
