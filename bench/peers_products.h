// Products in the section "peers" (peers.h): rows of bf16 with matrices of the sizes of Llama-3-8B,
// by project_narrow and project_wide and by a library.
//
// Results are floats for both, so that bits can be compared: those of the first row, with every
// number of rows. Launches in a row take one matrix after the other, where several are needed so
// that no cache holds them all.
//
// Thread contract: as the device.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "forge/gpu/device.h"
#include "peers_bits.h"

namespace forge {

struct ProductShape {
  std::string name;
  int outputs = 0;  ///< N, a multiple of 32
  int inputs = 0;   ///< K, a multiple of 16
};

struct ProductSizes {
  std::vector<ProductShape> shapes{
      {"qkv", 6144, 4096}, {"out", 4096, 4096}, {"gate_up", 28672, 4096}, {"down", 4096, 14336}};
  std::vector<int> rows{1, 16, 64, 512, 2048};
  int launches = 8;  ///< in a graph
  /// Launches go through this much of weights, more than any cache of a device has, before they
  /// meet the same again; each has a matrix of its own at most.
  std::uint64_t weight_bytes = std::uint64_t{1} << 28;
};

/// Where a shape's numbers lie, in device memory; x and weights are bf16.
struct ProductOperands {
  ProductShape shape;
  const void* x = nullptr;        ///< [rows][K]
  const void* weights = nullptr;  ///< [matrices][N][K]
  int matrices = 0;
  float* y = nullptr;  ///< [rows][N]

  const void* matrix(int index) const;
};

class ProductLevel {
 public:
  virtual ~ProductLevel() = default;

  /// Makes products of the first `rows` rows those that run. Errors: why they cannot.
  virtual tl::expected<void, std::string> plan(int rows) = 0;
  /// Multiplies with the first matrix, and waits.
  virtual tl::expected<void, std::string> multiply() = 0;
  /// Microseconds of one of `launches` in a row, matrix after matrix, in a graph: a median.
  virtual tl::expected<double, std::string> time_us(int launches) = 0;
};

/// A level by name.
struct ProductMaker {
  using Made = tl::expected<std::unique_ptr<ProductLevel>, std::string>;

  std::string name;
  std::function<Made(gpu::Device&, const ProductOperands&)> make;
};

/// "ours".
ProductMaker own_products();

/// What is measured of a level.
struct ProductResult {
  ProductShape shape;
  int rows = 0;
  std::string level;
  std::string not_run;  ///< why, if it was not
  double us = 0;
  BitComparison fewest;               ///< the first row, against that of the fewest rows
  std::optional<BitComparison> ours;  ///< and against that of the first level
};

/// Measures all shapes and numbers of rows, by each level, and tells of each when it is done.
void measure_products(gpu::Device& device, const ProductSizes& sizes,
                      const std::vector<ProductMaker>& makers,
                      const std::function<void(const ProductResult&)>& tell);

nlohmann::ordered_json to_json(const ProductResult& result);
std::string product_heading();
std::string to_text(const ProductResult& result);

}  // namespace forge
