#include <algorithm>
#include <cstring>
#include <vector>

#include "forge/core/check.h"
#include "forge/numerics/canonical.h"
#include "forge/numerics/half.h"
#include "panels.h"

namespace forge::linear::floats {
namespace {

using numerics::kProductSegment;

int segments_of(int inputs) { return (inputs + kProductSegment - 1) / kProductSegment; }

/// Copies inputs [k, k + count) of a row into the panel: input k + i of output `lane` is the number
/// at (k + i) * kPanelOutputs + lane.
template <class Number>
void interleave(const std::byte* row, int k, int count, int lane, std::byte* panel) {
  for (int i = k; i < k + count; ++i) {
    std::memcpy(panel + sizeof(Number) * static_cast<std::size_t>(i * kPanelOutputs + lane),
                row + sizeof(Number) * static_cast<std::size_t>(i), sizeof(Number));
  }
}

/// As interleave, in pairs: inputs 2 p and 2 p + 1 stand next to each other.
void interleave_pairs(const std::byte* row, int k, int count, int lane, std::byte* panel) {
  for (int i = k; i < k + count; ++i) {
    const int number = (i / 2 * kPanelOutputs + lane) * 2 + i % 2;
    std::memcpy(panel + 2 * static_cast<std::size_t>(number), row + 2 * static_cast<std::size_t>(i),
                2);
  }
}

/// Whether the numbers are all finite: without its sign, adding 1 to the exponent of one that is
/// not carries into the sign's place. `unit` is that 1.
template <class Word>
bool are_finite(const std::byte* numbers, int count, Word unit) {
  constexpr auto kSign = static_cast<Word>(Word{1} << (8 * sizeof(Word) - 1));
  Word carried = 0;
  for (int i = 0; i < count; ++i) {
    Word word;
    std::memcpy(&word, numbers + sizeof word * static_cast<std::size_t>(i), sizeof word);
    carried = static_cast<Word>(carried | ((word & ~kSign) + unit));
  }
  return (carried & kSign) == 0;
}

/// The type of the numbers in panels of a kind.
quant::WeightType type_of(PanelKind kind) {
  switch (kind) {
    case PanelKind::f16:
    case PanelKind::f16_rows:
      return quant::WeightType::f16;
    case PanelKind::bf16:
    case PanelKind::bf16_rows:
      return quant::WeightType::bf16;
    default:
      return quant::WeightType::f32;
  }
}

/// Whether the rows of `part` are stored as panels of `kind` hold them.
bool lie_as_packed(PanelKind kind, const StoredLinear& part) {
  const auto* const rows = std::get_if<StoredRows>(&part.form);
  return rows != nullptr && rows->type == type_of(kind);
}

std::size_t number_bytes(PanelKind kind) { return kind == PanelKind::f32 ? 4 : 2; }

/// The rows behind the outputs of a panel as bytes of its kind: where they are stored, or, of forms
/// that are packed as floats, a copy, which panels of rows have rounded.
class PanelRows {
 public:
  PanelRows(PanelKind kind, const PanelSource& source) : kind_(kind) {
    int first = 0;  // of the part
    for (const StoredLinear& part : source.parts) {
      const int begin = std::max(source.first, first);
      const int end = std::min(source.first + source.count, first + part.outputs);
      for (int output = begin; output < end; ++output) add(part, output - first);
      first += part.outputs;
    }
  }

  const std::byte* operator[](int lane) const { return rows_[static_cast<std::size_t>(lane)]; }

 private:
  void add(const StoredLinear& part, int output) {
    const auto inputs = static_cast<std::size_t>(part.inputs);
    if (lie_as_packed(kind_, part)) {
      rows_.push_back(std::get<StoredRows>(part.form).rows +
                      number_bytes(kind_) * static_cast<std::size_t>(output) * inputs);
      return;
    }
    std::vector<float>& floats = widened_.emplace_back(inputs);
    stored_row(part, output, floats.data());
    if (has_rows(kind_)) return add_rounded(floats);
    rows_.push_back(reinterpret_cast<const std::byte*>(floats.data()));
  }

  void add_rounded(const std::vector<float>& floats) {
    const bool is_f16 = kind_ == PanelKind::f16_rows;
    std::vector<std::uint16_t>& halves = rounded_.emplace_back();
    for (const float x : floats) {
      halves.push_back(is_f16 ? numerics::to_f16(x).bits : numerics::to_bf16(x).bits);
    }
    rows_.push_back(reinterpret_cast<const std::byte*>(halves.data()));
  }

