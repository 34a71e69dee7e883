// Every form in which the CPU reads weights, in fast numerics: the bits of the definition
// (fast_reference.h), or a refusal. Types of GGUF are in fast_codes_test.cc, which walks them.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <memory>
#include <variant>

#include "forge/checkpoint/checkpoint.h"
#include "gpu/fast_runs.h"
#include "gpu/golden_folder.h"
#include "linear/code_layers.h"

namespace forge::testing {
namespace {

namespace fs = std::filesystem;
using quant::WeightType;

static_assert(std::variant_size_v<decltype(linear::StoredLinear::form)> == 4,
              "rows, int8, groups, float8: a further form needs a test here");

std::string identifier_of(std::string name) {
  std::ranges::replace(name, ' ', '_');
  std::ranges::replace(name, '-', '_');
  return name;
}

/// In GPTQ with act-order, inputs of both are in one order where they were quantized together.
constexpr const char* kOrdersDiffer =
    "gates and ups of different kinds, or orders of inputs, accepted with fast numerics: the same "
    "for both";

/// Why fast numerics do not take the model, or nothing.
std::string refusal(const FastModel& model) {
  linear::ThreadPool threads(1);
  const auto made =
      gpu::GpuModel::of(model.config(), model.stored(), threads, nullptr, gpu::GpuNumerics::fast);
  return made ? "" : made.error();
}

/// Forms of codes that are no rows of blocks.
std::vector<linear::Form> forms_of_checkpoints() {
  std::vector<linear::Form> forms = linear::kForms;
  std::erase_if(forms, [](linear::Form form) { return form <= linear::kLastOfBlocks; });
  return forms;
}

class FastForms : public ::testing::TestWithParam<linear::Form> {};

/// All but embedding and head, which have 16 bits.
TEST_P(FastForms, have_the_bits_of_the_definition) {
  const model::ModelConfig config = wide_llama();
  StoredWeights weights;
  model::StoredModel stored = weights.random(config, WeightType::bf16);
  std::deque<std::unique_ptr<linear::CodeLayer>> layers;
  for_each_matrix(stored, [&](linear::StoredLinear& matrix) {
    if (matrix.outputs == config.vocabulary_size) return;
    matrix = layers
                 .emplace_back(linear::code_layer({.form = GetParam(),
                                                   .outputs = matrix.outputs,
                                                   .inputs = matrix.inputs,
                                                   .seed = 30 + layers.size()}))
                 ->linear;
  });
  if (GetParam() == linear::Form::gptq_act_order) {
    EXPECT_EQ(refusal(FastModel(config, stored)), kOrdersDiffer);
    for (model::StoredLayer& layer : stored.layers) {
      auto& mlp = std::get<model::StoredMlp>(layer.mlp);
      mlp.up = mlp.gate;
    }
  }
  FastModel model(config, stored);
  expect_reference(model, {.scheduler = roomy(16)}, 3);
  expect_reference(model, {.scheduler = roomy(16)}, 21);
}

INSTANTIATE_TEST_SUITE_P(Of, FastForms, ::testing::ValuesIn(forms_of_checkpoints()),
                         [](const auto& of) {
                           return "sim_" + identifier_of(linear::name_of(of.param));
                         });

/// What the packages of users have made: tests/golden/quantized.
class FastQuantized : public ::testing::TestWithParam<std::string> {};

TEST_P(FastQuantized, have_the_bits_of_the_definition) {
  const auto checkpoint = checkpoint::Checkpoint::open(golden("quantized/" + GetParam())).value();
  FastModel model(checkpoint.config(), checkpoint.model());
  const bool differ = GetParam() == "gptq_v2_4_ordered";
  ASSERT_EQ(refusal(model), differ ? kOrdersDiffer : "");
  if (differ) return;
  expect_reference(model, {.scheduler = roomy(16)}, 21);
}

std::vector<std::string> quantized_goldens() {
  std::vector<std::string> names;
  for (const auto& folder : fs::directory_iterator(golden("quantized"))) {
    if (folder.is_directory()) names.push_back(folder.path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Of, FastQuantized, ::testing::ValuesIn(quantized_goldens()),
                         [](const auto& of) { return "sim_" + of.param; });

}  // namespace
}  // namespace forge::testing
