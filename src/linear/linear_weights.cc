#include "forge/linear/linear_weights.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <utility>

#include "code_source.h"
#include "forge/core/check.h"
#include "forge/linear/code_layout.h"
#include "panels.h"

namespace forge::linear {
namespace {

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
/// that is no f16, leaves floats.
PanelKind kind_of_groups(const StoredGroups& groups) {
  if (groups.scale_type != quant::WeightType::f16) return PanelKind::f32;
  if (groups.bits == 4) return PanelKind::int4;
  return groups.zeros == nullptr ? PanelKind::q8_0 : PanelKind::f32;
}

/// Whether two parts can share panels, which are of one kind, one order of inputs and one table.
bool share_panels(const StoredLinear& a, const StoredLinear& b) {
  return panel_kind(a) == panel_kind(b) && codes::table_of(a) == codes::table_of(b) &&
         codes::packed_order(a) == codes::packed_order(b);
}

/// The parts that share panels with the first: how many, and their section without its panels.
std::pair<std::size_t, Section> first_section(std::span<const StoredLinear> parts) {
  const PanelKind kind = panel_kind(parts.front());
  const int inputs = parts.front().inputs;
  Section section{.kind = kind, .panel_bytes = panel_bytes(kind, inputs)};
  std::size_t count = 0;
  for (; count < parts.size(); ++count) {
    const StoredLinear& part = parts[count];
    FORGE_CHECK(part.inputs == inputs, "inputs=", part.inputs, " beside inputs=", inputs);
    if (!share_panels(part, parts.front())) break;
    section.outputs += part.outputs;
  }
  return {count, section};
}

std::size_t bytes_of(const Section& section) {
  return static_cast<std::size_t>(section.panel_count()) * section.panel_bytes;
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

std::size_t packed_bytes(std::span<const StoredLinear> parts) {
  std::size_t bytes = 0;
  while (!parts.empty()) {
    const auto [count, section] = first_section(parts);
    bytes += bytes_of(section);
    parts = parts.subspan(count);
  }
  return bytes;
}

LinearWeights::LinearWeights(std::span<const StoredLinear> parts, ThreadPool& pool,
                             Numerics numerics)
    : numerics_(numerics) {
  if (!parts.empty()) inputs_ = parts.front().inputs;
  while (!parts.empty()) {
    auto [count, section] = first_section(parts);
    FORGE_CHECK(parts.front().inputs == inputs_, "inputs=", parts.front().inputs,
                " beside inputs=", inputs_);
    section.first_output = outputs_;
    orders_.push_back(codes::packed_order(parts.front()));  // whose numbers stay where they are
    section.order = orders_.back();
    storage_.push_back(pack(section, parts.first(count), pool));
    section.panels = storage_.back().get();
    sections_.push_back(section);
    outputs_ += section.outputs;
    parts = parts.subspan(count);
  }
}

LargeMemory LinearWeights::pack(const Section& section, std::span<const StoredLinear> parts,
                                ThreadPool& pool) {
  const int panels = section.panel_count();
  LargeMemory storage = make_large_memory(bytes_of(section));
  std::atomic<bool> finite = true;
  pool.run(panels, [&](int panel) {
    const int first = panel * kPanelOutputs;
    const PanelSource source{.parts = parts,
                             .first = first,
                             .count = std::min(kPanelOutputs, section.outputs - first),
                             .order = section.order};
    std::byte* const packed = storage.get() + static_cast<std::size_t>(panel) * section.panel_bytes;
    if (has_codes(section.kind)) {
      codes::pack(section.kind, source, inputs_, packed);
      if (!codes::is_finite(section.kind, packed, inputs_)) finite = false;
    } else {
      if (!floats::pack(section.kind, source, inputs_, packed)) finite = false;
    }
  });
  finite_ = finite_ && finite;
  return storage;
}

std::size_t LinearWeights::bytes() const {
  std::size_t bytes = 0;
  for (const Section& section : sections_) bytes += bytes_of(section);
  return bytes;
}

}  // namespace forge::linear
