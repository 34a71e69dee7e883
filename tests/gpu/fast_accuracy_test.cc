// How far fast numerics are from the model: the logits of the definition (fast_reference.h) against
// those of the same weights in f32, with KV of f32, beside how far the CPU's are that has the
// weights and the KV in the same 16 bits.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "gpu/fast_models.h"
#include "gpu/fast_reference.h"
#include "model/transformer_runner.h"

namespace forge::testing {
namespace {

using quant::WeightType;

std::vector<TokenId> some_text(int vocabulary) {
  std::vector<TokenId> tokens;
  for (std::uint32_t i = 0; i < 48; ++i) {
    tokens.emplace_back((7 * i + i * i) % static_cast<std::uint32_t>(vocabulary));
  }
  return tokens;
}

/// Of all positions of the text, on the CPU.
std::vector<Logits> logits_on_cpu(const FastModel& model, WeightType type) {
  StoredWeights weights;
  const model::StoredModel stored = weights.converted(model.stored(), type);
  linear::ThreadPool threads(1);
  const model::Transformer transformer(
      model.config(), pack(model.config(), stored, threads, {linear::Numerics::canonical}).value());
  return logits_alone(transformer, some_text(model.config().vocabulary_size));
}

std::vector<Logits> logits_of_definition(const FastModel& model, numerics::KvType kv_type) {
  FastReference reference(model.config(), model.stored(), {.kv_type = kv_type, .positions = 64});
  std::vector<Logits> rows;
  for (const TokenId token : some_text(model.config().vocabulary_size)) {
    rows.push_back(reference.next(token.value));
  }
  return rows;
}

/// Root of the mean square of the differences, of the logits of all positions.
double distance(const std::vector<Logits>& a, const std::vector<Logits>& b) {
  double sum = 0;
  double count = 0;
  for (std::size_t row = 0; row < a.size(); ++row) {
    for (std::size_t i = 0; i < a[row].size(); ++i) {
      const double difference = double{a[row][i]} - double{b[row][i]};
      sum += difference * difference;
      count += 1;
    }
  }
  return std::sqrt(sum / count);
}

/// The difference of the largest two.
float margin(Logits logits) {
  std::ranges::nth_element(logits, logits.begin() + 1, std::greater());
  return logits[0] - logits[1];
}

/// Of the definition from the exact logits. Expects the same first token wherever it is clear.
double error_of(const FastModel& model, numerics::KvType kv_type,
                const std::vector<Logits>& exact) {
  const std::vector<Logits> fast = logits_of_definition(model, kv_type);
  const double error = distance(fast, exact);
  for (std::size_t row = 0; row < exact.size(); ++row) {
    if (margin(exact[row]) < 8 * error) continue;
    EXPECT_EQ(argmax(fast[row]), argmax(exact[row])) << "position " << row;
  }
  return error;
}

/// The CPU's products round four rows of a layer to bf16. Here they are rounded, too, and queries,
/// keys, values and weights of the softmax besides: twice as many roundings, of which independent
/// ones would add up to 1.4 times the error, and equal ones to twice. Three more bits, of f16, are
/// an eighth of it; a quarter leaves room for what does not depend on the type.
TEST(FastAccuracy, is_that_of_numbers_of_16_bits) {
  for (const FastShape& shape : fast_shapes()) {
    SCOPED_TRACE(shape.name);
    const FastModel bf16(shape.config, WeightType::bf16);
    const std::vector<Logits> exact = logits_on_cpu(bf16, WeightType::f32);
    const double error = error_of(bf16, numerics::KvType::bf16, exact);
    EXPECT_LT(error, 2 * distance(logits_on_cpu(bf16, WeightType::bf16), exact));
    const FastModel f16(shape.config, WeightType::f16);
    const double of_f16 = error_of(f16, numerics::KvType::f16, logits_on_cpu(f16, WeightType::f32));
    EXPECT_LT(of_f16, error / 4);
  }
}

}  // namespace
}  // namespace forge::testing
