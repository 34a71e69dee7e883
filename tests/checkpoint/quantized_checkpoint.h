// QuantizedCheckpoint: a checkpoint with one layer in a quantized form, for tests of each form.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/checkpoint_edit.h"
#include "forge/checkpoint/checkpoint.h"

namespace forge::testing {

inline constexpr const char* kDown = "model.layers.0.mlp.down_proj";

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
    set(".scales", numbers(formats::ElementType::f16, {kGroups, kOutputs},
                           std::vector<std::uint16_t>(kGroups * kOutputs, 0x3c00)));
  }

  void pack_quantize(bool symmetric) {
    llama_ = EditableCheckpoint::of("llama");
    llama_.config["quantization_config"] = nlohmann::json::parse(R"({
        "quant_method": "compressed-tensors", "format": "pack-quantized", "config_groups": {"a": {
          "weights": {"num_bits": 4, "type": "int", "strategy": "group", "group_size": 32}}}})");
    llama_.config["quantization_config"]["config_groups"]["a"]["weights"]["symmetric"] = symmetric;
    drop(".weight");
    set(".weight_packed", integers({kOutputs, kInputs / 8}));
    set(".weight_scale", floats({kOutputs, kGroups}, std::vector<float>(kOutputs * kGroups, 1)));
    set(".weight_shape",
        numbers(formats::ElementType::i64, {2}, std::vector<std::int64_t>{kOutputs, kInputs}));
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
    return numbers(formats::ElementType::i32, shape, values);
  }

  void set_order(const std::vector<std::int32_t>& order) {
    set(".g_idx", numbers(formats::ElementType::i32, {order.size()}, order));
  }

  /// Opens it and returns the layer, with the checkpoint that it borrows from.
  linear::StoredLinear down() {
    llama_.write(folder_);
    checkpoint_.emplace(checkpoint::Checkpoint::open(folder_.path()).value());
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
  std::optional<checkpoint::Checkpoint> checkpoint_;
};

}  // namespace forge::testing
