// Models of codes in fast numerics, from a token to logits: the bits are those of the definition
// (fast_reference.h), and a request's depend on the request alone.
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <deque>
#include <ostream>
#include <span>

#include "gpu/fast_runs.h"
#include "linear/code_layers.h"
#include "numerics/test_values.h"

namespace forge::testing {
namespace {

using numerics::KvType;
using quant::WeightType;

struct CodedParam {
  Replayer device;
  WeightType type;
  friend std::ostream& operator<<(std::ostream& out, const CodedParam& param) {
    return out << name_of(param.device) << ' ' << name_of(param.type);
  }
};

std::vector<CodedParam> coded_params(std::vector<WeightType> types) {
  std::vector<CodedParam> params;
  for (const Replayer device : kReplayers) {
    for (const WeightType type : types) params.push_back({device, type});
  }
  return params;
}
std::string coded_name(const ::testing::TestParamInfo<CodedParam>& of) {
  return std::string(name_of(of.param.device)) + "_" + std::string(name_of(of.param.type));
}

class FastCodes : public ::testing::TestWithParam<CodedParam> {
 protected:
  void SetUp() override {
    if (const std::string why = missing(GetParam().device); !why.empty()) GTEST_SKIP() << why;
  }
  Place place(const SchedulerConfig& scheduler) const {
    return {.device = GetParam().device, .scheduler = scheduler};
  }
};

/// Of few rows and of many.
TEST_P(FastCodes, have_the_bits_of_the_definition) {
  FastModel model(wide_llama(), GetParam().type);
  expect_reference(model, place(roomy(16)), 3);
  expect_reference(model, place(roomy(16)), 21);
}

std::vector<WeightType> types_of_codes() {
  std::vector<WeightType> types;
  for (const WeightType type : quant::kWeightTypes) {
    const bool is_of_rows = type == WeightType::f32 || type == WeightType::f16 ||
                            type == WeightType::bf16 || type == WeightType::i8;
    if (!is_of_rows) types.push_back(type);
  }
  return types;
}
INSTANTIATE_TEST_SUITE_P(Of, FastCodes, ::testing::ValuesIn(coded_params(types_of_codes())),
                         coded_name);

/// Codes without minima and with them.
class FastCodesBeside : public FastCodes {};

TEST_P(FastCodesBeside, depend_on_the_request_alone) {
  model::ModelConfig config = wide_llama();
  config.tied_head = true;
  FastModel model(config, GetParam().type);
  using enum gpu::KernelId;
  expect_alone_as_beside(model, GetParam().device,
                         {project_codes_few, project_codes_narrow, project_codes_wide});
}
INSTANTIATE_TEST_SUITE_P(Of, FastCodesBeside,
                         ::testing::ValuesIn(coded_params({WeightType::q8_0, WeightType::q4_k})),
                         coded_name);

/// Latents of codes, whose heads are widened to 16 bits, and experts.
TEST(FastLatents, of_codes_have_the_bits_of_the_definition) {
  FastModel model(wide_latent(), WeightType::q8_0);
  expect_reference(model, {.scheduler = roomy(16)}, 9);
}

/// A model of several kinds, as files have them: values of other codes than queries and keys, or of
/// 16 bits, and inputs in an order of their own.
class FastMixed : public ::testing::TestWithParam<Replayer> {
 protected:
  void SetUp() override {
    if (const std::string why = missing(GetParam()); !why.empty()) GTEST_SKIP() << why;
  }
  static model::StoredGroupedQuery& attention_of(model::StoredModel& stored, std::size_t layer) {
    return std::get<model::StoredGroupedQuery>(stored.layers[layer].attention);
  }
};

TEST_P(FastMixed, have_the_bits_of_the_definition) {
  model::ModelConfig config = wide_llama();
  std::get<model::GroupedQueryConfig>(config.attention).qkv_bias = true;
  StoredWeights weights;
  model::StoredModel stored = weights.random(config, WeightType::q4_k);
  model::StoredModel other = weights.random(config, WeightType::q6_k);
  model::StoredModel rows = weights.random(config, WeightType::f16);
  attention_of(stored, 0).value = attention_of(other, 0).value;
  attention_of(stored, 1).value = attention_of(rows, 1).value;
  std::get<model::StoredMlp>(stored.layers[0].mlp).down =
      std::get<model::StoredMlp>(other.layers[0].mlp).down;
  const linear::StoredLinear& output = attention_of(stored, 1).output;
  const auto ordered = linear::code_layer(
      {.form = linear::Form::gptq_act_order, .outputs = output.outputs, .inputs = output.inputs});
  attention_of(stored, 1).output = ordered->linear;
  stored.head = rows.head;
  stored.embedding = rows.embedding;
  FastModel model(config, stored);
  const Place place{.device = GetParam(), .kv_type = KvType::f16, .scheduler = roomy(16)};
  expect_reference(model, place, 3);
  expect_reference(model, place, 21);
}

/// A matrix of random floats of 8 bits.
class Float8Matrix {
 public:
  Float8Matrix(int outputs, int inputs, std::uint64_t seed) {
    const std::size_t count = static_cast<std::size_t>(outputs) * static_cast<std::size_t>(inputs);
    for (const float x : numerics::random_values(static_cast<int>(count), seed, 63)) {
      codes_.push_back(static_cast<std::byte>(static_cast<int>(std::abs(x)) | (x < 0 ? 0x80 : 0)));
    }
    const int blocks = (outputs + kBlock - 1) / kBlock * ((inputs + kBlock - 1) / kBlock);
    for (int i = 0; i < blocks; ++i) {
      scales_.push_back(0.05F + 0.01F * static_cast<float>(i));
    }
    linear_ = {outputs, inputs, linear::StoredFloat8{codes_.data(), scales_, kBlock, kBlock}};
  }
  const linear::StoredLinear& linear() const { return linear_; }

