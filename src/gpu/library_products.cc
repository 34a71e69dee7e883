#include "library_products.h"

#include <algorithm>
#include <iterator>
#include <type_traits>
#include <utility>
#include <variant>

#include "forge/gpu/kernels.h"
#include "forge/linear/panels.h"

namespace forge::gpu {
namespace {

/// Calls visit(matrix) for each of a layer whose products a library may have.
template <class Visit>
void for_each_large_matrix(const model::PackedModelLayer& layer, const Visit& visit) {
  if (const auto* const grouped = std::get_if<model::PackedGroupedQuery>(&layer.attention)) {
    for_each_matrix(*grouped, visit);
  } else {
    const auto& latent = std::get<model::PackedLatent>(layer.attention);
    for (const auto* matrix :
         {&latent.query_down, &latent.query_up, &latent.kv_down, &latent.output}) {
      visit(*matrix);
    }
  }
  if (const auto* const mlp = std::get_if<model::PackedMlp>(&layer.mlp)) {
    for_each_matrix(*mlp, visit);
  } else if (const auto& experts = std::get<model::PackedExperts>(layer.mlp); experts.shared) {
    for_each_matrix(*experts.shared, visit);
  }
}

bool is_of(const TensorProduct& product, const LibraryShape& shape) {
  return shape == LibraryShape{shape.rows, product.outputs, product.inputs, product.type};
}

/// Whether it says anything of such products.
bool has(const LibraryReport& report, const MatrixSize& size, numerics::HalfType type) {
  const auto is_it = [&](const auto& each) {
    const LibraryShape& shape = each.shape;
    return shape == LibraryShape{shape.rows, size.outputs, size.inputs, type};
  };
  return std::ranges::any_of(report.admitted, is_it) || std::ranges::any_of(report.refused, is_it);
}

}  // namespace

std::vector<MatrixSize> library_sizes(const GpuModel& model) {
  std::vector<MatrixSize> sizes;
  for (const model::PackedModelLayer& layer : model.layout().layers) {
    for_each_large_matrix(layer, [&](const linear::LinearWeights& matrix) {
      for (const linear::Section& section : matrix.sections()) {
        const MatrixSize size{section.outputs, matrix.inputs()};
        if (!linear::has_rows(section.kind)) continue;
        if (std::ranges::find(sizes, size) == sizes.end()) sizes.push_back(size);
      }
    });
  }
  return sizes;
}

tl::expected<LibraryReport, DeviceError> try_library(Device& device, const GpuModels& models,
                                                     const Capacity& capacity) {
  LibraryReport all;
  if (!capacity.uses_library) return all;
  const auto library = device.matrix_library();
  if (!library) {
    all.missing = library.error();
    return all;
  }
  for (const GpuModel* const model : {&models.model, models.draft ? &*models.draft : nullptr}) {
    if (model == nullptr) continue;
    const numerics::HalfType type = model->half_type();
    std::vector<MatrixSize> sizes = library_sizes(*model);
    std::erase_if(sizes, [&](const MatrixSize& size) { return has(all, size, type); });
    auto report = try_library(device, **library, sizes, type, static_cast<int>(capacity.slab_rows));
    if (!report) return tl::unexpected(std::move(report.error()));
    all.library = report->library;
    std::ranges::move(report->admitted, std::back_inserter(all.admitted));
    std::ranges::move(report->refused, std::back_inserter(all.refused));
  }
  return all;
}

LibraryProducts::LibraryProducts(const GpuModel& model, const Capacity& capacity,
                                 Allocator& allocator, const LibraryReport& report)
    : admitted_(report.admitted), rows_max_(static_cast<int>(capacity.slab_rows)) {
  std::ranges::sort(admitted_, {}, [](const auto& each) { return each.shape.rows; });
  if (!capacity.uses_library) return;
  int outputs = 0;
  for (const MatrixSize& size : library_sizes(model)) outputs = std::max(outputs, size.outputs);
  sums_ = allocator.rows(capacity.slab_rows, outputs, "sums of a library");
}

const LibraryReport::Admission* LibraryProducts::largest(const TensorProduct& product,
                                                         int rows) const {
  const LibraryReport::Admission* found = nullptr;
  for (const LibraryReport::Admission& each : admitted_) {
    if (each.shape.rows <= rows && is_of(product, each.shape)) found = &each;
  }
  return found;
}

const LibraryReport::Admission* LibraryProducts::smallest(const TensorProduct& product,
                                                          int rows) const {
  for (const LibraryReport::Admission& each : admitted_) {
    if (each.shape.rows <= rows && is_of(product, each.shape)) return &each;
  }
  return nullptr;
}

bool LibraryProducts::multiply(CommandQueue& queue, const TensorProduct& product) const {
  const int rows = std::min(product.rows_max, rows_max_);
  if (largest(product, rows) == nullptr) return false;
  const auto inputs = static_cast<std::ptrdiff_t>(product.inputs);
  for (int first = 0; first < rows;) {
    const LibraryReport::Admission* piece = largest(product, rows - first);
    if (piece == nullptr) {
      piece = smallest(product, rows);
      first = rows - piece->shape.rows;
    }
    queue.multiply({.shape = piece->shape,
                    .algorithm = &piece->algorithm,
                    .x = static_cast<const std::uint16_t*>(product.x) + first * inputs,
                    .weights = product.weights,
                    .sums = sums_.as<float>() + std::ptrdiff_t{first} * product.outputs});
    first += piece->shape.rows;
  }
  queue.launch(FinishProductArgs{product, sums_.as<float>()});
  return true;
}

}  // namespace forge::gpu
