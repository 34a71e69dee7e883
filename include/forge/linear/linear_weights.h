// LinearWeights: the weights of a linear layer in the form in which products read them.
//
// Outputs are taken in panels of 32. Within a panel everything is in the order in which it is used,
// so that a row of activations against a panel is one walk through contiguous memory, and a product
// of one row is as fast as memory:
//
//   kind     of                   in a panel, for each ...
//   f32      F32, F8; 8 bits      input: 32 floats (panels.h)
//            with zero points
//            other than 128
//   f16      F16                  input: 32 halves
//   bf16     BF16                 two inputs: 32 pairs
//   *_rows   F16, BF16; what      output: its row, as it is stored, or rounded; for GPUs
//            is f32, but F32      (PackOptions::rows)
//   q8_0     Q8_0, 8-bit GPTQ     32 inputs: 8 x 32 quads of codes, 32 scales
//   int8     INT8                 32 inputs: 8 x 32 quads of codes; 32 scales of the panel
//   q4_0     Q4_0                 32 inputs: 4 x 32 pairs of quads, 32 scales
//   int4     4-bit GPTQ, AWQ      likewise, and 32 zero points
//   q5_0     Q5_0                 as q4_0, and 32 words of fifth bits
//   q5_1     Q5_1, Q4_1           likewise, and 32 smallest numbers
//   table4   IQ4_NL, IQ4_XS,      as q4_0, with scales of floats; the numbers of the table, once
//            MXFP4
//   q2_k     Q2_K                 256 inputs: 8 groups of 2 x 32 words of two bits, with 2 x 32
//                                 scales and offsets each
//   q3_k     Q3_K                 likewise, with 32 words of third bits in place of offsets
//   q4_k     Q4_K                 256 inputs: 8 groups as in q4_0 with 32 scales and offsets each
//   q5_k     Q5_K                 likewise, and in a group 32 words of fifth bits
//   q6_k     Q6_K                 likewise, and in a group 2 x 32 words of two upper bits
//
// (a quad: the codes of one output for four consecutive inputs, what a lane of a dot-product
// instruction takes). A panel takes as many bytes as the file, but for
//
//   Q3_K, Q4_K, Q5_K         3.6%, 2.8%, 2.3% more: scales of 6 bits become 8 bits
//   Q4_1                     20% more: fifth bits, which are 0
//   IQ4_NL, IQ4_XS, MXFP4    11%, 18%, 18% more: a float as scale for each 32 inputs
//   INT4                     14% more than in groups of 128: likewise a scale and a zero point
//   8 bits as f32            four times as much; F8 times its scale is rounded once, to a float
//
// and for the last panel, which is padded.
//
// Several layers that read the same input become one, their outputs one after the other; they need
// not be of the same kind. Consecutive ones of the same kind share panels: a section.
//
// Owns its memory, 64-byte aligned, in large pages where the system has them. Thread contract:
// const after construction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "forge/linear/large_memory.h"
#include "forge/linear/numerics.h"
#include "forge/linear/panel_store.h"
#include "forge/linear/panels.h"
#include "forge/linear/stored_linear.h"
#include "forge/linear/thread_pool.h"
#include "forge/linear/weight_reader.h"
#include "forge/numerics/half.h"

namespace forge::linear {

/// The kind of panel into which such weights are packed.
PanelKind panel_kind(const StoredLinear& stored);

/// Panels of one kind. Borrowed from the LinearWeights.
struct Section {
  PanelKind kind = PanelKind::f32;
  int first_output = 0;               ///< among the outputs of all sections
  int outputs = 0;                    ///< not padded
  std::size_t panel_bytes = 0;        ///< a multiple of 64
  const std::byte* panels = nullptr;  ///< in this machine's memory, or where a PanelStore put them
  /// order[k] is the input that is k-th in the packed order, where act-order permuted them; or
  /// empty.
  std::span<const std::int32_t> order;

  int panel_count() const { return (outputs + kPanelOutputs - 1) / kPanelOutputs; }
};

/// Bytes of a panel of layers with so many inputs.
std::size_t panel_bytes(PanelKind kind, int inputs);

/// How matrices are packed.
struct PackOptions {
  Numerics numerics = Numerics::native;
  const WeightReader* reader = nullptr;  ///< null: what is stored is in memory
  PanelStore* store = nullptr;           ///< null: panels go to memory of the LinearWeights
  /// F16 and BF16 in panels of rows, which no product on the CPU reads. Rows of this type become
  /// what would be packed as f32 without being F32: each number is rounded once, to nearest even.
  std::optional<numerics::HalfType> rows = {};
  /// To F32, whatever is stored. In panels of rows likewise to their type, if not of 16 bits.
  bool widen = false;
};

class LinearWeights {
 public:
  /// No outputs, no inputs.
  LinearWeights() = default;

  /// Packs `parts` on top of one another with the threads of `pool`; borrows nothing afterwards.
  /// The panels are the same for both numerics: products ask which it is.
  /// Requires: all have the same inputs; stored sizes as stored_linear.h says.
  LinearWeights(std::span<const StoredLinear> parts, ThreadPool& pool,
                Numerics numerics = Numerics::native);

  /// The same for parts that have to be read, or panels that go elsewhere. Errors: the reader's.
  static tl::expected<LinearWeights, ReadFault> load(std::span<const StoredLinear> parts,
                                                     ThreadPool& pool, const PackOptions& options);

  /// What packing would give, without the panels. Looks at no weights.
  static LinearWeights layout(std::span<const StoredLinear> parts, const PackOptions& options = {});

  int outputs() const { return outputs_; }
  int inputs() const { return inputs_; }

  /// The numerics of all products with these weights.
  Numerics numerics() const { return numerics_; }

  /// Whether all weights are finite numbers: all floats, as they are packed, and the scales of all
  /// codes. Products with others are not defined (product.h).
  bool is_finite() const { return finite_; }

  /// Bytes of all panels: what a product of one row reads.
  std::size_t bytes() const;

  std::span<const Section> sections() const { return sections_; }

 private:
  std::vector<std::size_t> add_sections(std::span<const StoredLinear> parts,
                                        const PackOptions& options);
  tl::expected<void, ReadFault> pack(Section& section, std::span<const StoredLinear> parts,
                                     ThreadPool& pool, const PackOptions& options);

  int outputs_ = 0;
  int inputs_ = 0;
  Numerics numerics_ = Numerics::native;
  bool finite_ = true;
  std::vector<Section> sections_;
  std::vector<LargeMemory> storage_;               // of each section
  std::vector<std::vector<std::int32_t>> orders_;  // of each section
};

}  // namespace forge::linear
