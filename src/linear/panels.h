// What the two kinds of panels have in common: floats (float_panels.cc) and codes (code_pack.cc).
//
// linear_weights.cc cuts the parts into sections and calls pack for each panel. product.cc sizes
// the scratch (prepare), has the activations converted, a range of rows a part of the pool, and
// then calls multiply for runs of panels, one run a part.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "forge/linear/linear_weights.h"
#include "forge/linear/product.h"

namespace forge::linear {

/// The stored rows behind the outputs of a panel: `parts` are those of its section, on top of one
/// another; the panel has outputs [first, first + count) of them, count <= kPanelOutputs.
struct PanelSource {
  std::span<const StoredLinear> parts;
  int first = 0;
  int count = 0;
  std::span<const std::int32_t> order;  ///< Section::order
};

/// Rows of activations on their way into the scratch.
struct Activations {
  const float* x = nullptr;  ///< [rows][K]
  int rows = 0;
  int inputs = 0;
  std::span<const std::int32_t> order;   ///< Section::order
  Numerics numerics = Numerics::native;  ///< that of the products that will read them
};

/// Activations as products read them: those of a ProductScratch, or the caller's own where they are
/// in that form already. A form that no section reads may be anything.
struct Converted {
  const float* f32 = nullptr;
  std::ptrdiff_t f32_stride = 0;  ///< floats from a row of a segment to the next
  const float* bf16 = nullptr;
  const CodedGroup* groups = nullptr;
};

/// The product of all rows of activations, converted, with panels [first_panel, end_panel) of a
/// section.
struct PanelProduct {
  const Section* section = nullptr;
  int inputs = 0;
  int first_panel = 0;
  int end_panel = 0;
  int rows = 0;
  Numerics numerics = Numerics::native;  ///< that for which x was converted
  const Converted* converted = nullptr;
  float* y = nullptr;  ///< [rows][y_stride], at the section's first output
  std::ptrdiff_t y_stride = 0;
};

namespace floats {  // f32, f16, bf16
std::size_t panel_bytes(PanelKind kind, int inputs);
/// Returns: whether all numbers are finite.
bool pack(PanelKind kind, const PanelSource& source, int inputs, std::byte* panel);
/// Makes room for all rows.
void prepare(PanelKind kind, const Activations& x, ProductScratch& scratch);
/// Converts rows [first_row, end_row) to what products with panels of `kind` read. Called for
/// several runs of rows at the same time.
void convert(PanelKind kind, const Activations& x, int first_row, int end_row,
             ProductScratch& scratch);
/// Panels that multiply takes together.
int panel_step(int rows);
void multiply(const PanelProduct& product);
void multiply_reference(const float* x, int rows, const StoredLinear& part, float* y,
                        std::ptrdiff_t y_stride);
std::string_view instructions_used(PanelKind kind, Numerics numerics);
/// Whether products of bf16 use the instruction for pairs.
bool takes_pairs(Numerics numerics);
}  // namespace floats

namespace codes {  // all other kinds; panel_bytes: forge/linear/code_layout.h
void pack(PanelKind kind, const PanelSource& source, int inputs, std::byte* panel);
/// Whether the scales of a packed panel are all finite.
bool is_finite(PanelKind kind, const std::byte* panel, int inputs);
/// Makes room for all rows.
void prepare(const Activations& x, ProductScratch& scratch);
/// Converts rows [first_row, end_row) to 8 bits in groups of 32, with inputs in `order` where there
/// is one. Called for several runs of rows at the same time.
void convert(const Activations& x, int first_row, int end_row, ProductScratch& scratch);
/// Panels that multiply takes together.
int panel_step(PanelKind kind, int rows);
void multiply(const PanelProduct& product);
void multiply_reference(const float* x, int rows, const StoredLinear& part, float* y,
                        std::ptrdiff_t y_stride);
std::string_view instructions_used(PanelKind kind);
}  // namespace codes

}  // namespace forge::linear
