// A number that is not finite, wherever it is among a model's weights, is named before it is used.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "checkpoint/checkpoint_edit.h"
#include "forge/checkpoint/checkpoint.h"
#include "forge/model/packed_model.h"
#include "forge/numerics/half.h"
#include "model/stored_weights.h"
#include "numerics/test_values.h"

namespace forge::checkpoint {
namespace {

using formats::ElementType;
using quant::WeightType;
using testing::EditableCheckpoint;
using testing::EditableTensor;
using testing::StoredWeights;

constexpr float kBad[] = {NAN, INFINITY, -INFINITY};
constexpr const char* kShown[] = {"nan", "inf", "-inf"};
constexpr const char* kAccepted = "]; accepted are finite numbers";

/// What loading a file ends with; "" where it is loaded.
std::string error_of(const std::string& path) {
  const auto checkpoint = Checkpoint::open(path);
  if (!checkpoint) return to_string(checkpoint.error());
  linear::ThreadPool threads(2);
  const auto weights = pack(checkpoint->config(), checkpoint->model(), threads);
  return weights ? "" : to_string(checkpoint->error_of(weights.error()));
}

std::string error_of(const EditableCheckpoint& checkpoint) {
  const formats::testing::ScratchFolder folder;
  checkpoint.write(folder);
  const std::string error = error_of(folder.path());
  return error.empty() ? "" : error.substr(folder.path().size() + 1);
}

void put(EditableTensor& tensor, std::size_t index, float value) {
  const auto copy = [&](const auto& number) {
    std::memcpy(tensor.bytes.data() + index * sizeof number, &number, sizeof number);
  };
  if (tensor.type == ElementType::f32) return copy(value);
  if (tensor.type == ElementType::f16) return copy(numerics::to_f16(value));
  copy(numerics::to_bf16(value));
}

/// All tensors in another type of floats.
void convert(EditableCheckpoint& checkpoint, ElementType type) {
  for (auto& [name, tensor] : checkpoint.tensors) {
    std::vector<float> values(tensor.bytes.size() / sizeof(float));
    std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
    tensor.type = type;
    tensor.bytes.resize(values.size() * (type == ElementType::f32 ? 4 : 2));
    for (std::size_t i = 0; i < values.size(); ++i) put(tensor, i, values[i]);
  }
}

/// "[3, 17]" of element `index`.
std::string place(const EditableTensor& tensor, std::size_t index) {
  if (tensor.shape.size() == 1) return "[" + std::to_string(index);
  const auto width = static_cast<std::size_t>(tensor.shape.back());
  return "[" + std::to_string(index / width) + ", " + std::to_string(index % width);
}

TEST(FiniteWeights, every_tensor_of_every_family_is_looked_at) {
  std::uint32_t state = 7;
  int tensors = 0;
  for (const char* const name : {"llama", "qwen2", "qwen3_moe", "deepseek_v3", "olmo2"}) {
    for (const ElementType type : {ElementType::f32, ElementType::f16, ElementType::bf16}) {
      EditableCheckpoint checkpoint = EditableCheckpoint::of(name);
      convert(checkpoint, type);
      ASSERT_EQ(error_of(checkpoint), "") << name;
      for (auto& [tensor_name, tensor] : checkpoint.tensors) {
        state = state * 1664525U + 1013904223U;
        const std::string kept = tensor.bytes;
        std::size_t elements = 1;
        for (const std::uint64_t size : tensor.shape) elements *= size;
        const std::size_t index = (state >> 8) % elements;
        const std::size_t kind = (state >> 4) % 3;
        put(tensor, index, kBad[kind]);
        EXPECT_EQ(error_of(checkpoint), "model.safetensors: tensor '" + tensor_name + "': has " +
                                            kShown[kind] + " at " + place(tensor, index) +
                                            kAccepted);
        tensor.bytes = kept;
        ++tensors;
      }
    }
  }
  EXPECT_GT(tensors, 400);
}

TEST(FiniteWeights, an_expert_of_a_stack_is_named_by_its_number) {
  testing::EditableGguf file("deepseek_v3");
  auto& tensor = file.tensors.at("blk.2.ffn_up_exps.weight");
  ASSERT_EQ(tensor.shape, (std::vector<std::uint64_t>{12, 12, 32}));
  put(tensor, (7 * 12 + 5) * 32 + 30, INFINITY);
  const formats::testing::ScratchFolder folder;
  const std::string path = file.write(folder);
  EXPECT_EQ(error_of(path),
            path + ": tensor 'blk.2.ffn_up_exps.weight': has inf at [7, 5, 30" + kAccepted);
}

TEST(FiniteWeights, heads_of_a_latent_are_looked_at_in_both_forms) {
  testing::EditableGguf file("deepseek_v3");
  put(file.tensors.at("blk.1.attn_k_b.weight"), 3, NAN);
  const formats::testing::ScratchFolder folder;
  const std::string path = file.write(folder);
  EXPECT_EQ(error_of(path),
            path + ": tensor 'blk.1.attn_k_b.weight': has nan at [0, 0, 3" + kAccepted);
}

/// Where the scales of a block are.
struct BlockScale {
  WeightType type;
  std::size_t offset;
};

TEST(FiniteWeights, scales_of_every_kind_of_blocks) {
  const model::ModelConfig config = testing::wide_llama();
  for (const BlockScale& scale :
       {BlockScale{WeightType::q8_0, 0}, BlockScale{WeightType::q4_0, 0},
        BlockScale{WeightType::q5_0, 0}, BlockScale{WeightType::q5_1, 0},
        BlockScale{WeightType::q5_1, 2}, BlockScale{WeightType::q4_k, 0},
        BlockScale{WeightType::q4_k, 2}, BlockScale{WeightType::q5_k, 0},
        BlockScale{WeightType::q5_k, 2}, BlockScale{WeightType::q6_k, 208},
        BlockScale{WeightType::q4_1, 0}, BlockScale{WeightType::q4_1, 2},
        BlockScale{WeightType::q2_k, 80}, BlockScale{WeightType::q2_k, 82},
        BlockScale{WeightType::q3_k, 108}, BlockScale{WeightType::iq4_nl, 0},
        BlockScale{WeightType::iq4_xs, 0}}) {
    for (const std::uint16_t bits : {0x7c00, 0xfc00, 0x7e01}) {
      SCOPED_TRACE(std::string(quant::name_of(scale.type)) + " " + std::to_string(bits));
      StoredWeights weights;
      model::StoredModel stored = weights.random(config, scale.type);
      linear::ThreadPool threads(2);
      ASSERT_TRUE(pack(config, stored, threads).has_value());
      const std::size_t elements = quant::block_elements(scale.type);
      const std::size_t block_bytes = quant::block_bytes(scale.type);
      for (linear::StoredLinear* const matrix :
           {&std::get<model::StoredMlp>(stored.layers[1].mlp).down, &stored.embedding}) {
        const auto width = static_cast<std::size_t>(matrix->inputs);
        const std::size_t row = static_cast<std::size_t>(matrix->outputs) - 3;
        const std::size_t block = width / elements - 1;
        const auto* const rows = std::get<linear::StoredRows>(matrix->form).rows;
        auto* const at = const_cast<std::byte*>(rows) +
                         (row * (width / elements) + block) * block_bytes + scale.offset;
        std::uint16_t kept;
        std::memcpy(&kept, at, sizeof kept);
        std::memcpy(at, &bits, sizeof bits);
        const auto packed = pack(config, stored, threads);
        ASSERT_FALSE(packed.has_value());
        const auto& fault = std::get<model::WeightFault>(packed.error());
        EXPECT_EQ(fault.numbers, rows);
        EXPECT_EQ(fault.row, row);
        EXPECT_EQ(fault.column, block * elements);
        EXPECT_TRUE(fault.is_scale);
        EXPECT_FALSE(std::isfinite(fault.value));
        std::memcpy(at, &kept, sizeof kept);
      }
    }
  }
}

TEST(FiniteWeights, scales_of_mxfp4_that_take_its_numbers_beyond_the_largest_float) {
  StoredWeights weights;
  const model::ModelConfig config = testing::wide_llama();
  const model::StoredModel stored = weights.random(config, WeightType::mxfp4);
  const linear::StoredLinear& matrix = std::get<model::StoredMlp>(stored.layers[1].mlp).down;
  auto* const rows = const_cast<std::byte*>(std::get<linear::StoredRows>(matrix.form).rows);
  linear::ThreadPool threads(2);
  for (const int scale : {253, 254, 255}) {
    rows[17] = static_cast<std::byte>(scale);
    const auto packed = pack(config, stored, threads);
    ASSERT_FALSE(packed.has_value()) << scale;
    const auto& fault = std::get<model::WeightFault>(packed.error());
    EXPECT_EQ(fault.column, 32U);
    EXPECT_EQ(std::isnan(fault.value), scale == 255);
  }
  rows[17] = std::byte{252};
  EXPECT_TRUE(pack(config, stored, threads).has_value());
}

TEST(FiniteWeights, the_largest_numbers_are_some) {
  EditableCheckpoint checkpoint = EditableCheckpoint::of("llama");
  auto& tensor = checkpoint.tensors.at("model.layers.0.mlp.up_proj.weight");
  put(tensor, 5, std::numeric_limits<float>::max());
  put(tensor, 6, std::numeric_limits<float>::lowest());
  put(tensor, 7, std::numeric_limits<float>::denorm_min());
  EXPECT_EQ(error_of(checkpoint), "");
}

}  // namespace
}  // namespace forge::checkpoint
