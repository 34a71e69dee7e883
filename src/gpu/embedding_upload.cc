#include "embedding_upload.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <variant>

#include "forge/linear/linear_weights.h"
#include "forge/linear/matrix_rows.h"

namespace forge::gpu {
namespace {

bool is_of_codes(const linear::StoredLinear& stored) {
  return linear::has_codes(linear::panel_kind(stored));
}

/// Bytes of a row as `embed` reads it.
std::size_t embedded_row_bytes(const linear::StoredLinear& stored) {
  if (std::holds_alternative<linear::StoredRows>(stored.form)) return linear::row_bytes(stored);
  return sizeof(float) * static_cast<std::size_t>(stored.inputs);
}

/// Rows in memory, one after the other, to `to`.
void embed_rows(const linear::StoredLinear& rows, std::byte* to) {
  const std::size_t bytes = embedded_row_bytes(rows);
  const auto count = static_cast<std::size_t>(rows.outputs);
  if (const auto* const form = std::get_if<linear::StoredRows>(&rows.form)) {
    std::memcpy(to, form->rows, count * bytes);
    return;
  }
  for (std::size_t row = 0; row < count; ++row) {
    stored_row(rows, static_cast<int>(row), reinterpret_cast<float*>(to + row * bytes));
  }
}

}  // namespace

std::size_t embedding_bytes(const GpuModel& model) {
  const linear::StoredLinear& stored = model.stored().embedding;
  // The head's panels have the embedding as it is stored, unless floats were rounded.
  const bool is_fast = model.numerics() == GpuNumerics::fast;
  const bool is_f32 = linear::panel_kind(stored) == linear::PanelKind::f32;
  if (model.config().tied_head && (is_of_codes(stored) || (is_fast && !is_f32))) return 0;
  if (!is_of_codes(stored)) {
    return static_cast<std::size_t>(stored.outputs) * embedded_row_bytes(stored);
  }
  return linear::LinearWeights::layout(std::span(&stored, 1)).bytes();
}

tl::expected<const void*, linear::ReadFault> upload_embedding(const GpuModel& model,
                                                              WeightUpload& upload) {
  const linear::StoredLinear& stored = model.stored().embedding;
  if (is_of_codes(stored)) {
    const auto panels = linear::LinearWeights::load(std::span(&stored, 1), model.threads(),
                                                    {.reader = &model.reader(), .store = &upload});
    if (!panels) return tl::unexpected(panels.error());
    return panels->sections().front().panels;
  }
  constexpr int kPanelRows = linear::kPanelOutputs;  // whole words, where words have several rows
  const std::size_t bytes = embedded_row_bytes(stored);
  const auto panels = static_cast<int>(upload.room_bytes() / (bytes * kPanelRows));
  const std::byte* const place = upload.place(static_cast<std::size_t>(stored.outputs) * bytes);
  linear::MatrixRows rows;
  for (int first = 0; first < stored.outputs; first += panels * kPanelRows) {
    const int count = std::min(panels * kPanelRows, stored.outputs - first);
    if (auto read = rows.read(stored, first, count, model.reader(), model.threads()); !read) {
      return tl::unexpected(read.error());
    }
    std::byte* const room = upload.room(static_cast<std::size_t>(count) * bytes);
    if (room == nullptr) break;
    embed_rows(rows.matrix(), room);
    upload.put();
  }
  return place;
}

}  // namespace forge::gpu
