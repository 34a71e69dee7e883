#include "forge/linear/product.h"

#include <algorithm>

#include "forge/core/check.h"
#include "forge/numerics/canonical.h"
#include "panels.h"

namespace forge::linear {
namespace {

/// What a part of the pool reads: enough to hide what taking a part and starting to read elsewhere
/// cost, little enough that the threads finish together.
constexpr std::size_t kPartBytes = std::size_t{512} << 10;

/// Parts for each thread, where the panels are that many.
constexpr int kPartsPerThread = 4;

/// Activations that one thread converts faster than two agree on who does.
constexpr std::ptrdiff_t kConvertedAlone = 16384;

int divide_up(int number, int divisor) { return (number + divisor - 1) / divisor; }

/// Panels [first, end) of a section.
struct Run {
  const Section* section;
  int first;
  int end;
};

/// Consecutive sections that read the activations in the same order, cut into runs of panels.
class Runs {
 public:
  Runs(std::span<const Section> sections, int rows, int threads)
      : sections_(sections), rows_(rows), threads_(threads) {
    for (const Section& section : sections) count_ += count_of(section);
  }

  int count() const { return count_; }

  Run operator[](int index) const {
    const Section* section = sections_.data();
    for (int count = count_of(*section); index >= count; count = count_of(*section)) {
      index -= count;
      ++section;
    }
    const int panels = panels_of(*section);
    return {section, index * panels, std::min(index * panels + panels, section->panel_count())};
  }

 private:
  int count_of(const Section& section) const {
    return divide_up(section.panel_count(), panels_of(section));
  }

  /// Panels of a run, a multiple of what the kernel takes together unless threads would be idle.
  int panels_of(const Section& section) const {
    const int step = has_codes(section.kind) ? codes::panel_step(section.kind, rows_)
                                             : floats::panel_step(rows_);
    const int fair = std::max(1, section.panel_count() / (kPartsPerThread * threads_));
    const int large = std::max(1, static_cast<int>(kPartBytes / section.panel_bytes));
    const int panels = std::min(fair, std::max(large, step));
    return panels > step ? panels / step * step : panels;
  }

  std::span<const Section> sections_;
  int rows_;
  int threads_;
  int count_ = 0;
};

/// The sections at the front that can share converted activations.
std::span<const Section> of_one_order(std::span<const Section> sections) {
  const auto end = std::ranges::find_if(sections, [&](const Section& section) {
    return section.order.data() != sections.front().order.data();
  });
  return sections.first(static_cast<std::size_t>(end - sections.begin()));
}

/// Converts the rows, in a range for each thread where they are many.
template <class Convert>
void convert_rows(const Activations& x, ThreadPool& pool, const Convert& convert) {
  const bool alone = static_cast<std::ptrdiff_t>(x.rows) * x.inputs <= kConvertedAlone;
  const int parts = alone ? 1 : std::min(pool.threads() * kPartsPerThread, x.rows);
  const int rows = divide_up(x.rows, parts);
  pool.run(parts, [&](int part) {
    const int first = std::min(part * rows, x.rows);
    convert(first, std::min(first + rows, x.rows));
  });
}

/// Brings the activations into the forms that the sections' kinds read.
Converted convert(std::span<const Section> sections, const Activations& x, ProductScratch& scratch,
                  ThreadPool& pool) {
  const auto to_floats = [&](PanelKind kind) {
    floats::prepare(kind, x, scratch);
    convert_rows(x, pool,
                 [&](int first, int end) { floats::convert(kind, x, first, end, scratch); });
  };
  bool plain = false;
  bool rounded = false;
  bool coded = false;
  for (const Section& section : sections) {
    FORGE_CHECK(!has_rows(section.kind), "kind=", name_of(section.kind), ", which a GPU reads");
    plain |= section.kind == PanelKind::f32 || section.kind == PanelKind::f16;
    rounded |= section.kind == PanelKind::bf16;
    coded |= has_codes(section.kind);
  }
  const bool in_place = x.rows == 1 || x.inputs <= numerics::kProductSegment;
  if (plain && !in_place) to_floats(PanelKind::f32);
  if (rounded) to_floats(PanelKind::bf16);
  if (coded) {
    codes::prepare(x, scratch);
    convert_rows(x, pool, [&](int first, int end) { codes::convert(x, first, end, scratch); });
  }
  return {.f32 = in_place ? x.x : scratch.f32.data(),  // one row, one segment: they lie together
          .f32_stride = in_place ? x.inputs : numerics::kProductSegment,
          .bf16 = scratch.bf16.data(),
          .groups = scratch.groups.data()};
}

}  // namespace

void multiply(Rows x, const LinearWeights& w, float* y, ProductScratch& scratch, ThreadPool& pool) {
  FORGE_CHECK(x.count >= 0, "rows=", x.count);
  if (x.count == 0) return;
  if (w.inputs() == 0) {
    std::fill_n(y, static_cast<std::ptrdiff_t>(x.count) * w.outputs(), 0.0F);
    return;
  }
  for (std::span<const Section> left = w.sections(); !left.empty();) {
    const std::span<const Section> sections = of_one_order(left);
    left = left.subspan(sections.size());
    const Activations activations{x.data, x.count, w.inputs(), sections.front().order,
                                  w.numerics()};
    const Converted converted = convert(sections, activations, scratch, pool);

    const auto multiply_run = [&](const Run& run) {
      const PanelProduct product{.section = run.section,
                                 .inputs = w.inputs(),
                                 .first_panel = run.first,
                                 .end_panel = run.end,
                                 .rows = x.count,
                                 .numerics = w.numerics(),
                                 .converted = &converted,
                                 .y = y + run.section->first_output,
                                 .y_stride = w.outputs()};
      has_codes(run.section->kind) ? codes::multiply(product) : floats::multiply(product);
    };
    if (pool.threads() == 1) {
      for (const Section& section : sections) multiply_run({&section, 0, section.panel_count()});
    } else {
      const Runs runs(sections, x.count, pool.threads());
      pool.run(runs.count(), [&](int index) { multiply_run(runs[index]); });
    }
  }
}

void multiply_reference(const float* x, int rows, std::span<const StoredLinear> parts, float* y) {
  int outputs = 0;
  for (const StoredLinear& part : parts) outputs += part.outputs;
  int first = 0;
  for (const StoredLinear& part : parts) {
    const auto reference =
        has_codes(panel_kind(part)) ? codes::multiply_reference : floats::multiply_reference;
    reference(x, rows, part, y + first, outputs);
    first += part.outputs;
  }
}

std::string_view instructions_used(PanelKind kind, Numerics numerics) {
  return has_codes(kind) ? codes::instructions_used(kind)
                         : floats::instructions_used(kind, numerics);
}

std::string_view instructions_used(Numerics numerics) {
  return instructions_used(PanelKind::bf16, numerics);
}

bool has_defined_bits(PanelKind kind, Numerics numerics) {
  return kind != PanelKind::bf16 || !floats::takes_pairs(numerics);
}

}  // namespace forge::linear
