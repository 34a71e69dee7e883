// Quantized checkpoints that the packages of users have made, against what these packages read in
// them: tests/golden/quantized, whose README says how it was made.
#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <variant>

#include "checkpoint/checkpoint_edit.h"
#include "forge/checkpoint/file_tensors.h"
#include "model/stored_weights.h"
#include "model/transformer_runner.h"

namespace forge::checkpoint {
namespace {

using linear::StoredLinear;
using testing::Logits;

std::string quantized(const std::string& name) { return FORGE_GOLDEN_QUANTIZED "/" + name; }

/// The matrix that has the name `name` in SafeTensors.
const StoredLinear& matrix_of(const std::vector<FileTensor>& tensors, const std::string& name) {
  const auto found = std::ranges::find_if(
      tensors, [&](const FileTensor& tensor) { return tensor.spec.name == name; });
  EXPECT_NE(found, tensors.end()) << name;
  EXPECT_EQ(found->parts.size(), 1U) << name;
  return *found->parts.front().matrix;
}

std::vector<float> row_of(const StoredLinear& matrix, int row) {
  std::vector<float> out(static_cast<std::size_t>(matrix.inputs));
  stored_row(matrix, row, out.data());
  return out;
}

/// CRC-32 as zlib has it, of the numbers' bytes; `crc` is that of what comes before.
std::uint32_t crc32(std::span<const float> numbers, std::uint32_t crc) {
  crc = ~crc;
  for (const std::byte byte : std::as_bytes(numbers)) {
    crc ^= std::to_integer<std::uint32_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1) != 0 ? 0xEDB88320U : 0U);
  }
  return ~crc;
}

class QuantizedGolden : public ::testing::TestWithParam<const char*> {
 protected:
  const nlohmann::json golden_ = testing::json_file(quantized("golden.json"))[GetParam()];
  const Checkpoint checkpoint_ = testing::opened(quantized(GetParam()));
};

TEST_P(QuantizedGolden, every_weight_is_what_its_package_reads_bit_by_bit) {
  EXPECT_TRUE(checkpoint_.unused().empty());
  const auto tensors =
      file_tensors(checkpoint_.config(), checkpoint_.model(), ModelFormat::safetensors);
  EXPECT_EQ(golden_["matrices"].size(), 7U);
  for (const auto& [name, expected] : golden_["matrices"].items()) {
    const StoredLinear& matrix = matrix_of(tensors, name);
    EXPECT_FALSE(std::holds_alternative<linear::StoredRows>(matrix.form)) << name;
    const std::vector<float> row = row_of(matrix, expected["row"].get<int>());
    for (std::size_t k = 0; k < expected["numbers"].size(); ++k) {
      EXPECT_EQ(row[k], expected["numbers"][k].get<float>()) << name << " " << k;
    }
    std::uint32_t crc = 0;
    for (int n = 0; n < matrix.outputs; ++n) crc = crc32(row_of(matrix, n), crc);
    EXPECT_EQ(crc, expected["crc32"].get<std::uint32_t>()) << name;
  }
}

TEST_P(QuantizedGolden, logits_are_those_of_transformers_in_double_precision) {
  linear::ThreadPool threads(1);
  testing::StoredWeights weights;  // as floats, so that nothing rounds activations to bf16
  const model::Transformer transformer(
      checkpoint_.config(),
      pack(checkpoint_.config(), weights.converted(checkpoint_.model(), quant::WeightType::f32),
           threads)
          .value());
  std::vector<TokenId> tokens;
  for (const auto& token : golden_["tokens"]) tokens.emplace_back(token.get<std::uint32_t>());
  const std::vector<Logits> rows = testing::logits_alone(transformer, tokens);
  // A float32 pass in another order errs like the one that was measured (models/README.md).
  const double tolerance = 4 * golden_["float32_error"].get<double>();
  for (std::size_t i = 0; i < golden_["positions"].size(); ++i) {
    const Logits& row = rows[golden_["positions"][i].get<std::size_t>()];
    ASSERT_EQ(row.size(), golden_["logits"][i].size());
    for (std::size_t v = 0; v < row.size(); ++v) {
      ASSERT_NEAR(row[v], golden_["logits"][i][v].get<double>(), tolerance) << i << " " << v;
    }
  }
  for (std::size_t position = 0; position < rows.size(); ++position) {
    EXPECT_EQ(testing::argmax(rows[position]), golden_["argmax"][position].get<std::uint32_t>())
        << position;
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, QuantizedGolden,
                         ::testing::Values("fp8_blocks", "fp8_blocks_ragged", "fp8_rows", "gptq_4",
                                           "gptq_v2_4_ordered", "gptq_8", "gptq_v2_8", "packed_4",
                                           "packed_4_zeros", "packed_8", "packed_8_zeros"),
                         [](const auto& form) { return std::string(form.param); });

}  // namespace
}  // namespace forge::checkpoint
