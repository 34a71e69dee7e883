// Quantized layers in a checkpoint: which tensors make one, what it borrows, and stacks of experts.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <functional>

#include "checkpoint/checkpoint_edit.h"
#include "forge/checkpoint/checkpoint.h"
#include "forge/formats/tensor_writer.h"
#include "forge/model/packed_model.h"
#include "forge/quant/float8.h"
#include "forge/quant/half.h"

namespace forge::checkpoint {
namespace {

using formats::ElementType;
using nlohmann::json;
using testing::EditableCheckpoint;
using testing::EditableTensor;
using testing::floats;
using testing::numbers;

constexpr const char* kDown = "model.layers.0.mlp.down_proj";

/// A golden model in which one layer, down_proj of layer 0 with N = 32 and K = 64, is quantized.
class QuantizedCheckpoint : public ::testing::Test {
 protected:
  static constexpr std::uint64_t kOutputs = 32;
  static constexpr std::uint64_t kInputs = 64;
  static constexpr std::uint64_t kGroups = 2;

  void set(const std::string& part, EditableTensor tensor) {
    llama_.tensors[std::string(kDown) + part] = std::move(tensor);
  }
  void drop(const std::string& part) { llama_.tensors.erase(std::string(kDown) + part); }

  void quantize(const std::string& method) {
    llama_.config["quantization_config"] = {
        {"quant_method", method}, {"bits", 4}, {"group_size", 32}};
    const bool gptq = method == "gptq";
    drop(".weight");
    set(".qweight", integers(gptq ? std::vector<std::uint64_t>{kInputs / 8, kOutputs}
                                  : std::vector<std::uint64_t>{kInputs, kOutputs / 8}));
    set(".qzeros", integers({kGroups, kOutputs / 8}));
    set(".scales", numbers(ElementType::f16, {kGroups, kOutputs},
                           std::vector<std::uint16_t>(kGroups * kOutputs, 0x3c00)));
  }

  void pack_quantize(bool symmetric) {
    llama_ = EditableCheckpoint::of("llama");
    llama_.config["quantization_config"] = json::parse(R"({
        "quant_method": "compressed-tensors", "format": "pack-quantized", "config_groups": {"a": {
          "weights": {"num_bits": 4, "type": "int", "strategy": "group", "group_size": 32}}}})");
    llama_.config["quantization_config"]["config_groups"]["a"]["weights"]["symmetric"] = symmetric;
    drop(".weight");
    set(".weight_packed", integers({kOutputs, kInputs / 8}));
    set(".weight_scale", floats({kOutputs, kGroups}, std::vector<float>(kOutputs * kGroups, 1)));
    set(".weight_shape",
        numbers(ElementType::i64, {2}, std::vector<std::int64_t>{kOutputs, kInputs}));
    if (!symmetric) set(".weight_zero_point", integers({kOutputs / 8, kGroups}));
  }

  /// Nibble `place` of a word; of zero points that of output `place` and group `word`.
  int nibble(const std::string& name, std::size_t word, std::size_t place) const {
    std::uint32_t bits = 0;
    const std::size_t at = name == ".weight_packed" ? word : place / 8 * kGroups + word;
    std::memcpy(&bits, part(name).bytes.data() + 4 * at, sizeof bits);
    return static_cast<int>(bits >> (4 * (place % 8)) & 15);
  }

  /// Every int another, so that any mistaken place shows.
  static EditableTensor integers(const std::vector<std::uint64_t>& shape) {
    std::vector<std::int32_t> values(shape[0] * shape[1]);
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<std::int32_t>(i * 0x9E3779B9U);
    }
    return numbers(ElementType::i32, shape, values);
  }

  void set_order(const std::vector<std::int32_t>& order) {
    set(".g_idx", numbers(ElementType::i32, {order.size()}, order));
  }

  /// Opens it and returns the layer, with the checkpoint that it borrows from.
  linear::StoredLinear down() {
    llama_.write(folder_);
    checkpoint_.emplace(Checkpoint::open(folder_.path()).value());
    EXPECT_TRUE(checkpoint_->unused().empty());
    return std::get<model::StoredMlp>(checkpoint_->model().layers[0].mlp).down;
  }

