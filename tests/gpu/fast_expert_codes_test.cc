// Models with experts of codes in fast numerics, as files have them: the bits are those of the
// definition (fast_reference.h), and a request's depend on the request alone.
#include <gtest/gtest.h>

#include <ostream>

#include "gpu/fast_runs.h"
#include "numerics/test_values.h"

namespace forge::testing {
namespace {

using quant::WeightType;

/// A dense layer, and one of experts, of which a row takes three of four: rows of a prompt are many
/// for each, and rows that decode are few.
struct ExpertModel {
  explicit ExpertModel(model::ModelConfig of) : config(std::move(of)) {
    config.experts->experts = 4;
    config.experts->experts_per_token = 3;
  }

  model::StoredExperts& experts() { return std::get<model::StoredExperts>(stored.layers[1].mlp); }
  void set_router(WeightType type) {
    const auto numbers = numerics::random_values(4 * 256, 7, 0.1F);
    experts().router = weights.matrix(4, 256, numbers, type);
  }

  model::ModelConfig config;
  StoredWeights weights;
  model::StoredModel stored;
};

/// GGUF: all of codes but the router, and the gate of shared experts, of F32.
ExpertModel of_codes(WeightType type) {
  model::ModelConfig config = wide_experts();
  config.experts->shared_size = 256;
  config.experts->shared_gate = true;
  ExpertModel made(config);
  made.stored = made.weights.random(made.config, type);
  made.set_router(WeightType::f32);
  made.experts().shared_gate =
      made.weights.matrix(1, 256, numerics::random_values(256, 8, 0.1F), WeightType::f32);
  return made;
}

/// gpt-oss: experts of MXFP4 with biases and clamped SwiGLU, all else of BF16.
ExpertModel of_mxfp4() {
  ExpertModel made(wide_sinks());
  made.stored = made.weights.random(made.config, WeightType::bf16);
  model::StoredModel codes = made.weights.random(made.config, WeightType::mxfp4);
  auto& coded = std::get<model::StoredExperts>(codes.layers[1].mlp).experts;
  made.experts().experts = coded;
  return made;
}

ExpertModel model_of(WeightType type) {
  return type == WeightType::mxfp4 ? of_mxfp4() : of_codes(type);
}

struct ExpertCodesParam {
  Replayer device;
  WeightType type;
  friend std::ostream& operator<<(std::ostream& out, const ExpertCodesParam& param) {
    return out << name_of(param.device) << ' ' << name_of(param.type);
  }
};

class FastExpertCodes : public ::testing::TestWithParam<ExpertCodesParam> {
 protected:
  void SetUp() override {
    if (const std::string why = missing(GetParam().device); !why.empty()) GTEST_SKIP() << why;
  }
  Place place() const { return {.device = GetParam().device, .scheduler = roomy(16)}; }

  /// Of few rows and of many.
  void expect_both(FastModel& model) const {
    expect_reference(model, place(), 3);
    expect_reference(model, place(), 90);
  }
};

TEST_P(FastExpertCodes, have_the_bits_of_the_definition) {
  ExpertModel made = model_of(GetParam().type);
  FastModel model(made.config, made.stored);
  expect_both(model);
}

TEST_P(FastExpertCodes, depend_on_the_request_alone) {
  ExpertModel made = model_of(GetParam().type);
  FastModel model(made.config, made.stored);
  using enum gpu::KernelId;
  expect_alone_as_beside(model, GetParam().device,
                         {project_experts_codes_narrow, project_experts_codes_wide});
}

/// Both products of a layer have the tiles of one plan, also where one of them has codes alone.
TEST_P(FastExpertCodes, have_the_bits_of_the_definition_beside_numbers_of_16_bits) {
  for (const bool is_down : {false, true}) {
    ExpertModel made = model_of(GetParam().type);
    model::StoredModel rows = made.weights.random(made.config, WeightType::bf16);
    auto& others = std::get<model::StoredExperts>(rows.layers[1].mlp).experts;
    for (std::size_t e = 0; e < others.size(); ++e) {
      model::StoredMlp& expert = made.experts().experts[e];
      if (is_down) {
        expert.down = others[e].down;
      } else {
        expert.gate = others[e].gate;
        expert.up = others[e].up;
      }
    }
    FastModel model(made.config, made.stored);
    expect_both(model);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Of, FastExpertCodes, ::testing::ValuesIn([] {
      std::vector<ExpertCodesParam> params;
      for (const Replayer device : kReplayers) {
        for (const WeightType type : {WeightType::q8_0, WeightType::q4_k, WeightType::mxfp4}) {
          params.push_back({device, type});
        }
      }
      return params;
    }()),
    [](const auto& of) {
      return std::string(name_of(of.param.device)) + "_" + std::string(name_of(of.param.type));
    });

}  // namespace
}  // namespace forge::testing