  PanelKind kind_;
  std::vector<const std::byte*> rows_;
  std::vector<std::vector<float>> widened_;  // whose numbers stay where they are
  std::vector<std::vector<std::uint16_t>> rounded_;
};

/// Outputs one after the other.
bool pack_rows(PanelKind kind, const PanelSource& source, int inputs, std::byte* panel) {
  const std::uint16_t unit = kind == PanelKind::f16_rows ? 0x0400 : 0x0080;
  const std::size_t row_bytes = number_bytes(kind) * static_cast<std::size_t>(inputs);
  const PanelRows rows(kind, source);
  bool finite = true;
  for (int lane = 0; lane < source.count; ++lane) {
    std::memcpy(panel + static_cast<std::size_t>(lane) * row_bytes, rows[lane], row_bytes);
    finite &= are_finite<std::uint16_t>(rows[lane], inputs, unit);
  }
  return finite;
}

/// product_reference over pairs, of which the second comes first.
float pairs_reference(const float* x, const float* w, int n) {
  float total = 0.0F;
  for (int first = 0; first < n; first += kProductSegment) {
    const int last = std::min(first + kProductSegment, n);
    float segment = 0.0F;
    for (int k = first; k < last; k += 2) {
      const bool whole = k + 1 < last;
      segment = numerics::fma(whole ? x[k + 1] : 0.0F, whole ? w[k + 1] : 0.0F, segment);
      segment = numerics::fma(x[k], w[k], segment);
    }
    total = first == 0 ? segment : total + segment;
  }
  return total;
}

}  // namespace

std::size_t panel_bytes(PanelKind kind, int inputs) {
  const int padded = kind == PanelKind::bf16 ? (inputs + 1) / 2 * 2 : inputs;
  return number_bytes(kind) * static_cast<std::size_t>(padded) * kPanelOutputs;
}

bool pack(PanelKind kind, const PanelSource& source, int inputs, std::byte* panel) {
  std::memset(panel, 0, floats::panel_bytes(kind, inputs));
  if (has_rows(kind)) return pack_rows(kind, source, inputs, panel);
  constexpr int kAtOnce = 64;  // inputs: what they fill of the panel stays in the L1 cache
  const PanelRows rows(kind, source);
  bool finite = true;
  for (int k = 0; k < inputs; k += kAtOnce) {
    const int count = std::min(kAtOnce, inputs - k);
    for (int lane = 0; lane < source.count; ++lane) {
      const std::byte* const row = rows[lane];
      const std::byte* const first = row + number_bytes(kind) * static_cast<std::size_t>(k);
      if (kind == PanelKind::f32) {
        finite &= are_finite<std::uint32_t>(first, count, 0x00800000);
        interleave<float>(row, k, count, lane, panel);
      } else if (kind == PanelKind::f16) {
        finite &= are_finite<std::uint16_t>(first, count, 0x0400);
        interleave<std::uint16_t>(row, k, count, lane, panel);
      } else {
        finite &= are_finite<std::uint16_t>(first, count, 0x0080);
        interleave_pairs(row, k, count, lane, panel);
      }
    }
  }
  return finite;
}

void prepare(PanelKind kind, const Activations& x, ProductScratch& scratch) {
  std::vector<float>& words = kind == PanelKind::bf16 ? scratch.bf16 : scratch.f32;
  const std::size_t size = static_cast<std::size_t>(segments_of(x.inputs)) * kProductSegment *
                           static_cast<std::size_t>(x.rows);
  if (words.size() < size) words.resize(size);
}

void multiply_reference(const float* x, int rows, const StoredLinear& part, float* y,
                        std::ptrdiff_t y_stride) {
  const bool pairs = panel_kind(part) == PanelKind::bf16;
  const auto inputs = static_cast<std::size_t>(part.inputs);
  std::vector<float> weights(inputs);
  std::vector<float> activations(x, x + static_cast<std::size_t>(rows) * inputs);
  if (pairs) {
    for (float& value : activations) value = to_float(numerics::to_bf16(value));
  }
  for (int output = 0; output < part.outputs; ++output) {
    stored_row(part, output, weights.data());
    for (int row = 0; row < rows; ++row) {
      const float* const a = activations.data() + static_cast<std::size_t>(row) * inputs;
      const auto product = pairs ? pairs_reference : numerics::product_reference;
      y[row * y_stride + output] = product(a, weights.data(), part.inputs);
    }
  }
}

}  // namespace forge::linear::floats
