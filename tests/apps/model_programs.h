// What tests of forge-model have in common.
#pragma once

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "apps/programs.h"
#include "dump_file.h"
#include "forge/checkpoint/checkpoint.h"
#include "forge/formats/tensor_writer.h"
#include "model_facts.h"

namespace forge::testing {

inline Outcome forge_model(const std::string& arguments) {
  return run(FORGE_MODEL " " + arguments);
}

/// A folder of tests/golden/models.
inline std::string golden(const std::string& name) {
  return FORGE_SOURCE_DIR "/tests/golden/models/" + name;
}

class ModelProgramTest : public ProgramTest {
 protected:
  /// Runs a command that must succeed. Returns: what it prints.
  static std::string write_model(const std::string& arguments) {
    const Outcome outcome = forge_model(arguments);
    EXPECT_EQ(outcome.status, 0) << arguments << '\n' << outcome.output;
    return outcome.output;
  }

  static nlohmann::json info(const std::string& model) {
    const Outcome outcome = forge_model("info --json " + model);
    EXPECT_EQ(outcome.status, 0) << outcome.output;
    return nlohmann::json::parse(outcome.output, nullptr, false);
  }

  /// What `dump` computes for these tokens.
  apps::Dump dump(const std::string& model, const std::vector<std::uint32_t>& tokens,
                  const std::string& points) const {
    const std::string out = path("points.safetensors");
    write_model("dump --force " + model + " --tokens " + list(tokens) + " --points " + points +
                " --out " + out);
    const auto found = apps::read_dump(out);
    EXPECT_TRUE(found.has_value()) << found.error();
    return *found;
  }

  /// The token of the largest logit at each position.
  std::vector<std::uint32_t> best_tokens(const std::string& model,
                                         const std::vector<std::uint32_t>& tokens) const {
    const apps::Dump found = dump(model, tokens, "logits");
    std::vector<std::uint32_t> best;
    for (std::uint64_t row = 0; row < found.points.front().rows; ++row) {
      const auto width = static_cast<std::ptrdiff_t>(found.points.front().width);
      const auto first =
          found.points.front().values.begin() + static_cast<std::ptrdiff_t>(row) * width;
      best.push_back(static_cast<std::uint32_t>(std::max_element(first, first + width) - first));
    }
    return best;
  }

  /// "1,2,3"
  static std::string list(const std::vector<std::uint32_t>& tokens) {
    std::string text;
    for (const std::uint32_t token : tokens) {
      text += (text.empty() ? "" : ",") + std::to_string(token);
    }
    return text;
  }

  /// path("edited") becomes the golden llama, but for one number of a tensor.
  void edit_tensor(const std::string& name, std::size_t index, float value) const {
    namespace fs = std::filesystem;
    fs::remove_all(path("edited"));
    fs::create_directory(path("edited"));
    fs::copy(golden("llama") + "/config.json", path("edited"));
    const auto file = formats::SafeTensors::open(golden("llama") + "/model.safetensors");
    ASSERT_TRUE(file.has_value());
    std::vector<formats::TensorSpec> specs;
    for (const auto& tensor : file->tensors()) {
      specs.push_back({tensor.name, tensor.type, tensor.shape});
    }
    auto writer = formats::TensorWriter::safetensors(path("edited/model.safetensors"), specs, {});
    ASSERT_TRUE(writer.has_value());
    for (const auto& tensor : file->tensors()) {
      std::vector<std::byte> bytes(tensor.bytes.begin(), tensor.bytes.end());
      if (tensor.name == name) std::memcpy(&bytes[4 * index], &value, sizeof value);
      ASSERT_TRUE(writer->write(bytes).has_value());
    }
    ASSERT_TRUE(writer->finish().has_value());
  }
};

}  // namespace forge::testing
