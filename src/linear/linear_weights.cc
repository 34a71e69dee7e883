#include "forge/linear/linear_weights.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <optional>
#include <utility>

#include "code_source.h"
#include "forge/core/check.h"
#include "forge/linear/code_layout.h"
#include "forge/linear/matrix_rows.h"
#include "panels.h"

namespace forge::linear {
namespace {

std::size_t size(int number) { return static_cast<std::size_t>(number); }

PanelKind kind_of_rows(quant::WeightType type) {
  switch (type) {
    case quant::WeightType::f32:
      return PanelKind::f32;
    case quant::WeightType::f16:
      return PanelKind::f16;
    case quant::WeightType::bf16:
      return PanelKind::bf16;
    case quant::WeightType::i8:  // which stored_row refuses
    case quant::WeightType::q8_0:
      return PanelKind::q8_0;
    case quant::WeightType::q4_0:
      return PanelKind::q4_0;
    case quant::WeightType::q5_0:
      return PanelKind::q5_0;
    case quant::WeightType::q4_1:  // with fifth bits of 0
    case quant::WeightType::q5_1:
      return PanelKind::q5_1;
    case quant::WeightType::q4_k:
      return PanelKind::q4_k;
    case quant::WeightType::q5_k:
      return PanelKind::q5_k;
    case quant::WeightType::q6_k:
      return PanelKind::q6_k;
    case quant::WeightType::q2_k:
      return PanelKind::q2_k;
    case quant::WeightType::q3_k:
      return PanelKind::q3_k;
    case quant::WeightType::iq4_nl:
    case quant::WeightType::iq4_xs:
    case quant::WeightType::mxfp4:
      return PanelKind::table4;
  }
  return PanelKind::f32;
}

/// Codes of 8 bits fit the dot products' where 128 is taken off; another zero point, or a scale
/// that is no f16, leaves floats. So do groups of 16: products take codes of 32 inputs at a time,
/// which must share a scale (product.h).
PanelKind kind_of_groups(const StoredGroups& groups) {
  constexpr int kAtOnce = 32;
  if (groups.group_size % kAtOnce != 0) return PanelKind::f32;
  if (groups.scale_type != quant::WeightType::f16) return PanelKind::f32;
  if (groups.bits == 4) return PanelKind::int4;
  return groups.zeros == nullptr ? PanelKind::q8_0 : PanelKind::f32;
}

bool is_f32(const StoredLinear& part) {
  const auto* const rows = std::get_if<StoredRows>(&part.form);
  return rows != nullptr && rows->type == quant::WeightType::f32;
}

PanelKind kind_of(const StoredLinear& part, const PackOptions& options) {
  const PanelKind kind = panel_kind(part);
  if (!options.rows) return options.widen ? PanelKind::f32 : kind;
  if (kind == PanelKind::f16) return PanelKind::f16_rows;
  if (kind == PanelKind::bf16) return PanelKind::bf16_rows;
  const bool rounded = options.widen || (kind == PanelKind::f32 && !is_f32(part));
  if (!rounded) return kind;
  return *options.rows == numerics::HalfType::f16 ? PanelKind::f16_rows : PanelKind::bf16_rows;
}

/// What of a part is the same for all that share its panels.
struct Sharing {
  PanelKind kind;
  const std::int8_t* table;
  std::vector<std::int32_t> order;

  Sharing(const StoredLinear& part, const PackOptions& options)
      : kind(kind_of(part, options)),
        table(has_codes(kind) ? codes::table_of(part) : nullptr),
        order(has_codes(kind) ? codes::packed_order(part) : std::vector<std::int32_t>()) {}

  friend bool operator==(const Sharing&, const Sharing&) = default;
};

std::size_t bytes_of(const Section& section) {
  return static_cast<std::size_t>(section.panel_count()) * section.panel_bytes;
}

/// Returns: whether all numbers, or the scales of all codes, are finite.
bool pack_panel(PanelKind kind, const PanelSource& source, int inputs, std::byte* panel) {
  if (!has_codes(kind)) return floats::pack(kind, source, inputs, panel);
  codes::pack(kind, source, inputs, panel);
  return codes::is_finite(kind, panel, inputs);
}

/// Outputs first .. first + count - 1 of parts on top of one another, in memory.
class SectionRows {
 public:
  explicit SectionRows(std::span<const StoredLinear> parts) : parts_(parts), rows_(parts.size()) {}

  tl::expected<void, ReadFault> read(int first, int count, const WeightReader& reader,
                                     ThreadPool& pool) {
    in_memory_.clear();
    int part_first = 0;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const int begin = std::max(first, part_first);
      const int end = std::min(first + count, part_first + parts_[i].outputs);
      if (begin < end) {
        auto done = rows_[i].read(parts_[i], begin - part_first, end - begin, reader, pool);
        if (!done) return done;
        in_memory_.push_back(rows_[i].matrix());
      }
      part_first += parts_[i].outputs;
    }
    return {};
  }

  std::span<const StoredLinear> parts() const { return in_memory_; }

