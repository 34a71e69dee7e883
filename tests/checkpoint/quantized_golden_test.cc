// Quantized checkpoints that the packages of users have made, against what these packages read in
// them: tests/golden/quantized, whose README says how it was made.
#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <variant>

#include "checkpoint/checkpoint_edit.h"
#include "checkpoint/golden_logits.h"
#include "forge/checkpoint/file_tensors.h"
#include "model/transformer_runner.h"

namespace forge::checkpoint {
namespace {

using linear::StoredLinear;

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
  testing::expect_golden_logits(checkpoint_, golden_);
}

INSTANTIATE_TEST_SUITE_P(Forms, QuantizedGolden,
                         ::testing::Values("fp8_blocks", "fp8_blocks_ragged", "fp8_rows", "gptq_4",
                                           "gptq_v2_4_ordered", "gptq_8", "gptq_v2_8", "packed_4",
                                           "packed_4_zeros", "packed_8", "packed_8_zeros"),
                         [](const auto& form) { return std::string(form.param); });

}  // namespace
}  // namespace forge::checkpoint
