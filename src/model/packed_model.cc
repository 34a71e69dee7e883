#include "forge/model/packed_model.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <utility>

#include "forge/core/check.h"
#include "forge/linear/product.h"
#include "forge/quant/quantize.h"

namespace forge::model {
namespace {

using linear::LinearWeights;
using linear::StoredLinear;
using quant::WeightType;

/// The plain type that holds the numbers of `stored` once their places change.
WeightType plain_type(const StoredLinear& stored) {
  const auto* rows = std::get_if<linear::StoredRows>(&stored.form);
  if (rows == nullptr) return WeightType::f16;
  switch (rows->type) {
    case WeightType::f32:
    case WeightType::bf16:
      return rows->type;
    default:
      return WeightType::f16;
  }
}

/// Whether a matrix is packed as F32, which is exact: products take codes of 32 inputs at a time,
/// which must share a scale (linear/product.h), and GPTQ and AWQ may have one for each 16.
bool is_packed_as_floats(const StoredLinear& stored) {
  constexpr int kAtOnce = 32;
  const auto* const groups = std::get_if<linear::StoredGroups>(&stored.form);
  return groups != nullptr && groups->group_size % kAtOnce != 0;
}

struct FirstByte {
  const std::byte* operator()(const linear::StoredRows& form) const { return form.rows; }
  const std::byte* operator()(const linear::StoredInt8& form) const { return form.codes; }
  const std::byte* operator()(const linear::StoredGroups& form) const { return form.codes; }
  const std::byte* operator()(const linear::StoredFloat8& form) const { return form.codes; }
};

class Packer {
 public:
  Packer(const ModelConfig& config, linear::ThreadPool& pool, const ReadAdvice& advice,
         linear::Numerics numerics)
      : config_(config), pool_(pool), advice_(advice), numerics_(numerics), digester_(pool) {}

  /// The first number that is not finite, of the matrices so far.
  const std::optional<WeightFault>& fault() const { return fault_; }

  /// Of what was packed or checked. Requires: all of `stored` was.
  WeightsDigest digest(const StoredModel& stored) const { return digester_.digest(stored); }

  /// Looks at a matrix that is read row by row as it lies, and not packed.
  void check(const StoredLinear& stored) {
    start_reading(stored);
    find_fault_in(stored);
    done_with(stored);
  }

  /// Matrices on top of one another, of floats where that is asked for or cannot be helped.
  LinearWeights stacked(std::initializer_list<const StoredLinear*> stored, bool widen = false) {
    std::vector<StoredLinear> parts;
    std::vector<std::vector<float>> widened;  // of parts, which borrow them
    for (const StoredLinear* part : stored) {
      start_reading(*part);
      parts.push_back(*part);
      if (!widen && !is_packed_as_floats(*part)) continue;
      widened.push_back(floats_of(*part));
      parts.back().form = rows_of(widened.back());
    }
    LinearWeights weights(parts, pool_, numerics_);
    for (const StoredLinear* part : stored) {
      if (!weights.is_finite()) find_fault_in(*part);
      done_with(*part);
    }
    return weights;
  }

  PackedModelLayer layer(const StoredLayer& stored) {
    return {stored.attention_norm,
            std::visit([&](const auto& attention) { return of(attention); }, stored.attention),
            stored.mlp_norm,
            std::visit([&](const auto& mlp) { return of(mlp); }, stored.mlp),
            stored.attention_post_norm,
            stored.mlp_post_norm};
  }

 private:
  using Attention = std::variant<PackedGroupedQuery, PackedLatent>;
  using Mlp = std::variant<PackedMlp, PackedExperts>;

  /// Before the first look at a matrix of the StoredModel, at the address that it has there.
  void start_reading(const StoredLinear& stored) {
    if (advice_.will_read) advice_.will_read(stored);
    digester_.read(stored);
  }
  void done_with(const StoredLinear& stored) const {
    if (advice_.done_with) advice_.done_with(stored);
  }
  void find_fault_in(const StoredLinear& stored) {
    if (!fault_) fault_ = find_fault(stored, pool_);
  }
  /// A number of `stored` turned out to be `value`: by its scale, or by the product with that.
  void take_fault(const StoredLinear& stored, std::size_t row, std::size_t column, float value) {
    find_fault_in(stored);
    if (!fault_) fault_ = {std::visit(FirstByte(), stored.form), row, column, value};
  }

