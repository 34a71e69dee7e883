// Models of codes in fast numerics, from a token to logits: the bits are those of the definition
// (fast_reference.h), and a request's depend on the request alone.
#include <gtest/gtest.h>

#include <ostream>

#include "gpu/fast_runs.h"
#include "linear/code_layers.h"

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

/// Chunks, prefix hits, swaps, recomputes, drafts, with and without graphs and overlap, in slabs of
/// few rows: products of a request's rows are of few rows here and of many there.
TEST_P(FastCodesBeside, depend_on_the_request_alone) {
  model::ModelConfig config = wide_llama();
  config.tied_head = true;
  FastModel model(config, GetParam().type);
  std::vector<Request> requests;
  for (std::uint32_t i = 0; i < 6; ++i) {
    requests.push_back(request_of(config.vocabulary_size, 11 + 7 * (i % 4), i, 9 + 3 * (i % 3)));
  }
  std::vector<Output> alone;
  for (const Request& request : requests) {
    alone.push_back(run(model.on_gpu(), place(roomy(16)), {request}).of.front());
  }
  SchedulerConfig crowded{.cache = {.num_blocks = 20, .block_size = 4, .num_host_blocks = 12},
                          .batch = {.max_batch_size = 5, .max_batch_tokens = 24},
                          .prefill_chunk_size = 19};
  Events events;
  for (const PreemptionPolicy preemption : {PreemptionPolicy::swap, PreemptionPolicy::recompute}) {
    const bool swaps = preemption == PreemptionPolicy::swap;
    crowded.preemption = preemption;
    Place together = place(crowded);
    together.drafts = swaps ? 3 : 0;
    together.gpu = {.graphs = !swaps, .overlap = !swaps, .chunk_rows = swaps ? 7U : 512U};
    together.checked = swaps;
    const Outputs outputs = run(model.on_gpu(), together, requests);
    events.add(outputs.events);
    for (std::size_t i = 0; i < requests.size(); ++i) {
      EXPECT_EQ(outputs.of[i], alone[i]) << "request " << i;
    }
    if (!swaps && outputs.estimate) {
      EXPECT_GT(outputs.launches(gpu::KernelId::project_codes_narrow), 0U);
      EXPECT_GT(outputs.launches(gpu::KernelId::project_codes_wide), 0U);
    }
  }
  EXPECT_GT(events.chunks, 0);
  EXPECT_GT(events.swaps_in, 0);
  EXPECT_GT(events.recomputes, 0);
  EXPECT_GT(events.drafts, 0);
}
INSTANTIATE_TEST_SUITE_P(Of, FastCodesBeside,
                         ::testing::ValuesIn(coded_params({WeightType::q8_0, WeightType::q4_k})),
                         coded_name);

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

INSTANTIATE_TEST_SUITE_P(Of, FastMixed, ::testing::ValuesIn(kReplayers),
                         [](const auto& of) { return std::string(name_of(of.param)); });

}  // namespace
}  // namespace forge::testing
