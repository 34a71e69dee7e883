// FastReference: a model in fast numerics as numerics/fast.h says, one sequence, one token after
// the other, in plain loops: the oracle of the kernels and of whoever launches them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "forge/model/model_config.h"
#include "forge/model/rotary_table.h"
#include "forge/model/stored_model.h"
#include "forge/numerics/kv_type.h"
#include "forge/numerics/matrix_step.h"

namespace forge::testing {

class FastReference {
 public:
  struct Options {
    numerics::StepModel step = numerics::kMmaSm90;
    numerics::KvType kv_type = numerics::KvType::bf16;
    std::uint32_t positions = 0;  ///< tokens, at most
  };
  /// Borrows config and stored. The embedding says whether rows are of F16: those of 16 bits are,
  /// or none is and rows are of BF16.
  FastReference(const model::ModelConfig& config, const model::StoredModel& stored,
                const Options& options);

  /// The logits [V] after the next token.
  std::vector<float> next(std::uint32_t token);

 private:
  using Vector = std::vector<float>;

  /// What products read: numbers of the weights' type, and the factor of their norm.
  struct Rows {
    Vector h;
    float factor = 1;
  };

  Rows scaled(const Vector& x, const Vector* norm, float eps) const;
  Vector product(const linear::StoredLinear& weights, const Rows& x, const Vector& bias) const;
  /// With each weight rounded to 16 bits, whatever it is.
  Vector routed(const linear::StoredLinear& weights, const Rows& x, const Vector& bias) const;
  static Vector finished(Vector y, const Rows& x, const Vector& bias);
  float chain(std::span<const float> w, std::span<const float> x) const;
  Vector head_product(const linear::StoredLinear& weights, int first, int outputs,
                      std::span<const float> x) const;
  Vector absorbed(const model::StoredLatent& weights, int head, std::span<const float> x) const;
  Vector attended(const model::StoredGroupedQuery& weights, const Rows& x, int layer);
  Vector attended(const model::StoredLatent& weights, const Rows& x, int layer);
  Vector latent_queries(const model::StoredLatent& weights, const Rows& x, int layer) const;
  void turn(std::span<float> head, int layer) const;
  Vector attend(const model::StoredGroupedQuery& weights, const Vector& queries, int layer) const;
  void store(const Vector& numbers, int layer, std::vector<std::uint16_t>& to) const;
  Vector gated(const model::StoredMlp& weights, const Rows& x) const;
  Vector made_by(const model::StoredMlp& weights, const Rows& x) const;
  Vector made_by(const model::StoredExperts& weights, const Rows& x) const;
  void add(Vector& hidden, Vector added, const Vector* post_norm) const;

  const model::ModelConfig& config_;
  const model::StoredModel& stored_;
  numerics::StepModel step_;
  numerics::KvType kv_type_;
  bool is_f16_;  // the weights are
  std::uint32_t positions_;
  std::uint32_t position_ = 0;
  model::RotaryTable rotary_;
  model::RotaryTable window_rotary_;
  int kv_heads_;
  int key_size_;                     // D, or C + R
  std::vector<std::uint16_t> keys_;  // [layers][Hkv][positions][D]
  std::vector<std::uint16_t> values_;
};

}  // namespace forge::testing