 private:
  static constexpr int kBlock = 128;

  std::vector<std::byte> codes_;
  std::vector<float> scales_;
  linear::StoredLinear linear_;
};

/// Which are rounded to 16 bits, once with their scales: all matrices but the head, or a head that
/// is the embedding as well, which is read as it is.
TEST_P(FastMixed, have_the_bits_of_the_definition_with_floats_of_8_bits) {
  for (const bool tied : {false, true}) {
    model::ModelConfig config = wide_llama();
    config.tied_head = tied;
    StoredWeights weights;
    model::StoredModel stored = weights.random(config, WeightType::bf16);
    std::deque<Float8Matrix> matrices;
    for_each_matrix(stored, [&](linear::StoredLinear& matrix) {
      if (!tied && matrix.outputs == config.vocabulary_size) return;
      matrix = matrices.emplace_back(matrix.outputs, matrix.inputs, 40 + matrices.size()).linear();
    });
    FastModel model(config, stored);
    const Place place{.device = GetParam(), .scheduler = roomy(16)};
    expect_reference(model, place, 3);
    expect_reference(model, place, 21);
  }
}

/// As GGUF has routers, in floats, and in codes; beside experts of 16 bits.
TEST_P(FastMixed, have_the_bits_of_the_definition_with_routers_of_other_types) {
  for (const WeightType type : {WeightType::f16, WeightType::bf16}) {
    model::ModelConfig config = wide_latent();
    config.attention = std::get<model::GroupedQueryConfig>(wide_llama().attention);
    config.rope = wide_llama().rope;
    config.experts->shared_gate = true;
    StoredWeights weights;
    model::StoredModel stored = weights.random(config, type);
    auto& experts = std::get<model::StoredExperts>(stored.layers[1].mlp);
    const auto numbers = numerics::random_values(8 * 256, 7, 0.1F);
    experts.router = weights.matrix(8, 256, numbers, WeightType::f32);
    experts.shared_gate =
        weights.matrix(1, 256, std::span(numbers).subspan(300, 256), WeightType::q8_0);
    FastModel model(config, stored);
    const Place place{.device = GetParam(), .scheduler = roomy(16)};
    expect_reference(model, place, 3);
    expect_reference(model, place, 21);
  }
}

INSTANTIATE_TEST_SUITE_P(Of, FastMixed, ::testing::ValuesIn(kReplayers),
                         [](const auto& of) { return std::string(name_of(of.param)); });

}  // namespace
}  // namespace forge::testing
