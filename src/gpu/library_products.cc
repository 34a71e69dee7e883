#include "library_products.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <type_traits>
#include <utility>
#include <variant>

#include "forge/gpu/kernels.h"
#include "forge/linear/panels.h"

namespace forge::gpu {
namespace {

/// Rows up to which a product, or what is left of it, is one piece.
constexpr int kWholeRowsMax = 256;

/// Sums of the largest product.
std::int64_t sums_of(const std::vector<MatrixSize>& sizes) {
  std::int64_t most = 0;
  for (const MatrixSize& size : sizes) {
    most = std::max(most, std::int64_t{size.rows_max} * size.outputs);
  }
  return most;
}

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

std::vector<MatrixSize> library_sizes(const GpuModel& model, int rows_max) {
  std::vector<MatrixSize> sizes;
  const auto add = [&](const linear::LinearWeights& matrix, std::int64_t sums_max) {
    for (const linear::Section& section : matrix.sections()) {
      if (!linear::has_rows(section.kind)) continue;
      if (section.outputs % FinishProductArgs::kLaneResults != 0) continue;
      const auto rows = std::min<std::int64_t>(rows_max, sums_max / section.outputs);
      const MatrixSize size{section.outputs, matrix.inputs(), static_cast<int>(rows)};
      if (rows < kLibraryRowsMin || std::ranges::find(sizes, size) != sizes.end()) continue;
      sizes.push_back(size);
    }
  };
  for (const model::PackedModelLayer& layer : model.layout().layers) {
    for_each_large_matrix(layer, [&](const linear::LinearWeights& matrix) {
      add(matrix, std::numeric_limits<std::int64_t>::max());
    });
  }
  add(model.layout().head, sums_of(sizes));
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
    std::vector<MatrixSize> sizes = library_sizes(*model, static_cast<int>(capacity.slab_rows));
    std::erase_if(sizes, [&](const MatrixSize& size) { return has(all, size, type); });
    auto report = try_library(device, **library, sizes, type);
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
  const auto sums = static_cast<std::uint64_t>(sums_of(library_sizes(model, rows_max_)));
  sums_ = allocator.take<float>(MemoryKind::device, sums, "sums of a library");
}

const LibraryReport::Admission* LibraryProducts::largest(const TensorProduct& product,
                                                         int most) const {
  const LibraryReport::Admission* found = nullptr;
  for (const LibraryReport::Admission& each : admitted_) {
    if (each.shape.rows <= most && is_of(product, each.shape)) found = &each;
  }
  return found;
}

const LibraryReport::Admission* LibraryProducts::smallest(const TensorProduct& product,
                                                          int least) const {
  for (const LibraryReport::Admission& each : admitted_) {
    if (each.shape.rows >= least && is_of(product, each.shape)) return &each;
  }
  return nullptr;
}

const LibraryReport::Admission* LibraryProducts::next_piece(const TensorProduct& product, int left,
                                                            int room) const {
  if (left <= kWholeRowsMax) {
    const LibraryReport::Admission* const whole = smallest(product, left);
    if (whole != nullptr && whole->shape.rows <= room) return whole;
  }
  const LibraryReport::Admission* const piece = largest(product, left);
  return piece != nullptr ? piece : smallest(product, 0);
}

bool LibraryProducts::multiply(CommandQueue& queue, const TensorProduct& product) const {
  const int rows = product.rows_max;
  const auto sums = static_cast<std::int64_t>(sums_.bytes() / sizeof(float));
  const auto room = static_cast<int>(std::min<std::int64_t>(rows_max_, sums / product.outputs));
  if (rows < kLibraryRowsMin || rows > room) return false;
  const LibraryReport::Admission* const fewest = smallest(product, 0);
  if (fewest == nullptr || fewest->shape.rows > room) return false;
  for (int first = 0; first < rows;) {
    const LibraryReport::Admission& piece = *next_piece(product, rows - first, room);
    first = std::max(0, std::min(first, rows - piece.shape.rows));
    queue.multiply(
        {.shape = piece.shape,
         .algorithm = &piece.algorithm,
         .x = static_cast<const std::uint16_t*>(product.x) + std::ptrdiff_t{first} * product.inputs,
         .weights = product.weights,
         .sums = sums_.as<float>() + std::ptrdiff_t{first} * product.outputs});
    first += piece.shape.rows;
  }
  queue.launch(FinishProductArgs{product, sums_.as<float>()});
  return true;
}

}  // namespace forge::gpu
