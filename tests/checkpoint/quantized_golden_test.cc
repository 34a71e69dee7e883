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

/// The rows of the tensor `name` of SafeTensors, of one matrix or of several.
class Rows {
 public:
  Rows(const std::vector<FileTensor>& tensors, const std::string& name) {
    const auto found = std::ranges::find_if(
        tensors, [&](const FileTensor& tensor) { return tensor.spec.name == name; });
    EXPECT_NE(found, tensors.end()) << name;
    for (const WeightRows& part : found->parts) {
      EXPECT_FALSE(std::holds_alternative<linear::StoredRows>(part.matrix->form)) << name;
      matrices_.push_back(part.matrix);
    }
  }

  int count() const {
    int count = 0;
    for (const StoredLinear* const matrix : matrices_) count += matrix->outputs;
    return count;
  }

  std::vector<float> operator[](int row) const {
    auto matrix = matrices_.begin();
    for (; row >= (*matrix)->outputs; ++matrix) row -= (*matrix)->outputs;
    std::vector<float> out(static_cast<std::size_t>((*matrix)->inputs));
    stored_row(**matrix, row, out.data());
    return out;
  }

 private:
  std::vector<const StoredLinear*> matrices_;
};

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
  const bool is_fused = std::string(GetParam()).ends_with("_fused");
  EXPECT_EQ(golden_["matrices"].size(), is_fused ? 4U : 7U);
  for (const auto& [name, expected] : golden_["matrices"].items()) {
    const Rows rows(tensors, name);
    const std::vector<float> row = rows[expected["row"].get<int>()];
    for (std::size_t k = 0; k < expected["numbers"].size(); ++k) {
      EXPECT_EQ(row[k], expected["numbers"][k].get<float>()) << name << " " << k;
    }
    std::uint32_t crc = 0;
    for (int n = 0; n < rows.count(); ++n) crc = crc32(rows[n], crc);
    EXPECT_EQ(crc, expected["crc32"].get<std::uint32_t>()) << name;
  }
}

TEST_P(QuantizedGolden, logits_are_those_of_transformers_in_double_precision) {
  testing::expect_golden_logits(checkpoint_, golden_);
}

TEST(CopiesOfMatrices, are_given_back_one_by_one_while_they_are_packed) {
  for (const std::string& path :
       {quantized("gptq_4_fused"), quantized("packed_4_zeros_fused"), testing::golden("gpt_oss"),
        testing::golden("gpt_oss_codes_mxfp4")}) {
    Checkpoint checkpoint = testing::opened(path);
    linear::ThreadPool threads(1);
    CheckpointReader reader(checkpoint, checkpoint);
    auto packed = pack(checkpoint.config(), checkpoint.model(), threads, {.reader = &reader});
    ASSERT_TRUE(packed) << path;
    const model::Transformer frugal(checkpoint.config(), *std::move(packed));
    const testing::LoadedModel usual(path);
    const std::vector<TokenId> tokens = {TokenId{3}, TokenId{40}, TokenId{17}};
    EXPECT_EQ(testing::logits_alone(frugal, tokens),
              testing::logits_alone(usual.transformer(), tokens))
        << path;
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, QuantizedGolden,
                         ::testing::Values("fp8_blocks", "fp8_blocks_ragged", "fp8_rows", "gptq_4",
                                           "gptq_v2_4_ordered", "gptq_8", "gptq_v2_8", "packed_4",
                                           "packed_4_zeros", "packed_8", "packed_8_zeros",
                                           "fp8_blocks_fused", "fp8_rows_fused", "gptq_4_fused",
                                           "packed_4_zeros_fused"),
                         [](const auto& form) { return std::string(form.param); });

}  // namespace
}  // namespace forge::checkpoint
