// What calibration collects, against the inputs that transformers sees in the same models in double
// precision: input_squares.json of tests/golden/models.
#include "calibration.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace forge::apps {
namespace {

nlohmann::json json_of(const std::string& folder, const std::string& file) {
  return nlohmann::json::parse(std::ifstream(FORGE_GOLDEN_MODELS "/" + folder + "/" + file));
}

/// Whose norms are before the sub-layers, after them (OLMo), or around them (GLM-4 and Gemma).
class CalibrationOf : public ::testing::TestWithParam<const char*> {
 protected:
  /// The importance of all matrices by one pass over the tokens of the model's golden.json.
  checkpoint::Importance importance() {
    const std::vector<std::uint32_t> tokens = json_of(GetParam(), "golden.json")["tokens"];
    TokenPass pass = TokenPass::open(checkpoint_, 1).value();
    Calibration calibration(checkpoint_.config());
    calibration.add(pass, tokens, tokens.size());
    return calibration.importance(tensors_);
  }

  const checkpoint::Checkpoint checkpoint_ =
      checkpoint::Checkpoint::open(FORGE_GOLDEN_MODELS "/" + std::string(GetParam())).value();
  const std::vector<checkpoint::FileTensor> tensors_ = checkpoint::file_tensors(
      checkpoint_.config(), checkpoint_.model(), checkpoint::ModelFormat::safetensors);
};

/// Mean squares over the mean of all.
std::vector<double> relative(std::vector<double> squares) {
  double mean = 0;
  for (const double square : squares) mean += square / static_cast<double>(squares.size());
  for (double& square : squares) square = std::clamp(square / mean, 0x1p-10, 0x1p+10);
  return squares;
}

void expect_near(const std::vector<float>& found, const std::vector<double>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_NEAR(found[i], expected[i], 1e-4 * expected[i]) << i;
  }
}

TEST_P(CalibrationOf, every_linear_layer_sees_the_mean_squares_of_its_own_inputs) {
  const checkpoint::Importance importance = this->importance();
  const nlohmann::json squares = json_of(GetParam(), "input_squares.json");
  std::size_t seen = 0;
  for (const checkpoint::FileTensor& tensor : tensors_) {
    std::string layer = tensor.spec.name.substr(0, tensor.spec.name.find(".weight"));
    if (checkpoint_.config().tied_head && layer == "model.embed_tokens") layer = "lm_head";
    if (!squares.contains(layer)) continue;
    ++seen;
    for (const checkpoint::WeightRows& part : tensor.parts) {  // several, where it is fused
      SCOPED_TRACE(layer + ", " + part.role);
      ASSERT_TRUE(importance.contains(part.role));
      expect_near(importance.at(part.role), relative(squares[layer]));
    }
  }
  EXPECT_EQ(seen, squares.size());
}

INSTANTIATE_TEST_SUITE_P(Norms, CalibrationOf,
                         ::testing::Values("llama", "olmo2", "olmo3", "glm4", "gemma2", "gemma3"),
                         [](const auto& model) { return std::string(model.param); });

}  // namespace
}  // namespace forge::apps
