// Checkpoint::merge: adapters become part of the matrices (lora.h).
#include <algorithm>
#include <map>
#include <utility>

#include "forge/checkpoint/checkpoint.h"
#include "forge/core/check.h"
#include "forge/core/quoted.h"
#include "forge/core/range.h"
#include "forge/model/weight_roles.h"
#include "lora_adapter.h"
#include "lora_merge.h"

namespace forge::checkpoint {
namespace {

using detail::LoraAdapter;
using detail::LoraPair;
using detail::LoraTerm;
using detail::MergedMatrices;
using formats::FileError;
using linear::StoredLinear;

/// What an adapter has for a layer.
struct PairOfAdapter {
  const LoraAdapter* adapter;
  const LoraPair* pair;
  bool is_used;  ///< its scale is not 0
};

/// The form of a matrix for whoever reads a note.
struct FormName {
  std::string operator()(const linear::StoredRows& form) const {
    return std::string(quant::name_of(form.type));
  }
  std::string operator()(const linear::StoredInt8&) const { return "I8"; }
  std::string operator()(const linear::StoredGroups& form) const {
    return "codes of " + std::to_string(form.bits) + " bits";
  }
  std::string operator()(const linear::StoredFloat8&) const { return "F8_E4M3"; }
};

std::string count_of(std::size_t count, const std::string& one, const std::string& several) {
  return std::to_string(count) + " " + (count == 1 ? one : several);
}

std::string note_of(const LoraSource& source, const LoraAdapter& adapter) {
  const std::string name = "LoRA adapter " + in_quotes(source.path);
  if (source.scale == 0) return name + " has the scale 0 and changes nothing";
  return name + " is merged into " + count_of(adapter.pairs().size(), "layer", "layers") +
         ", with the scale " + number_text(source.scale);
}

FileError too_large(const FileTensor& layer, const detail::MergeFault& fault,
                    const std::string& file) {
  return {.file = file,
          .message = "becomes " + number_text(fault.value) + " at [" + std::to_string(fault.row) +
                     ", " + std::to_string(fault.column) +
                     "] with its adapters; accepted are numbers that are finite as " +
                     std::string(quant::name_of(fault.type)),
          .tensor = layer.spec.name,
          .offset = std::nullopt};
}

/// Those that are used; all are checked.
tl::expected<std::vector<LoraTerm>, FileError> terms_of(const std::vector<PairOfAdapter>& pairs) {
  std::vector<LoraTerm> terms;
  for (const auto& [adapter, pair, is_used] : pairs) {
    auto down = adapter->floats(*pair->down);
    if (!down) return tl::unexpected(std::move(down.error()));
    auto up = adapter->floats(*pair->up);
    if (!up) return tl::unexpected(std::move(up.error()));
    if (!is_used) continue;
    terms.push_back({.down = *std::move(down),
                     .up = *std::move(up),
                     .rank = pair->rank(),
                     .factor = pair->factor});
  }
  return terms;
}

}  // namespace

tl::expected<void, FileError> Checkpoint::merge(std::span<const LoraSource> adapters,
                                                linear::ThreadPool& pool) {
  FORGE_CHECK(!is_merged_, "adapters are merged already");
  if (adapters.empty()) return {};
  const std::vector<FileTensor> layers = file_tensors(config_, model_, ModelFormat::safetensors);
  std::vector<LoraAdapter> opened;
  std::vector<std::string> notes;
  for (const LoraSource& source : adapters) {
    auto adapter = LoraAdapter::open(source, layers);
    if (!adapter) return tl::unexpected(std::move(adapter.error()));
    notes.push_back(note_of(source, *adapter));
    opened.push_back(*std::move(adapter));
  }
  std::map<const FileTensor*, std::vector<PairOfAdapter>> pairs;
  for (std::size_t i = 0; i < opened.size(); ++i) {
    for (const LoraPair& pair : opened[i].pairs()) {
      pairs[pair.layer].push_back({&opened[i], &pair, adapters[i].scale != 0});
    }
  }
  MergedMatrices all;
  for (const FileTensor& layer : layers) {
    if (!pairs.contains(&layer)) continue;
    const auto terms = terms_of(pairs.at(&layer));
    if (!terms) return tl::unexpected(terms.error());
    if (terms->empty()) continue;
    if (auto done = merge_layer(layer, *terms, pool, all); !done) return done;
  }
  take(std::move(all), notes);
  return {};
}

tl::expected<void, FileError> Checkpoint::merge_layer(const FileTensor& layer,
                                                      const std::vector<LoraTerm>& terms,
                                                      linear::ThreadPool& pool,
                                                      MergedMatrices& all) const {
  const CheckpointReader reader(*this);
  for (const WeightRows& part : layer.parts) {
    will_read(*part.matrix);
    const auto fault = model::find_fault(*part.matrix, reader, pool);
    if (!fault) return tl::unexpected(error_of(fault.error()));
    if (*fault) return tl::unexpected(error_of(**fault));
  }
  auto matrices = detail::merged(layer, terms, pool);
  if (!matrices) {
    return tl::unexpected(too_large(layer, matrices.error(), file_.first_file().path()));
  }
  for (const WeightRows& part : layer.parts) done_with(*part.matrix);
  all.merge(*matrices);
  return {};
}

void Checkpoint::take(MergedMatrices merged, std::vector<std::string> notes) {
  std::map<std::string, std::size_t> coded;  // matrices, by the form that they had
  const auto replace = [&](const std::string&, StoredLinear& matrix) {
    const auto found = merged.find(&matrix);
    if (found == merged.end()) return;
    auto& [type, rows] = found->second;
    const auto* const was = std::get_if<linear::StoredRows>(&matrix.form);
    if (was == nullptr || was->type != type) ++coded[std::visit(FormName(), matrix.form)];
    forget(matrix);
    matrix.form = linear::StoredRows{type, rows.data()};
    copies_.emplace(rows.data(), std::move(rows));
  };
  for_each_weight(model_, replace, [](const std::string&, const std::vector<float>&) {});
  for (const auto& [form, count] : coded) {
    notes.push_back(count_of(count, "matrix", "matrices") + " with LoRA, stored in the file as " +
                    form + ", became BF16");
  }
  notes_.insert(notes_.end(), notes.begin(), notes.end());
  is_merged_ = true;
}

void Checkpoint::forget(const StoredLinear& linear) {
  for (const linear::StoredArray& array : arrays_of(linear)) copies_.erase(array.bytes.data());
}

}  // namespace forge::checkpoint
