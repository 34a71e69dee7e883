// Weights of each kind as models pack them, and their panels as kernels read them.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <span>
#include <vector>

#include "forge/core/check.h"
#include "forge/linear/linear_weights.h"
#include "forge/quant/quantize.h"

namespace forge::gpu {

/// A stored form that is packed so.
inline quant::WeightType type_of(linear::PanelKind kind) {
  const auto type =
      quant::weight_type(kind == linear::PanelKind::table4 ? "iq4_nl" : name_of(kind));
  FORGE_CHECK(type, "no rows are packed as ", name_of(kind));
  return *type;
}

/// Matrices of floats [outputs][inputs] on top of one another, for canonical products.
inline linear::LinearWeights packed(std::initializer_list<const std::vector<float>*> matrices,
                                    int inputs, linear::PanelKind kind, linear::ThreadPool& pool) {
  std::vector<std::vector<std::byte>> bytes;
  std::vector<linear::StoredLinear> stored;
  for (const std::vector<float>* matrix : matrices) {
    auto& rows = bytes.emplace_back(*quant::bytes_of(type_of(kind), matrix->size()));
    quant::quantize(type_of(kind), *matrix, rows.data());
    stored.push_back({static_cast<int>(matrix->size()) / inputs, inputs,
                      linear::StoredRows{type_of(kind), rows.data()}});
  }
  return linear::LinearWeights(stored, pool, linear::Numerics::canonical);
}

/// Those of matrices of one section each, one after the other.
inline std::vector<std::byte> panels_of(std::span<const linear::LinearWeights> matrices) {
  std::vector<std::byte> all;
  for (const linear::LinearWeights& matrix : matrices) {
    const linear::Section& section = matrix.sections().front();
    all.insert(all.end(), section.panels, section.panels + matrix.bytes());
  }
  return all;
}
inline std::vector<std::byte> panels_of(const linear::LinearWeights& matrix) {
  return panels_of(std::span(&matrix, 1));
}

}  // namespace forge::gpu
