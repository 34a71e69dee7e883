// Quantized tensors of several matrices, as Phi-3 has them: each matrix has its rows of the whole.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "checkpoint/checkpoint_edit.h"
#include "forge/checkpoint/checkpoint.h"
#include "forge/model/packed_model.h"

namespace forge::checkpoint {
namespace {

using formats::ElementType;
using linear::StoredGroups;
using linear::StoredLinear;
using testing::EditableCheckpoint;
using testing::EditableTensor;
using testing::floats;
using testing::numbers;

constexpr int kOutputs = 128;  // of gate and up together
constexpr int kInputs = 40;
constexpr const char* kGateUp = "model.layers.0.mlp.gate_up_proj";

/// Every number another, so that any mistaken place shows.
template <class T>
EditableTensor mixed(ElementType type, const std::vector<std::uint64_t>& shape) {
  std::vector<T> values(shape[0] * shape[1]);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<T>(i * 0x9E3779B9U);
  return numbers(type, shape, values);
}

/// Scales 1, 2, ... as f16.
EditableTensor f16_scales(std::uint64_t count) {
  std::vector<std::uint16_t> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<std::uint16_t>(0x3c00 + i);
  return numbers(ElementType::f16, {1, count}, values);
}

const std::byte* bytes_of(const EditableTensor& tensor) {
  return reinterpret_cast<const std::byte*>(tensor.bytes.data());
}

class FusedQuantized : public ::testing::Test {
 protected:
  EditableTensor& part(const std::string& name) { return phi_.tensors[kGateUp + name]; }

  void quantize(const std::string& method) {
    phi_ = EditableCheckpoint::of("phi3");
    phi_.config["quantization_config"] = {
        {"quant_method", method}, {"bits", 4}, {"group_size", -1}};
    phi_.tensors.erase(std::string(kGateUp) + ".weight");
    const bool awq = method == "awq";
    part(".qweight") = mixed<std::int32_t>(ElementType::i32,
                                           awq ? std::vector<std::uint64_t>{kInputs, kOutputs / 8}
                                               : std::vector<std::uint64_t>{kInputs / 8, kOutputs});
    part(".qzeros") = mixed<std::int32_t>(ElementType::i32, {1, kOutputs / 8});
    part(".scales") = f16_scales(kOutputs);
  }

  StoredLinear groups(StoredGroups::Packing packing) {
    return {kOutputs, kInputs,
            StoredGroups{.packing = packing,
                         .group_size = kInputs,
                         .codes = bytes_of(part(".qweight")),
                         .zeros = bytes_of(part(".qzeros")),
                         .scales = bytes_of(part(".scales")),
                         .order = {}}};
  }

  /// Expects gate to be the first half of the rows of `whole`, and up the second.
  void expect_rows_of(const StoredLinear& whole) {
    const formats::testing::ScratchFolder folder;
    phi_.write(folder);
    const Checkpoint checkpoint = Checkpoint::open(folder.path()).value();
    EXPECT_TRUE(checkpoint.unused().empty());
    const auto& mlp = std::get<model::StoredMlp>(checkpoint.model().layers[0].mlp);
    std::vector<float> expected(kInputs);
    std::vector<float> found(kInputs);
    for (int row = 0; row < kOutputs; ++row) {
      stored_row(whole, row, expected.data());
      const bool is_gate = row < kOutputs / 2;
      stored_row(is_gate ? mlp.gate : mlp.up, is_gate ? row : row - kOutputs / 2, found.data());
      EXPECT_EQ(found, expected) << row;
    }
    linear::ThreadPool threads(1);
    EXPECT_TRUE(pack(checkpoint.config(), checkpoint.model(), threads).has_value());
  }

  EditableCheckpoint phi_ = EditableCheckpoint::of("phi3");
};

TEST_F(FusedQuantized, gptq_and_awq) {
  quantize("gptq");
  expect_rows_of(groups(StoredGroups::Packing::gptq));
  quantize("awq");
  expect_rows_of(groups(StoredGroups::Packing::awq));
}

TEST_F(FusedQuantized, int8) {
  std::vector<float> scales(kOutputs);
  for (std::size_t n = 0; n < kOutputs; ++n) scales[n] = static_cast<float>(n + 1);
  part(".weight") = mixed<std::int8_t>(ElementType::i8, {kOutputs, kInputs});
  part(".weight_scale") = floats({kOutputs, 1}, scales);
  const EditableTensor codes = part(".weight");
  expect_rows_of({kOutputs, kInputs, linear::StoredInt8{bytes_of(codes), scales}});
}

TEST_F(FusedQuantized, a_number_that_is_not_finite_has_its_row_of_the_whole) {
  quantize("gptq");
  std::vector<std::uint16_t> scales(kOutputs, 0x3c00);
  scales[70] = 0x7c00;
  part(".scales") = numbers(ElementType::f16, {1, kOutputs}, scales);
  EXPECT_EQ(phi_.error(), "model.safetensors: tensor '" + std::string(kGateUp) +
                              ".scales': has inf at [0, 70]; accepted are numbers between -2^120 "
                              "and 2^120");
}

TEST_F(FusedQuantized, matrices_that_end_within_a_word_are_refused) {
  phi_.config["num_attention_heads"] = 10;  // of 4 numbers
  phi_.config["rope_parameters"]["partial_rotary_factor"] = 1;
  phi_.config["quantization_config"] = {{"quant_method", "awq"}, {"bits", 4}, {"group_size", -1}};
  const std::string name = "model.layers.0.self_attn.qkv_proj";
  phi_.tensors.erase(name + ".weight");
  phi_.tensors[name + ".qweight"] = mixed<std::int32_t>(ElementType::i32, {kInputs, 6});
  phi_.tensors[name + ".qzeros"] = mixed<std::int32_t>(ElementType::i32, {1, 6});
  phi_.tensors[name + ".scales"] = f16_scales(48);
  EXPECT_EQ(phi_.error(), "model.safetensors: tensor '" + name +
                              ".qweight': is I32[40, 6]; needed is a multiple of 8 rows in each "
                              "matrix of it; one has rows 40 .. 43");
}

}  // namespace
}  // namespace forge::checkpoint