  /// From rows [outputs][inputs] of floats.
  LinearWeights plain(WeightType type, int outputs, int inputs, std::span<const float> rows) const {
    const std::size_t row_bytes = *quant::bytes_of(type, static_cast<std::size_t>(inputs));
    std::vector<std::byte> bytes(static_cast<std::size_t>(outputs) * row_bytes);
    for (std::size_t row = 0; row < static_cast<std::size_t>(outputs); ++row) {
      const auto width = static_cast<std::size_t>(inputs);
      quant::quantize(type, rows.subspan(row * width, width), bytes.data() + row * row_bytes);
    }
    const StoredLinear stored{outputs, inputs, linear::StoredRows{type, bytes.data()}};
    return LinearWeights(std::span(&stored, 1), pool_, numerics_);
  }

  static std::vector<float> floats_of(const StoredLinear& stored) {
    const auto width = static_cast<std::size_t>(stored.inputs);
    std::vector<float> rows(static_cast<std::size_t>(stored.outputs) * width);
    for (int output = 0; output < stored.outputs; ++output) {
      stored_row(stored, output, rows.data() + static_cast<std::size_t>(output) * width);
    }
    return rows;
  }
  static linear::StoredRows rows_of(const std::vector<float>& floats) {
    return {WeightType::f32, std::as_bytes(std::span(floats)).data()};
  }

  /// One after the other.
  static std::vector<float> joined(std::initializer_list<const std::vector<float>*> parts) {
    std::vector<float> all;
    for (const std::vector<float>* part : parts) all.insert(all.end(), part->begin(), part->end());
    return all;
  }

  Attention of(const StoredGroupedQuery& s) {
    return PackedGroupedQuery{stacked({&s.query, &s.key, &s.value}),
                              joined({&s.query_bias, &s.key_bias, &s.value_bias}),
                              s.query_norm,
                              s.key_norm,
                              stacked({&s.output}),
                              s.output_bias,
                              s.sinks};
  }

  Attention of(const StoredLatent& s) {
    PackedLatent packed{s.query_down ? stacked({&*s.query_down}) : LinearWeights(),
                        s.query_norm,
                        stacked({&s.query_up}),
                        stacked({&s.kv_down}),
                        s.kv_norm,
                        {},
                        {},
                        stacked({&s.output})};
    if (s.key_up.empty()) {
      add_heads(s.kv_up, packed);
    } else {
      for (const StoredLinear& head : s.key_up) packed.key_up.push_back(stacked({&head}));
      for (const StoredLinear& head : s.value_up) packed.value_up.push_back(stacked({&head}));
    }
    return packed;
  }

  void add_heads(const StoredLinear& kv_up, PackedLatent& packed) {
    start_reading(kv_up);
    const auto& latent = std::get<LatentConfig>(config_.attention);
    const WeightType type = plain_type(kv_up);
    const auto C = static_cast<std::size_t>(latent.kv_rank);
    const auto N = static_cast<std::size_t>(latent.nope_size);
    const auto V = static_cast<std::size_t>(latent.value_size);
    std::vector<float> rows((N + V) * C), keys(C * N);
    for (int head = 0; head < latent.heads; ++head) {
      const int first = head * (latent.nope_size + latent.value_size);
      for (std::size_t row = 0; row < N + V; ++row) {
        stored_row(kv_up, first + static_cast<int>(row), rows.data() + row * C);
      }
      const auto bad = std::ranges::find_if(rows, [](float x) { return !std::isfinite(x); });
      if (bad != rows.end()) {
        const auto index = static_cast<std::size_t>(bad - rows.begin());
        return take_fault(kv_up, static_cast<std::size_t>(first) + index / C, index % C, *bad);
      }
      for (std::size_t n = 0; n < N; ++n) {
        for (std::size_t c = 0; c < C; ++c) keys[c * N + n] = rows[n * C + c];
      }
      packed.key_up.push_back(plain(type, latent.kv_rank, latent.nope_size, keys));
      packed.value_up.push_back(
          plain(type, latent.value_size, latent.kv_rank, std::span(rows).subspan(N * C)));
    }
    done_with(kv_up);
  }

  PackedMlp mlp(const StoredMlp& s) {
    return {stacked({&s.gate, &s.up}),
            stacked({&s.down}),
            config_.activation,
            joined({&s.gate_bias, &s.up_bias}),
            s.down_bias,
            {.alpha = config_.swiglu_alpha, .limit = config_.swiglu_limit}};
  }

  Mlp of(const StoredMlp& s) { return mlp(s); }

  Mlp of(const StoredExperts& s) {
    FORGE_CHECK(config_.experts.has_value(), "a model without experts has a layer of them");
    PackedExperts packed{*config_.experts,  stacked({&s.router}, /*widen=*/true),
                         s.correction_bias, {},
                         std::nullopt,      {},
                         s.router_bias};
    for (const StoredMlp& expert : s.experts) packed.experts.push_back(mlp(expert));
    if (s.shared) packed.shared = mlp(*s.shared);
    if (s.shared_gate) packed.shared_gate = stacked({&*s.shared_gate}, /*widen=*/true);
    return packed;
  }

