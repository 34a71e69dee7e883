#include "forge/model/packed_model.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <utility>

#include "forge/core/check.h"
#include "forge/linear/matrix_rows.h"
#include "forge/linear/product.h"
#include "forge/model/weight_roles.h"
#include "forge/quant/quantize.h"

namespace forge::model {
namespace {

using linear::LinearWeights;
using linear::StoredLinear;
using quant::WeightType;

bool is_plain(const StoredLinear& stored) {
  const auto* const rows = std::get_if<linear::StoredRows>(&stored.form);
  return rows != nullptr && (rows->type == WeightType::f32 || rows->type == WeightType::f16 ||
                             rows->type == WeightType::bf16);
}

/// The type to which numbers are rounded beside those of 16 bits that a model has: theirs.
numerics::HalfType type_of_rows(const StoredModel& stored) {
  std::optional<numerics::HalfType> type;
  const auto look = [&](const std::string&, const StoredLinear& matrix) {
    if (type || (&matrix == &stored.embedding && stored.head)) return;  // which no product reads
    const linear::PanelKind kind = linear::panel_kind(matrix);
    if (kind == linear::PanelKind::f16) type = numerics::HalfType::f16;
    if (kind == linear::PanelKind::bf16) type = numerics::HalfType::bf16;
  };
  for_each_weight(stored, look, [](const std::string&, const std::vector<float>&) {});
  return type.value_or(numerics::HalfType::bf16);
}

std::optional<numerics::HalfType> rows_of(const StoredModel& stored,
                                          const PackModelOptions& options) {
  if (!options.rows) return std::nullopt;
  return type_of_rows(stored);
}

/// The plain type that holds the numbers of `stored` once their places change.
WeightType plain_type(const StoredLinear& stored) {
  return is_plain(stored) ? std::get<linear::StoredRows>(stored.form).type : WeightType::f16;
}

struct FirstByte {
  const std::byte* operator()(const linear::StoredRows& form) const { return form.rows; }
  const std::byte* operator()(const linear::StoredInt8& form) const { return form.codes; }
  const std::byte* operator()(const linear::StoredGroups& form) const { return form.codes; }
  const std::byte* operator()(const linear::StoredFloat8& form) const { return form.codes; }
};

/// Keys, transposed, and values of one head, from its rows of kv_up.
class HeadRows {
 public:
  explicit HeadRows(const LatentConfig& latent)
      : C_(static_cast<std::size_t>(latent.kv_rank)),
        N_(static_cast<std::size_t>(latent.nope_size)),
        rows_((N_ + static_cast<std::size_t>(latent.value_size)) * C_),
        keys_(C_ * N_) {}

  int count() const { return static_cast<int>(rows_.size() / C_); }

  /// Requires: count() rows of C inputs.
  void take(const StoredLinear& stored) {
    for (int row = 0; row < stored.outputs; ++row) {
      stored_row(stored, row, rows_.data() + static_cast<std::size_t>(row) * C_);
    }
    for (std::size_t n = 0; n < N_; ++n) {
      for (std::size_t c = 0; c < C_; ++c) keys_[c * N_ + n] = rows_[n * C_ + c];
    }
  }

  /// The first number that is not finite.
  std::optional<WeightFault> bad() const {
    const auto found = std::ranges::find_if(rows_, [](float x) { return !std::isfinite(x); });
    if (found == rows_.end()) return std::nullopt;
    const auto index = static_cast<std::size_t>(found - rows_.begin());
    return WeightFault{.row = index / C_, .column = index % C_, .value = *found};
  }

  std::span<const float> keys() const { return keys_; }
  std::span<const float> values() const { return std::span(rows_).subspan(N_ * C_); }

 private:
  std::size_t C_;
  std::size_t N_;
  std::vector<float> rows_;  // [N + Dv][C]
  std::vector<float> keys_;  // [C][N]
};

/// Makes the parts of a PackedModel; without threads, only their layout.
class Packer {
 public:
  /// rows: linear::PackOptions::rows.
  using Rows = std::optional<numerics::HalfType>;

  Packer(const ModelConfig& config, Rows rows) : config_(config), options_{.rows = rows} {}
  Packer(const ModelConfig& config, linear::ThreadPool& pool, const PackModelOptions& options,
         Rows rows)
      : config_(config),
        pool_(&pool),
        reader_(options.reader == nullptr ? &memory_ : options.reader),
        options_{
            .numerics = options.numerics, .reader = reader_, .store = options.store, .rows = rows},
        digester_(std::in_place, *reader_, pool) {}

