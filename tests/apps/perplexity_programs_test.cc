// What a model makes of a text: perplexity, and quantizing by how large its activations are there.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "apps/model_programs.h"
#include "calibration.h"
#include "text_windows.h"
#include "token_pass.h"

namespace forge::testing {
namespace {

const std::string kText =
    "One day, Lily and Ben went to the park. They saw a big dog. The dog was happy to see them. "
    "Lily gave the dog a ball, and the dog ran after it.";

class Perplexity : public ModelProgramTest {
 protected:
  Perplexity() { std::ofstream(path("text")) << kText; }

  static std::vector<std::uint32_t> tokens() {
    const auto checkpoint = checkpoint::Checkpoint::open(FORGE_TALES).value();
    return apps::tokens_of_text(checkpoint, FORGE_TALES, kText).value();
  }

  static double number_after(const std::string& text, const std::string& word) {
    const auto at = text.find(word);
    EXPECT_NE(at, text.npos) << text;
    return std::stod(text.substr(at + word.size()));
  }
};

TEST_F(Perplexity, is_the_exponential_of_the_mean_negative_logarithm) {
  const std::vector<std::uint32_t> all = tokens();
  const apps::Dump found = dump(FORGE_TALES, all, "logits");
  const apps::DumpedPoint& logits = found.points.front();
  double sum = 0;
  for (std::size_t i = 1; i < all.size(); ++i) {
    const float* const row = logits.values.data() + (i - 1) * logits.width;
    double exponentials = 0;
    for (std::size_t v = 0; v < logits.width; ++v) exponentials += std::exp(double{row[v]});
    sum -= std::log(std::exp(double{row[all[i]]}) / exponentials);
  }
  const double expected = std::exp(sum / static_cast<double>(all.size() - 1));
  const std::string printed = write_model("perplexity " FORGE_TALES " " + path("text"));
  EXPECT_NEAR(number_after(printed, "perplexity "), expected, 1e-4 * expected);
  EXPECT_EQ(number_after(printed, " of "), static_cast<double>(all.size() - 1));
}

TEST_F(Perplexity, every_token_is_predicted_once_whatever_the_window) {
  for (const std::size_t count : {2U, 3U, 7U, 8U, 9U, 100U}) {
    for (const std::size_t size : {2U, 3U, 4U, 5U, 8U, 200U}) {
      std::size_t next = 1;
      for (const apps::TextWindow& window : apps::windows_of(count, size)) {
        EXPECT_EQ(window.scored, next) << count << " in " << size;
        EXPECT_LT(window.first, window.scored);
        EXPECT_LE(window.end - window.first, size);
        EXPECT_GT(window.end, window.scored);
        EXPECT_TRUE(window.first == 0 || window.scored - window.first >= size / 2);
        next = window.end;
      }
      EXPECT_EQ(next, count) << count << " in " << size;
    }
  }
  const std::string printed = write_model("perplexity --window 16 " FORGE_TALES " " + path("text"));
  EXPECT_EQ(number_after(printed, " of "), static_cast<double>(tokens().size() - 1));
}

TEST_F(Perplexity, what_cannot_be_measured_is_named) {
  std::ofstream(path("empty")) << "";
  const auto expect_unusable = [](const std::string& arguments, const std::string& part) {
    const Outcome outcome = forge_model(arguments);
    EXPECT_EQ(outcome.status, 2) << arguments;
    EXPECT_NE(outcome.output.find(part), outcome.output.npos) << outcome.output;
  };
  expect_unusable("perplexity " FORGE_TALES " " + path("nowhere"), "nowhere' cannot be read");
  expect_unusable("perplexity " FORGE_TALES " " + path("empty"), "tokens; accepted are 2 and more");
  expect_unusable("perplexity --window 1000000 " FORGE_TALES " " + path("text"),
                  "--window 1000000: accepted are 2 to ");
  expect_unusable("perplexity " + golden("qwen3") + " " + path("text"), "TEXT: ");
  expect_unusable(
      "quantize --type Q4_0 --calibrate " + path("nowhere") + " " FORGE_TALES " " + path("q.gguf"),
      "--calibrate: '");
}

TEST_F(Perplexity, calibration_keeps_mean_squares_of_inputs) {
  const auto checkpoint = checkpoint::Checkpoint::open(FORGE_TALES).value();
  const std::vector<std::uint32_t> all = tokens();
  apps::TokenPass pass = apps::TokenPass::open(checkpoint, 1).value();
  apps::Calibration calibration(checkpoint.config());
  calibration.add(pass, all, 24);  // in windows, which are added up
  const auto tensors =
      file_tensors(checkpoint.config(), checkpoint.model(), checkpoint::ModelFormat::safetensors);
  const checkpoint::Importance importance = calibration.importance(tensors);
  EXPECT_TRUE(importance.contains("layers.0.attention.query"));
  EXPECT_TRUE(importance.contains("layers.0.attention.output"));
  EXPECT_TRUE(importance.contains("layers.1.feed_forward.down"));
  EXPECT_EQ(importance.at("layers.0.attention.query"), importance.at("layers.0.attention.value"));

  // The head's input is a point that every observer is shown.
  std::vector<double> squares(static_cast<std::size_t>(checkpoint.config().hidden_size));
  for (std::size_t first = 0; first < all.size(); first += 24) {
    const auto part = std::span(all).subspan(first, std::min<std::size_t>(24, all.size() - first));
    pass.run(part, [&](const model::Observation& seen) {
      if (seen.point != model::ForwardPoint::final_norm) return;
      for (std::size_t i = 0; i < seen.values.size(); ++i) {
        squares[i % squares.size()] += double{seen.values[i]} * seen.values[i];
      }
    });
  }
  double mean = 0;
  for (const double square : squares) mean += square / static_cast<double>(squares.size());
  const auto& head = importance.at(checkpoint.config().tied_head ? "embedding" : "head");
  for (std::size_t i = 0; i < squares.size(); ++i) {
    EXPECT_NEAR(head[i], std::clamp(squares[i] / mean, 0x1p-10, 0x1p+10), 1e-5 * head[i]);
  }
}

TEST_F(Perplexity, a_calibrated_model_is_another_one_and_says_by_what) {
  const std::string to = " " FORGE_TALES " " + path("q.gguf");
  write_model("quantize --type Q4_0" + to);
  const std::string plain = read_file(path("q.gguf"));
  const std::string printed =
      write_model("quantize --force --type Q4_0 --calibrate " + path("text") + to);
  EXPECT_NE(read_file(path("q.gguf")), plain);
  EXPECT_NE(printed.find("count by their inputs on " + std::to_string(tokens().size())),
            printed.npos)
      << printed;
  EXPECT_LT(
      number_after(write_model("perplexity " + path("q.gguf") + " " + path("text")), "perplexity "),
      1.5 * number_after(write_model("perplexity " FORGE_TALES " " + path("text")), "perplexity "));
}

}  // namespace
}  // namespace forge::testing
