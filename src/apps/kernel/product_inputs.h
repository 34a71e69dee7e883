// What inputs of products are made of: rows of 16 bits and of codes, matrices as they are stored,
// and experts that rows choose.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "forge/linear/linear_weights.h"
#include "forge/numerics/tensor_product.h"
#include "kernel_case_builder.h"

namespace forge::apps {

/// Numbers rounded to bf16, two to a word.
std::vector<std::uint32_t> packed_pairs(const std::vector<float>& numbers);

/// Row `row` of a matrix of `inputs` columns.
std::vector<numerics::BF16> row_of(const Uploaded<std::uint32_t>& matrix, std::size_t row,
                                   std::size_t inputs);

/// A matrix [outputs][inputs] as a checkpoint stores it.
struct StoredMatrix {
  linear::PanelKind kind;
  linear::StoredLinear stored;
  std::shared_ptr<const std::vector<std::uint32_t>> words;  ///< that `stored` refers to
};

StoredMatrix stored_matrix(KernelCaseBuilder& b, int outputs, int inputs, quant::WeightType type);

/// The panels of a matrix.
std::shared_ptr<const linear::LinearWeights> packed(const StoredMatrix& matrix);
std::span<const std::uint32_t> panels_of(const linear::LinearWeights& weights);

/// Rows of x in 8 bits: the words of RowGroups.
std::vector<std::uint32_t> coded_rows(std::span<const float> x, std::size_t inputs);

/// What becomes of y, [rows][outputs], where it is added to it of what was there.
using ProductResults = std::function<std::vector<float>(std::vector<float> y)>;

/// y of a product, or of each eight outputs the largest.
void expect_results(KernelCaseBuilder& b, gpu::TensorProduct& product,
                    const ProductResults& results);

/// Experts of each row of the pass, ascending, all different.
std::vector<gpu::ExpertChoice> make_choices(KernelCaseBuilder& b);

/// The definition of a plan.
struct PlanOfChoices {
  std::vector<std::uint32_t> pairs;
  std::vector<gpu::ExpertTile> tiles;

  PlanOfChoices(const std::vector<gpu::ExpertChoice>& choices, std::size_t experts,
                std::uint32_t tile_rows);
  /// In the memory of a launch; `counts` are not there.
  gpu::ExpertPlan upload(KernelCaseBuilder& b) const;
};

/// Tiles that a launch covers.
int tiles_max(const KernelCaseBuilder& b, int tile_rows);

}  // namespace forge::apps