 private:
  std::span<const StoredLinear> parts_;
  std::vector<MatrixRows> rows_;
  std::vector<StoredLinear> in_memory_;
};

/// The panels that are read and packed together: as many as are quick to share out to all threads
/// and still in a cache when they are packed.
int panels_at_once(const Section& section, std::span<const StoredLinear> parts,
                   const ThreadPool& pool, const PackOptions& options) {
  constexpr std::size_t kBytesOfThread = std::size_t{1} << 20;
  const std::size_t threads = static_cast<std::size_t>(std::clamp(pool.threads(), 4, 32));
  const std::size_t stored = kPanelOutputs * std::max<std::size_t>(1, row_bytes(parts.front()));
  std::size_t panels = threads * kBytesOfThread / stored;
  if (options.store != nullptr) {
    panels = std::min(panels, options.store->room_bytes() / section.panel_bytes);
  }
  return static_cast<int>(std::clamp<std::size_t>(panels, 1, 1U << 20));
}

}  // namespace

std::size_t panel_bytes(PanelKind kind, int inputs) {
  return has_codes(kind) ? codes::panel_bytes(kind, inputs) : floats::panel_bytes(kind, inputs);
}

PanelKind panel_kind(const StoredLinear& stored) {
  if (std::holds_alternative<StoredInt8>(stored.form)) return PanelKind::int8;
  if (std::holds_alternative<StoredFloat8>(stored.form)) return PanelKind::f32;
  if (const auto* groups = std::get_if<StoredGroups>(&stored.form)) return kind_of_groups(*groups);
  return kind_of_rows(std::get<StoredRows>(stored.form).type);
}

LinearWeights::LinearWeights(std::span<const StoredLinear> parts, ThreadPool& pool,
                             Numerics numerics)
    : LinearWeights(load(parts, pool, {.numerics = numerics}).value()) {}  // memory has no faults

tl::expected<LinearWeights, ReadFault> LinearWeights::load(std::span<const StoredLinear> parts,
                                                           ThreadPool& pool,
                                                           const PackOptions& options) {
  LinearWeights weights;
  for (const std::size_t count : weights.add_sections(parts, options)) {
    Section& section = weights.sections_[weights.storage_.size()];
    if (auto packed = weights.pack(section, parts.first(count), pool, options); !packed) {
      return tl::unexpected(packed.error());
    }
    parts = parts.subspan(count);
  }
  return weights;
}

LinearWeights LinearWeights::layout(std::span<const StoredLinear> parts,
                                    const PackOptions& options) {
  LinearWeights weights;
  weights.add_sections(parts, options);
  return weights;
}

/// Adds the sections of `parts` without their panels. Returns: the number of parts of each.
std::vector<std::size_t> LinearWeights::add_sections(std::span<const StoredLinear> parts,
                                                     const PackOptions& options) {
  numerics_ = options.numerics;
  if (!parts.empty()) inputs_ = parts.front().inputs;
  std::vector<std::size_t> counts;
  std::optional<Sharing> last;
  for (const StoredLinear& part : parts) {
    FORGE_CHECK(part.inputs == inputs_, "inputs=", part.inputs, " beside inputs=", inputs_);
    Sharing sharing(part, options);
    if (sharing != last) {
      orders_.push_back(sharing.order);  // whose numbers stay where they are
      sections_.push_back({.kind = sharing.kind,
                           .first_output = outputs_,
                           .panel_bytes = panel_bytes(sharing.kind, inputs_),
                           .order = orders_.back()});
      counts.push_back(0);
      last = std::move(sharing);
    }
    sections_.back().outputs += part.outputs;
    ++counts.back();
    outputs_ += part.outputs;
  }
  return counts;
}

tl::expected<void, ReadFault> LinearWeights::pack(Section& section,
                                                  std::span<const StoredLinear> parts,
                                                  ThreadPool& pool, const PackOptions& options) {
  PanelStore* const store = options.store;
  LargeMemory& storage = storage_.emplace_back();
  if (store == nullptr) storage = make_large_memory(bytes_of(section));
  section.panels = store == nullptr ? storage.get() : store->place(bytes_of(section));
  const MemoryReader memory;
  const WeightReader& reader = options.reader == nullptr ? memory : *options.reader;
  SectionRows rows(parts);
  std::atomic<bool> finite = true;
  const int step = panels_at_once(section, parts, pool, options);
  for (int first = 0; first < section.panel_count(); first += step) {
    const int panels = std::min(step, section.panel_count() - first);
    const int outputs = std::min(panels * kPanelOutputs, section.outputs - first * kPanelOutputs);
    if (auto done = rows.read(first * kPanelOutputs, outputs, reader, pool); !done) return done;
    const auto of_panels = [&](int count) { return size(count) * section.panel_bytes; };
    std::byte* const to =
        store == nullptr ? storage.get() + of_panels(first) : store->room(of_panels(panels));
    if (to == nullptr) return {};
    pool.run(panels, [&](int panel) {
      const PanelSource source{.parts = rows.parts(),
                               .first = panel * kPanelOutputs,
                               .count = std::min(kPanelOutputs, outputs - panel * kPanelOutputs),
                               .order = section.order};
      if (!pack_panel(section.kind, source, inputs_, to + of_panels(panel))) finite = false;
    });
    if (store != nullptr) store->put();
  }
  finite_ = finite_ && finite;
  return {};
}

std::size_t LinearWeights::bytes() const {
  std::size_t bytes = 0;
  for (const Section& section : sections_) bytes += bytes_of(section);
  return bytes;
}

}  // namespace forge::linear