  const ModelConfig& config_;
  linear::ThreadPool& pool_;
  const ReadAdvice& advice_;
  const linear::Numerics numerics_;
  WeightsDigester digester_;
  std::optional<WeightFault> fault_;
};

/// The bytes of what Packer makes of a part.
struct PackedSize {
  const ModelConfig& config;

  std::uint64_t operator()(const StoredGroupedQuery& s) const {
    return of({&s.query, &s.key, &s.value}) + of({&s.output});
  }
  std::uint64_t operator()(const StoredLatent& s) const {
    const auto& latent = std::get<LatentConfig>(config.attention);
    std::uint64_t bytes = of({&s.query_up}) + of({&s.kv_down}) + of({&s.output});
    if (s.query_down) bytes += of({&*s.query_down});
    for (const StoredLinear& head : s.key_up) bytes += of({&head});
    for (const StoredLinear& head : s.value_up) bytes += of({&head});
    if (!s.key_up.empty()) return bytes;
    const linear::StoredRows rows{plain_type(s.kv_up), nullptr};
    const StoredLinear key{latent.kv_rank, latent.nope_size, rows};
    const StoredLinear value{latent.value_size, latent.kv_rank, rows};
    return bytes + static_cast<std::uint64_t>(latent.heads) * (of({&key}) + of({&value}));
  }
  std::uint64_t operator()(const StoredMlp& s) const {
    return of({&s.gate, &s.up}) + of({&s.down});
  }
  std::uint64_t operator()(const StoredExperts& s) const {
    std::uint64_t bytes = widened(s.router) + (s.shared ? (*this)(*s.shared) : 0);
    if (s.shared_gate) bytes += widened(*s.shared_gate);
    for (const StoredMlp& expert : s.experts) bytes += (*this)(expert);
    return bytes;
  }

  static std::uint64_t widened(const StoredLinear& stored) {
    const StoredLinear floats{stored.outputs, stored.inputs, linear::StoredRows{}};
    return of({&floats});
  }

  /// Of matrices on top of one another.
  static std::uint64_t of(std::initializer_list<const StoredLinear*> stored) {
    std::vector<StoredLinear> parts;
    for (const StoredLinear* const part : stored) {
      parts.push_back(*part);
      if (is_packed_as_floats(*part)) parts.back().form = linear::StoredRows{};
    }
    return linear::packed_bytes(parts);
  }
};

}  // namespace

std::uint64_t packed_bytes(const ModelConfig& config, const StoredModel& stored) {
  const PackedSize size{config};
  std::uint64_t bytes = PackedSize::of({stored.head ? &*stored.head : &stored.embedding});
  for (const StoredLayer& layer : stored.layers) {
    bytes += std::visit(size, layer.attention) + std::visit(size, layer.mlp);
  }
  return bytes;
}

std::size_t PackedModel::bytes() const {
  std::size_t bytes = 0;
  for_each_matrix(*this, [&](const LinearWeights& matrix) { bytes += matrix.bytes(); });
  return bytes;
}

linear::Numerics numerics_of_results(const PackedModel& model) {
  bool defined = true;
  for_each_matrix(model, [&](const LinearWeights& matrix) {
    for (const linear::Section& section : matrix.sections()) {
      defined &= linear::has_defined_bits(section.kind, matrix.numerics());
    }
  });
  return defined ? linear::Numerics::canonical : linear::Numerics::native;
}

tl::expected<PackedModel, WeightFault> pack(const ModelConfig& config, const StoredModel& stored,
                                            linear::ThreadPool& pool, const ReadAdvice& advice,
                                            linear::Numerics numerics) {
  FORGE_CHECK(static_cast<int>(stored.layers.size()) == config.layers,
              "layers=", stored.layers.size(), " config=", config.layers);
  Packer packer(config, pool, advice, numerics);
  PackedModel model;
  model.numerics = numerics;
  model.embedding = stored.embedding;
  if (stored.head) packer.check(stored.embedding);  // otherwise the head is packed from it
  for (const StoredLayer& layer : stored.layers) {
    if (packer.fault()) return tl::unexpected(*packer.fault());
    model.layers.push_back(packer.layer(layer));
  }
  model.final_norm = stored.final_norm;
  model.head = packer.stacked({stored.head ? &*stored.head : &stored.embedding});
  if (packer.fault()) return tl::unexpected(*packer.fault());
  model.digest = packer.digest(stored);
  return model;
}

}  // namespace forge::model