  const EditableTensor& part(const std::string& name) const {
    return llama_.tensors.at(std::string(kDown) + name);
  }
  static std::string bytes(const std::byte* data, std::size_t size) {
    return std::string(reinterpret_cast<const char*>(data), size);
  }

  EditableCheckpoint llama_ = EditableCheckpoint::of("llama");
  formats::testing::ScratchFolder folder_;
  std::optional<Checkpoint> checkpoint_;
};

TEST_F(QuantizedCheckpoint, gptq_and_awq_layers_are_borrowed_as_they_are) {
  for (const char* const method : {"gptq", "awq"}) {
    llama_ = EditableCheckpoint::of("llama");
    quantize(method);
    const linear::StoredLinear layer = down();
    EXPECT_EQ(layer.outputs, 32);
    EXPECT_EQ(layer.inputs, 64);
    const auto form = std::get<linear::StoredGroups>(layer.form);
    using Packing = linear::StoredGroups::Packing;
    EXPECT_EQ(form.packing, method == std::string("gptq") ? Packing::gptq : Packing::awq);
    EXPECT_EQ(form.group_size, 32);
    EXPECT_TRUE(form.order.empty());
    EXPECT_EQ(bytes(form.codes, 64 * 32 / 2), part(".qweight").bytes);
    EXPECT_EQ(bytes(form.zeros, 2 * 32 / 2), part(".qzeros").bytes);
    EXPECT_EQ(bytes(form.scales, 2 * 32 * 2), part(".scales").bytes);
    checkpoint_->will_read(layer);
    checkpoint_->done_with(layer);
    EXPECT_EQ(bytes(form.codes, 64 * 32 / 2), part(".qweight").bytes);
    EXPECT_TRUE(std::holds_alternative<linear::StoredRows>(
        std::get<model::StoredMlp>(checkpoint_->model().layers[0].mlp).gate.form))
        << "other layers stay as they are";
  }
}

TEST_F(QuantizedCheckpoint, gptq_may_be_of_8_bits_and_of_its_second_format) {
  for (const bool second : {false, true}) {
    for (const int zero : {128, 127}) {
      quantize("gptq");
      llama_.config["quantization_config"]["bits"] = 8;
      llama_.config["quantization_config"]["checkpoint_format"] = second ? "gptq_v2" : "gptq";
      set(".qweight", integers({kInputs / 4, kOutputs}));
      const std::int32_t word = 0x01010101 * (second ? zero : zero - 1);
      set(".qzeros", numbers(ElementType::i32, {kGroups, kOutputs / 4},
                             std::vector<std::int32_t>(kGroups * kOutputs / 4, word)));
      const linear::StoredLinear layer = down();
      EXPECT_EQ(panel_kind(layer), zero == 128 ? linear::PanelKind::q8_0 : linear::PanelKind::f32);
      std::vector<float> row(kInputs);
      linear::stored_row(layer, 3, row.data());
      for (std::size_t k = 0; k < kInputs; ++k) {
        const auto code =
            static_cast<std::uint8_t>(part(".qweight").bytes[4 * (k / 4 * kOutputs + 3) + k % 4]);
        EXPECT_EQ(row[k], static_cast<float>(code - zero)) << k;
      }
      linear::ThreadPool threads(1);
      EXPECT_TRUE(pack(checkpoint_->config(), checkpoint_->model(), threads).has_value());
    }
  }
}

