// Layers of compressed-tensors' pack-quantized and of FP8: which tensors make one, what its numbers
// are, and files that are cut.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <functional>

#include "checkpoint/quantized_checkpoint.h"
#include "forge/model/packed_model.h"
#include "forge/numerics/half.h"
#include "forge/quant/float8.h"

namespace forge::checkpoint {
namespace {

using formats::ElementType;
using testing::EditableCheckpoint;
using testing::floats;
using testing::numbers;
using testing::QuantizedCheckpoint;

TEST_F(QuantizedCheckpoint, pack_quantized_layers_of_compressed_tensors) {
  for (const bool symmetric : {true, false}) {
    for (const float unit : {1.0F, 0x1p-30F}) {  // bf16, which f16 has, and which it has not
      pack_quantize(symmetric);
      std::vector<std::uint16_t> scales(kOutputs * kGroups);
      for (std::size_t i = 0; i < scales.size(); ++i) {
        scales[i] = numerics::to_bf16(unit * static_cast<float>(i + 1)).bits;
      }
      set(".weight_scale", numbers(ElementType::bf16, {kOutputs, kGroups}, scales));
      const linear::StoredLinear layer = down();
      EXPECT_EQ(panel_kind(layer), unit == 1 ? linear::PanelKind::int4 : linear::PanelKind::f32);
      std::vector<float> row(kInputs);
      linear::stored_row(layer, 5, row.data());
      for (std::size_t k = 0; k < kInputs; ++k) {
        const std::size_t g = k / 32;
        const int code = nibble(".weight_packed", 5 * (kInputs / 8) + k / 8, k % 8);
        const int zero = symmetric ? 8 : nibble(".weight_zero_point", g, 5);
        EXPECT_EQ(row[k],
                  unit * static_cast<float>(5 * kGroups + g + 1) * static_cast<float>(code - zero));
      }
      linear::ThreadPool threads(1);
      EXPECT_TRUE(pack(checkpoint_->config(), checkpoint_->model(), threads).has_value());
    }
  }
}

TEST_F(QuantizedCheckpoint, scales_of_pack_quantized_may_be_negative_or_zero) {
  pack_quantize(true);
  std::vector<float> scales(kOutputs * kGroups, 1);
  scales[5 * kGroups] = -0.5F;
  scales[5 * kGroups + 1] = 0;
  set(".weight_scale", floats({kOutputs, kGroups}, scales));
  std::vector<float> row(kInputs);
  linear::stored_row(down(), 5, row.data());
  for (std::size_t k = 0; k < kInputs; ++k) {
    const int code = nibble(".weight_packed", 5 * (kInputs / 8) + k / 8, k % 8);
    EXPECT_EQ(row[k], k < 32 ? -0.5F * static_cast<float>(code - 8) : 0) << k;
  }
  linear::ThreadPool threads(1);
  EXPECT_TRUE(pack(checkpoint_->config(), checkpoint_->model(), threads).has_value());
}

TEST_F(QuantizedCheckpoint, parts_of_pack_quantized_that_do_not_fit) {
  const std::string head = "model.safetensors: tensor 'model.layers.0.mlp.down_proj.weight_";
  pack_quantize(true);
  drop(".weight_scale");
  EXPECT_EQ(llama_.error(), head + "scale': is missing; needed is F32, F16 or BF16 [32, 2]");
  for (const auto& [bad, shown] : {std::pair(NAN, "nan"), std::pair(INFINITY, "inf"),
                                   std::pair(-INFINITY, "-inf"), std::pair(2e36F, "2e+36")}) {
    std::vector<float> scales(kOutputs * kGroups, 1);
    scales[7] = bad;
    set(".weight_scale", floats({kOutputs, kGroups}, scales));
    EXPECT_EQ(llama_.error(), head + "scale': has " + shown +
                                  " at [3, 1]; accepted are numbers between -2^120 and 2^120");
  }
  pack_quantize(true);
  set(".weight_shape", numbers(ElementType::i64, {2}, std::vector<std::int64_t>{32, 60}));
  EXPECT_EQ(llama_.error(),
            head + "shape': is I64[2]; needed is I64[2] with the numbers 32 and 64");
  pack_quantize(false);
  drop(".weight_zero_point");
  EXPECT_EQ(llama_.error(), head + "zero_point': is missing; needed is I32[4, 2]");
  pack_quantize(true);
  llama_.config["quantization_config"]["config_groups"]["a"]["weights"]["group_size"] = 96;
  EXPECT_EQ(llama_.error(), head +
                                "packed': is I32[32, 8]; needed is a layer of a multiple of 96 "
                                "inputs, it has 64, and with zero points of 8 outputs, it has "
                                "32");
}

/// The bytes of down_proj as E4M3, none of them a NaN.
std::vector<std::uint8_t> float8_codes(std::size_t count) {
  std::vector<std::uint8_t> codes(count);
  for (std::size_t i = 0; i < count; ++i) {
    codes[i] = static_cast<std::uint8_t>(i * 37);
    if ((codes[i] & 0x7f) == 0x7f) codes[i] = 0;
  }
  return codes;
}

TEST_F(QuantizedCheckpoint, float8_with_a_scale_for_each_block_row_or_layer) {
  struct Case {
    std::vector<int> sides;  // of config.json; empty: none
    std::vector<std::uint64_t> shape;
    std::string name;
    std::size_t rows;
    std::size_t columns;
  };
  const std::vector<Case> cases = {{{24, 48}, {2, 2}, ".weight_scale_inv", 24, 48},
                                   {{128, 128}, {1, 1}, ".weight_scale_inv", 128, 128},
                                   {{}, {32, 1}, ".weight_scale", 1, 64},
                                   {{}, {32}, ".weight_scale", 1, 64},
                                   {{}, {1}, ".weight_scale", 32, 64},
                                   {{}, {}, ".weight_scale", 32, 64}};
  const auto codes = float8_codes(kOutputs * kInputs);
  for (const Case& one : cases) {
    llama_ = EditableCheckpoint::of("llama");
    auto& config = llama_.config["quantization_config"];
    config = {{"quant_method", "fp8"}, {"fmt", "e4m3"}, {"activation_scheme", "dynamic"}};
    if (!one.sides.empty()) config["weight_block_size"] = one.sides;
    set(".weight", numbers(ElementType::f8_e4m3, {kOutputs, kInputs}, codes));
    std::size_t count = 1;
    for (const std::uint64_t side : one.shape) count *= side;
    std::vector<float> scales(count);
    for (std::size_t i = 0; i < count; ++i) scales[i] = 0.01F * static_cast<float>(i + 1);
    set(one.name, floats(one.shape, scales));
    const linear::StoredLinear layer = down();
    const std::size_t blocks = (kInputs + one.columns - 1) / one.columns;
    for (std::size_t n = 0; n < kOutputs; ++n) {
      std::vector<float> row(kInputs);
      linear::stored_row(layer, static_cast<int>(n), row.data());
      for (std::size_t k = 0; k < kInputs; ++k) {
        EXPECT_EQ(row[k], scales[n / one.rows * blocks + k / one.columns] *
                              to_float(quant::E4M3{codes[n * kInputs + k]}));
      }
    }
    checkpoint_->done_with(layer);
    linear::ThreadPool threads(1);
    const auto model = pack(checkpoint_->config(), checkpoint_->model(), threads).value();
    EXPECT_EQ(std::get<model::PackedMlp>(model.layers[0].mlp).down.sections()[0].kind,
              linear::PanelKind::f32);
  }
}

TEST_F(QuantizedCheckpoint, float8_that_does_not_fit_or_is_no_number) {
  const std::string head = "model.safetensors: tensor 'model.layers.0.mlp.down_proj.weight";
  llama_.config["quantization_config"] = {{"quant_method", "fp8"},
                                          {"weight_block_size", {128, 32}}};
  auto codes = float8_codes(kOutputs * kInputs);
  set(".weight", numbers(ElementType::f8_e4m3, {kOutputs, kInputs}, codes));
  const std::string needed =
      "; needed is F32, F16 or BF16 [1, 2], for F8_E4M3 weights in blocks of 128 x 32";
  EXPECT_EQ(llama_.error(), head + "_scale_inv': is missing" + needed);
  set(".weight_scale_inv", floats({2, 1}, {1, 1}));
  EXPECT_EQ(llama_.error(), head + "_scale_inv': is F32[2, 1]" + needed);
  for (const auto& [bad, shown] : {std::pair(0.0F, "0"), std::pair(-2.0F, "-2"),
                                   std::pair(NAN, "nan"), std::pair(INFINITY, "inf")}) {
    set(".weight_scale_inv", floats({1, 2}, {1, bad}));
    EXPECT_EQ(llama_.error(), head + "_scale_inv': has " + shown +
                                  " at [0, 1]; accepted are finite numbers above 0");
  }
  set(".weight_scale_inv", floats({1, 2}, {1, 1}));
  set(".weight", numbers(ElementType::f8_e4m3, {kInputs, kOutputs}, codes));
  EXPECT_EQ(llama_.error(), head + "': is F8_E4M3[64, 32]; needed is [32, 64]");
  const auto fault = [&] {
    down();
    linear::ThreadPool threads(2);
    const auto packed = pack(checkpoint_->config(), checkpoint_->model(), threads);
    return packed ? "" : to_string(checkpoint_->error_of(packed.error()));
  };
  codes[9 * kInputs + 3] = 0xff;
  set(".weight", numbers(ElementType::f8_e4m3, {kOutputs, kInputs}, codes));
  const std::string there = folder_.file(head);
  EXPECT_EQ(fault(), there + "': has nan at [9, 3]; accepted are finite numbers");
  codes[9 * kInputs + 3] = 0x7e;  // 448
  set(".weight", numbers(ElementType::f8_e4m3, {kOutputs, kInputs}, codes));
  set(".weight_scale_inv", floats({1, 2}, {1e37F, 1}));
  EXPECT_NE(fault().find("has inf at ["), std::string::npos) << fault();
}

/// Cuts the file of the checkpoint at every byte of its header, and at the ends of every tensor.
void expect_no_cut_opens(const EditableCheckpoint& checkpoint) {
  const formats::testing::ScratchFolder folder;
  checkpoint.write(folder);
  const std::string path = folder.file("model.safetensors");
  std::vector<std::uintmax_t> cuts;
  {
    const auto file = formats::SafeTensors::open(path).value();
    std::uint64_t data = ~0ULL;
    for (const formats::Tensor& tensor : file.tensors()) {
      data = std::min(data, tensor.offset);
      for (const std::uint64_t at : {tensor.offset, tensor.offset + tensor.bytes.size()}) {
        cuts.insert(cuts.end(), {at - 1, at, at + 1});
      }
    }
    for (std::uint64_t at = 0; at < data; at += 7) cuts.push_back(at);
  }
  ASSERT_TRUE(Checkpoint::open(folder.path()).has_value());
  const std::uintmax_t whole = std::filesystem::file_size(path);
  std::ranges::sort(cuts, std::greater());  // so that one file is cut over and over
  for (const std::uintmax_t at : cuts) {
    if (at >= whole) continue;
    std::filesystem::resize_file(path, at);
    ASSERT_FALSE(Checkpoint::open(folder.path()).has_value()) << at << " of " << whole;
  }
}

TEST_F(QuantizedCheckpoint, cut_anywhere_is_none) {
  quantize("gptq");
  llama_.config["quantization_config"]["checkpoint_format"] = "gptq_v2";
  expect_no_cut_opens(llama_);
  pack_quantize(false);
  expect_no_cut_opens(llama_);
  llama_ = EditableCheckpoint::of("llama");
  llama_.config["quantization_config"] = {{"quant_method", "fp8"},
                                          {"weight_block_size", {128, 32}}};
  set(".weight",
      numbers(ElementType::f8_e4m3, {kOutputs, kInputs}, float8_codes(kOutputs * kInputs)));
  set(".weight_scale_inv", floats({1, 2}, {1, 0.5F}));
  expect_no_cut_opens(llama_);
}

}  // namespace
}  // namespace forge::checkpoint