  /// The first fault so far.
  const std::optional<PackFault>& fault() const { return fault_; }

  /// Whether the rest is of no use.
  bool has_ended() const {
    return fault_ || (options_.store != nullptr && options_.store->has_failed());
  }

  /// Of what was packed or checked. Requires: all of `stored` was.
  WeightsDigest digest(const StoredModel& stored) const { return digester_->digest(stored); }

  /// Looks at a matrix that is read row by row as it lies, and not packed.
  void check(const StoredLinear& stored) {
    start_reading(stored);
    find_fault_in(stored);
    done_with(stored);
  }

  /// Matrices on top of one another, widened where that is asked for (linear::PackOptions).
  LinearWeights stacked(std::initializer_list<const StoredLinear*> stored, bool widen = false) {
    std::vector<StoredLinear> parts;
    for (const StoredLinear* part : stored) {
      start_reading(*part);
      parts.push_back(*part);
    }
    LinearWeights weights = packed(parts, widen);
    for (const StoredLinear* part : stored) {
      if (!weights.is_finite()) {
        find_fault_in(*part);
        if (widen || linear::panel_kind(*part) == linear::PanelKind::f32) find_overflow_in(*part);
      }
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

  /// Matrices through which one kernel of a device goes are to follow one another.
  void reserve_for(const std::vector<StoredMlp>& experts) {
    if (options_.store == nullptr) return;
    Packer layout(config_, options_.rows);
    std::size_t bytes = 0;
    const auto add = [&](const LinearWeights& matrix) { bytes += matrix.bytes(); };
    for (const StoredMlp& expert : experts) for_each_matrix(layout.mlp(expert), add);
    options_.store->reserve(bytes);
  }
  void reserve_for(const StoredLatent& s) {
    if (options_.store == nullptr) return;
    Packer layout(config_, options_.rows);
    std::size_t bytes = 0;
    PackedLatent heads;
    layout.add_heads(s, heads);
    for (const LinearWeights& head : heads.key_up) bytes += head.bytes();
    for (const LinearWeights& head : heads.value_up) bytes += head.bytes();
    options_.store->reserve(bytes);
  }

  bool lays_out() const { return pool_ == nullptr; }

  /// Before the first look at a matrix of the StoredModel, at the address that it has there.
  void start_reading(const StoredLinear& stored) {
    if (lays_out() || fault_) return;
    reader_->will_read(stored);
    keep(digester_->read(stored));
  }
  void done_with(const StoredLinear& stored) {
    if (!lays_out()) reader_->done_with(stored);
  }
  void find_fault_in(const StoredLinear& stored) {
    if (lays_out() || fault_) return;
    const auto found = find_fault(stored, *reader_, *pool_);
    keep(found);
    if (found && *found) fault_ = **found;
  }
  /// Where panels of rows have numbers rounded.
  void find_overflow_in(const StoredLinear& stored) {
    if (lays_out() || fault_ || !options_.rows) return;
    const auto found = find_overflow(stored, *options_.rows, *reader_, *pool_);
    keep(found);
    if (found && *found) fault_ = **found;
  }
  /// A number of `stored` turned out to be `value`: by its scale, or by the product with that.
  void take_fault(const StoredLinear& stored, std::size_t row, std::size_t column, float value) {
    find_fault_in(stored);
    if (!fault_) fault_ = WeightFault{std::visit(FirstByte(), stored.form), row, column, value};
  }
  template <class Expected>
  void keep(const Expected& read) {
    if (!read && !fault_) fault_ = read.error();
  }

  LinearWeights packed(std::span<const StoredLinear> parts, bool widen) {
    linear::PackOptions options = options_;
    options.widen = widen;
    if (lays_out() || fault_) return LinearWeights::layout(parts, options);
    auto weights = LinearWeights::load(parts, *pool_, options);
    keep(weights);
    return weights ? *std::move(weights) : LinearWeights();
  }

  /// From rows [outputs][inputs] of floats, of the type that their matrix becomes; none of them
  /// in a layout.
  LinearWeights plain(const StoredLinear& from, int outputs, int inputs,
                      std::span<const float> rows) {
    const bool rounded = options_.rows && !is_plain(from);
    const WeightType type = rounded ? WeightType::f32 : plain_type(from);
    const std::size_t row_bytes = *quant::bytes_of(type, static_cast<std::size_t>(inputs));
    std::vector<std::byte> bytes(lays_out() ? 0 : static_cast<std::size_t>(outputs) * row_bytes);
    for (std::size_t row = 0; row < bytes.size() / row_bytes; ++row) {
      const auto width = static_cast<std::size_t>(inputs);
      quant::quantize(type, rows.subspan(row * width, width), bytes.data() + row * row_bytes);
    }
    const StoredLinear stored{outputs, inputs, linear::StoredRows{type, bytes.data()}};
    linear::PackOptions options = options_;
    options.reader = nullptr;
    options.widen = rounded;
    if (lays_out()) return LinearWeights::layout(std::span(&stored, 1), options);
    LinearWeights weights = LinearWeights::load(std::span(&stored, 1), *pool_, options).value();
    if (!weights.is_finite()) find_overflow_in(from);
    return weights;
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
    reserve_for(s);
    add_heads(s, packed);
    return packed;
  }

  void add_heads(const StoredLatent& s, PackedLatent& packed) {
    if (s.key_up.empty()) add_heads(s.kv_up, packed);
    for (const StoredLinear& head : s.key_up) packed.key_up.push_back(stacked_head(head));
    for (const StoredLinear& head : s.value_up) packed.value_up.push_back(stacked_head(head));
  }

  /// Panels of rows have no codes there.
  LinearWeights stacked_head(const StoredLinear& head) {
    return stacked({&head}, options_.rows && linear::has_codes(linear::panel_kind(head)));
  }

  /// Takes keys and values of all heads apart.
  void add_heads(const StoredLinear& kv_up, PackedLatent& packed) {
    start_reading(kv_up);
    const auto& latent = std::get<LatentConfig>(config_.attention);
    HeadRows rows(latent);
    linear::MatrixRows stored;
    for (int head = 0; head < latent.heads && !fault_; ++head) {
      if (!lays_out()) {
        keep(stored.read(kv_up, head * rows.count(), rows.count(), *reader_, *pool_));
        if (fault_) break;
        rows.take(stored.matrix());
        if (const auto bad = rows.bad()) {
          const auto first =
              static_cast<std::size_t>(head) * static_cast<std::size_t>(rows.count());
          return take_fault(kv_up, first + bad->row, bad->column, bad->value);
        }
      }
      packed.key_up.push_back(plain(kv_up, latent.kv_rank, latent.nope_size, rows.keys()));
      packed.value_up.push_back(plain(kv_up, latent.value_size, latent.kv_rank, rows.values()));
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
    PackedExperts packed{
        *config_.experts, stacked({&s.router}, true), s.correction_bias, {}, std::nullopt, {},
        s.router_bias};
    reserve_for(s.experts);
    for (const StoredMlp& expert : s.experts) packed.experts.push_back(mlp(expert));
    if (s.shared) packed.shared = mlp(*s.shared);
    if (s.shared_gate) packed.shared_gate = stacked({&*s.shared_gate}, true);
    return packed;
  }

  const ModelConfig& config_;
  linear::MemoryReader memory_;
  linear::ThreadPool* pool_ = nullptr;
  linear::WeightReader* reader_ = nullptr;
  linear::PackOptions options_;
  std::optional<WeightsDigester> digester_;
  std::optional<PackFault> fault_;
};

/// Everything but the digest. A fault ends it.
PackedModel packed_by(Packer& packer, const StoredModel& stored) {
  PackedModel model;
  model.embedding = stored.embedding;
  if (stored.head) packer.check(stored.embedding);  // otherwise the head is packed from it
  for (const StoredLayer& layer : stored.layers) {
    if (packer.has_ended()) return model;
    model.layers.push_back(packer.layer(layer));
  }
  model.final_norm = stored.final_norm;
  model.head = packer.stacked({stored.head ? &*stored.head : &stored.embedding});
  return model;
}

}  // namespace

PackedModel packed_layout(const ModelConfig& config, const StoredModel& stored,
                          const PackModelOptions& options) {
  Packer packer(config, rows_of(stored, options));
  return packed_by(packer, stored);
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

tl::expected<PackedModel, PackFault> pack(const ModelConfig& config, const StoredModel& stored,
                                          linear::ThreadPool& pool,
                                          const PackModelOptions& options) {
  FORGE_CHECK(static_cast<int>(stored.layers.size()) == config.layers,
              "layers=", stored.layers.size(), " config=", config.layers);
  Packer packer(config, pool, options, rows_of(stored, options));
  PackedModel model = packed_by(packer, stored);
  if (packer.fault()) return tl::unexpected(*packer.fault());
  model.numerics = options.numerics;
  if (!packer.has_ended()) model.digest = packer.digest(stored);
  return model;
}

}  // namespace forge::model