TEST_F(QuantizedCheckpoint, pack_quantized_layers_of_compressed_tensors) {
  for (const bool symmetric : {true, false}) {
    for (const float unit : {1.0F, 0x1p-30F}) {  // bf16, which f16 has, and which it has not
      pack_quantize(symmetric);
      std::vector<std::uint16_t> scales(kOutputs * kGroups);
      for (std::size_t i = 0; i < scales.size(); ++i) {
        scales[i] = quant::to_bf16(unit * static_cast<float>(i + 1)).bits;
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

TEST_F(QuantizedCheckpoint, parts_of_pack_quantized_that_do_not_fit) {
  const std::string head = "model.safetensors: tensor 'model.layers.0.mlp.down_proj.weight_";
  pack_quantize(true);
  drop(".weight_scale");
  EXPECT_EQ(llama_.error(), head + "scale': is missing; needed is F32, F16 or BF16 [32, 2]");
  for (const auto& [bad, shown] : {std::pair(0.0F, "0"), std::pair(-0.5F, "-0.5"),
                                   std::pair(NAN, "nan"), std::pair(INFINITY, "inf")}) {
    std::vector<float> scales(kOutputs * kGroups, 1);
    scales[7] = bad;
    set(".weight_scale", floats({kOutputs, kGroups}, scales));
    EXPECT_EQ(llama_.error(),
              head + "scale': has " + shown + " at [3, 1]; accepted are finite numbers above 0");
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

TEST_F(QuantizedCheckpoint, one_group_may_be_the_whole_layer) {
  quantize("gptq");
  llama_.config["quantization_config"]["group_size"] = -1;
  set(".qzeros", integers({1, kOutputs / 8}));
  set(".scales",
      numbers(ElementType::f16, {1, kOutputs}, std::vector<std::uint16_t>(kOutputs, 0x3c00)));
  EXPECT_EQ(std::get<linear::StoredGroups>(down().form).group_size, 64);
}

TEST_F(QuantizedCheckpoint, groups_may_be_of_16) {
  quantize("gptq");
  llama_.config["quantization_config"]["group_size"] = 16;
  set(".qzeros", integers({4, kOutputs / 8}));
  set(".scales",
      numbers(ElementType::f16, {4, kOutputs}, std::vector<std::uint16_t>(4 * kOutputs, 0x3c00)));
  const linear::StoredLinear layer = down();
  EXPECT_EQ(std::get<linear::StoredGroups>(layer.form).group_size, 16);
  linear::ThreadPool threads(1);
  const model::PackedModel model =
      pack(checkpoint_->config(), checkpoint_->model(), threads).value();
  EXPECT_EQ(std::get<model::PackedMlp>(model.layers[0].mlp).down.sections()[0].kind,
            linear::PanelKind::f32);
}

TEST_F(QuantizedCheckpoint, the_order_of_groups_counts_where_it_is_not_the_natural_one) {
  quantize("gptq");
  std::vector<std::int32_t> order(64);
  for (std::size_t i = 0; i < 64; ++i) order[i] = static_cast<std::int32_t>(i / 32);
  set_order(order);
  EXPECT_TRUE(std::get<linear::StoredGroups>(down().form).order.empty());
  std::swap(order[3], order[60]);
  set_order(order);
  EXPECT_TRUE(std::ranges::equal(std::get<linear::StoredGroups>(down().form).order, order));
}

TEST_F(QuantizedCheckpoint, orders_that_are_none) {
  quantize("gptq");
  std::vector<std::int32_t> order(64, 1);
  const std::string head =
      "model.safetensors: tensor 'model.layers.0.mlp.down_proj.g_idx': is I32[64]; "
      "needed is each group of 0 .. 1 32 times; input ";
  set_order(order);
  EXPECT_EQ(llama_.error(), head + "32 has 1");
  order[5] = 2;
  set_order(order);
  EXPECT_EQ(llama_.error(), head + "5 has 2");
  order[2] = -1;
  set_order(order);
  EXPECT_EQ(llama_.error(), head + "2 has -1");
}

TEST_F(QuantizedCheckpoint, parts_that_do_not_fit) {
  const std::string head = "model.safetensors: tensor 'model.layers.0.mlp.down_proj";
  quantize("gptq");
  set(".qweight", integers({64, 4}));
  EXPECT_EQ(llama_.error(), head + ".qweight': is I32[64, 4]; needed is I32[8, 32]");
  quantize("gptq");
  drop(".qzeros");
  EXPECT_EQ(llama_.error(), head + ".qzeros': is missing; needed is I32[2, 4]");
  quantize("awq");
  set(".scales", floats({2, 32}, std::vector<float>(64)));
  EXPECT_EQ(llama_.error(), head + ".scales': is F32[2, 32]; needed is F16[2, 32]");
  quantize("awq");
  llama_.config["quantization_config"]["group_size"] = 96;
  EXPECT_EQ(llama_.error(), head +
                                ".qweight': is I32[64, 4]; needed is a layer of a multiple of 8 "
                                "outputs, it has 32, and of 96 inputs, it has 64");
}

TEST_F(QuantizedCheckpoint, scales_that_are_not_finite_are_named) {
  for (const char* const method : {"gptq", "awq"}) {
    llama_ = EditableCheckpoint::of("llama");
    quantize(method);
    std::vector<std::uint16_t> scales(kGroups * kOutputs, 0x3c00);
    scales[kOutputs + 9] = 0x7e00;
    set(".scales", numbers(ElementType::f16, {kGroups, kOutputs}, scales));
    down();
    linear::ThreadPool threads(1);
    const auto packed = pack(checkpoint_->config(), checkpoint_->model(), threads);
    ASSERT_FALSE(packed.has_value());
    EXPECT_EQ(to_string(checkpoint_->error_of(packed.error())),
              folder_.file("model.safetensors") +
                  ": tensor 'model.layers.0.mlp.down_proj.scales': has nan at [1, 9]; accepted are "
                  "finite numbers");
  }
}

TEST_F(QuantizedCheckpoint, scales_of_int8_rows_that_are_not_finite_are_named) {
  set(".weight", numbers(ElementType::i8, {kOutputs, kInputs}, std::vector<std::int8_t>(64 * 32)));
  std::vector<float> scales(kOutputs, 1);
  scales[30] = -INFINITY;
  set(".weight_scale", floats({kOutputs, 1}, scales));
  EXPECT_EQ(llama_.error(),
            "model.safetensors: tensor 'model.layers.0.mlp.down_proj.weight_scale': has -inf at "
            "[30]; accepted are finite numbers");
}

TEST_F(QuantizedCheckpoint, int8_rows_with_a_scale_each) {
  std::vector<std::int8_t> codes(kOutputs * kInputs);
  for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<std::int8_t>(i * 37);
  std::vector<float> scales(kOutputs);
  for (std::size_t i = 0; i < scales.size(); ++i) scales[i] = 0.25F * static_cast<float>(i + 1);
  set(".weight", numbers(ElementType::i8, {kOutputs, kInputs}, codes));
  for (const std::vector<std::uint64_t>& shape :
       {std::vector<std::uint64_t>{kOutputs}, std::vector<std::uint64_t>{kOutputs, 1}}) {
    set(".weight_scale", floats(shape, scales));
    const linear::StoredLinear layer = down();
    std::vector<float> row(kInputs);
    linear::stored_row(layer, 5, row.data());
    for (std::size_t k = 0; k < kInputs; ++k) {
      EXPECT_EQ(row[k], 1.5F * static_cast<float>(codes[5 * kInputs + k]));
    }
    checkpoint_->done_with(layer);
  }
}

TEST_F(QuantizedCheckpoint, int8_rows_without_scales) {
  set(".weight", numbers(ElementType::i8, {kOutputs, kInputs}, std::vector<std::int8_t>(64 * 32)));
  const std::string head =
      "model.safetensors: tensor 'model.layers.0.mlp.down_proj.weight_scale': is ";
  const std::string needed = "; needed is F32, F16 or BF16 [32] or [32, 1], for I8 weights";
  EXPECT_EQ(llama_.error(), head + "missing" + needed);
  set(".weight_scale", floats({1}, {1}));
  EXPECT_EQ(llama_.error(), head + "F32[1]" + needed);
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

/// Layer 1 of the golden qwen3_moe as a GGUF of one layer, its experts stacked.
class StackedExperts : public ::testing::Test {
 protected:
  StackedExperts() {
    add("token_embd.weight", "model.embed_tokens.weight");
    add("output_norm.weight", "model.norm.weight");
    add("output.weight", "lm_head.weight");
    for (const auto& [ours, theirs] :
         {std::pair("attn_norm", "input_layernorm"), std::pair("attn_q", "self_attn.q_proj"),
          std::pair("attn_k", "self_attn.k_proj"), std::pair("attn_v", "self_attn.v_proj"),
          std::pair("attn_output", "self_attn.o_proj"),
          std::pair("attn_q_norm", "self_attn.q_norm"),
          std::pair("attn_k_norm", "self_attn.k_norm"),
          std::pair("ffn_norm", "post_attention_layernorm"),
          std::pair("ffn_gate_inp", "mlp.gate")}) {
      add(std::string("blk.0.") + ours + ".weight",
          std::string("model.layers.1.") + theirs + ".weight");
    }
    for (const std::string role : {"gate", "up", "down"}) {
      EditableTensor stack{ElementType::f32, {}, ""};
      for (int expert = 0; expert < 8; ++expert) {
        const EditableTensor& one = checkpoint_.tensors.at(
            "model.layers.1.mlp.experts." + std::to_string(expert) + "." + role + "_proj.weight");
        stack.shape = {8, one.shape[0], one.shape[1]};
        stack.bytes += one.bytes;
      }
      tensors_["blk.0.ffn_" + role + "_exps.weight"] = stack;
    }
  }

  void add(const std::string& ours, const std::string& theirs) {
    tensors_[ours] = checkpoint_.tensors.at(theirs);
  }

  tl::expected<Checkpoint, formats::FileError> open() {
    const auto u32 = [](int value) { return static_cast<std::uint32_t>(value); };
    const formats::GgufMetadata metadata = {{"general.architecture", std::string_view("qwen3moe")},
                                            {"qwen3moe.block_count", u32(1)},
                                            {"qwen3moe.context_length", u32(192)},
                                            {"qwen3moe.embedding_length", u32(32)},
                                            {"qwen3moe.attention.head_count", u32(4)},
                                            {"qwen3moe.attention.head_count_kv", u32(2)},
                                            {"qwen3moe.attention.key_length", u32(10)},
                                            {"qwen3moe.attention.value_length", u32(10)},
                                            {"qwen3moe.attention.layer_norm_rms_epsilon", 1e-3F},
                                            {"qwen3moe.expert_count", u32(8)},
                                            {"qwen3moe.expert_used_count", u32(3)},
                                            {"qwen3moe.expert_feed_forward_length", u32(12)},
                                            {"qwen3moe.vocab_size", u32(96)}};
    std::vector<formats::TensorSpec> specs;
    for (const auto& [name, tensor] : tensors_) specs.push_back({name, tensor.type, tensor.shape});
    auto writer = formats::TensorWriter::gguf(folder_.file("model.gguf"), specs, metadata).value();
    for (const auto& [name, tensor] : tensors_) {
      EXPECT_TRUE(writer.write(std::as_bytes(std::span(tensor.bytes))));
    }
    EXPECT_TRUE(writer.finish());
    return Checkpoint::open(folder_.file("model.gguf"));
  }

  EditableCheckpoint checkpoint_ = EditableCheckpoint::of("qwen3_moe");
  std::map<std::string, EditableTensor> tensors_;
  formats::testing::ScratchFolder folder_;
};

TEST_F(StackedExperts, are_the_experts_of_the_checkpoint) {
  const Checkpoint gguf = open().value();
  const Checkpoint hf = Checkpoint::open(testing::golden("qwen3_moe")).value();
  EXPECT_TRUE(gguf.unused().empty());
  const auto& ours = std::get<model::StoredExperts>(gguf.model().layers[0].mlp);
  const auto& theirs = std::get<model::StoredExperts>(hf.model().layers[1].mlp);
  ASSERT_EQ(ours.experts.size(), 8u);
  const auto rows = [](const linear::StoredLinear& matrix) {
    std::vector<std::vector<float>> out;
    for (int n = 0; n < matrix.outputs; ++n) {
      out.emplace_back(static_cast<std::size_t>(matrix.inputs));
      linear::stored_row(matrix, n, out.back().data());
    }
    return out;
  };
  for (std::size_t expert = 0; expert < 8; ++expert) {
    EXPECT_EQ(rows(ours.experts[expert].gate), rows(theirs.experts[expert].gate));
    EXPECT_EQ(rows(ours.experts[expert].up), rows(theirs.experts[expert].up));
    EXPECT_EQ(rows(ours.experts[expert].down), rows(theirs.experts[expert].down));
    gguf.done_with(ours.experts[expert].down);
  }
}

TEST_F(StackedExperts, of_another_number_are_refused) {
  EditableTensor& stack = tensors_["blk.0.ffn_up_exps.weight"];
  stack.shape[0] = 7;
  stack.bytes.resize(stack.bytes.size() / 8 * 7);
  EXPECT_EQ(to_string(open().error()),
            folder_.file("model.gguf") +
                ": tensor 'blk.0.ffn_up_exps.weight': is F32[7, 12, 32]; needed is a type of "
                "weights, [8, 12, 32]");
}

}  // namespace
}  // namespace forge::checkpoint
