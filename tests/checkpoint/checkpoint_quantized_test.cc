// Quantized layers in a checkpoint: which tensors make one, what it borrows, and stacks of experts.
#include <gtest/gtest.h>

#include <cmath>

#include "checkpoint/quantized_checkpoint.h"
#include "forge/formats/tensor_writer.h"
#include "forge/model/packed_model.h"

namespace forge::checkpoint {
namespace {

using formats::ElementType;
using testing::EditableCheckpoint;
using testing::EditableTensor;
using testing::floats;
using testing::numbers;
using testing::QuantizedCheckpoint;

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
      const auto stored = static_cast<std::uint32_t>(second ? zero : zero - 1);
      const auto word = static_cast<std::int32_t>(0x01010101U * stored);
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
    for (const auto& [bad, shown] :
         {std::pair(0x7e00, "nan"), std::pair(0x7c00, "inf"), std::pair(0xfc00, "-inf")}) {
      llama_ = EditableCheckpoint::of("llama");
      quantize(method);
      std::vector<std::uint16_t> scales(kGroups * kOutputs, 0x3c00);
      scales[kOutputs + 9] = static_cast<std::uint16_t>(bad);
      set(".scales", numbers(ElementType::f16, {kGroups, kOutputs}, scales));
      down();
      linear::ThreadPool threads(1);
      const auto packed = pack(checkpoint_->config(), checkpoint_->model(), threads);
      ASSERT_FALSE(packed.has_value());
      EXPECT_EQ(to_string(checkpoint_->error_of(packed.error())),
                folder_.file("model.safetensors") +
                    ": tensor 'model.layers.0.mlp.down_proj.scales': has " + shown +
                    " at [1, 9]; accepted are finite numbers");
    }
  }
}

TEST_F(QuantizedCheckpoint, scales_of_gptq_and_awq_may_be_negative_or_zero) {
  for (const char* const method : {"gptq", "awq"}) {
    llama_ = EditableCheckpoint::of("llama");
    quantize(method);
    std::vector<float> plain(kInputs);
    linear::stored_row(down(), 9, plain.data());
    std::vector<std::uint16_t> scales(kGroups * kOutputs, 0x3c00);
    scales[9] = 0xb800;  // -0.5
    scales[kOutputs + 9] = 0;
    set(".scales", numbers(ElementType::f16, {kGroups, kOutputs}, scales));
    std::vector<float> row(kInputs);
    linear::stored_row(down(), 9, row.data());
    for (std::size_t k = 0; k < kInputs; ++k) {
      EXPECT_EQ(row[k], k < 32 ? -0.5F * plain[k] : 0) << method << " " << k;
    }
    linear::ThreadPool threads(1);
    EXPECT_TRUE(pack(checkpoint_->config(), checkpoint_->model(), threads).has_value()) << method;
  }
}

TEST_F(QuantizedCheckpoint, scales_of_int8_rows_that_are_not_finite_are_named) {
  set(".weight", numbers(ElementType::i8, {kOutputs, kInputs}, std::vector<std::int8_t>(64 * 32)));
  std::vector<float> scales(kOutputs, 1);
  scales[30] = -INFINITY;
  set(".weight_scale", floats({kOutputs, 1}, scales));
  EXPECT_EQ(llama_.error(),
            "model.safetensors: tensor 'model.layers.0.mlp.down_proj.weight_scale': has -inf at "
            "[30, 0]; accepted are numbers between -2^120 and 2^120");
}

TEST_F(QuantizedCheckpoint, int8_rows_with_a_scale_each) {
  std::vector<std::int8_t> codes(kOutputs * kInputs);
  for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<std::int8_t>(i * 37);
  std::vector<float> scales(kOutputs);
  for (std::size_t i = 0; i < scales.size(); ++i) scales[i] = 0.25F * static_cast<float>(i + 1);
  scales[6] = -scales[6];
  scales[7] = 0;
  set(".weight", numbers(ElementType::i8, {kOutputs, kInputs}, codes));
  for (const std::vector<std::uint64_t>& shape :
       {std::vector<std::uint64_t>{kOutputs}, std::vector<std::uint64_t>{kOutputs, 1}}) {
    set(".weight_scale", floats(shape, scales));
    const linear::StoredLinear layer = down();
    std::vector<float> row(kInputs);
    for (const std::size_t n : {5U, 6U, 7U}) {
      linear::stored_row(layer, static_cast<int>(n), row.data());
      for (std::size_t k = 0; k < kInputs; ++k) {
        EXPECT_EQ(row[k], scales[n] * static_cast<float>(codes[n * kInputs + k]));
      }
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
