// Weights that are not finite, and finite ones whose products are not, as a user of the server
// meets them.
#include <cstring>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "apps/programs.h"
#include "apps/server_process.h"
#include "forge/formats/safetensors.h"
#include "serve/http_client.h"

namespace forge::testing {
namespace {

using nlohmann::json;
using test::HttpClient;

constexpr int kHidden = 32;
constexpr int kDimension = 7;  ///< that is 0 in the hidden state of all tokens but one
constexpr unsigned char kTrigger = '~';

/// A small model of random weights, to be changed.
class OverflowingModel : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    const json config = {
        {"model_type", "llama"},    {"hidden_size", kHidden},         {"num_hidden_layers", 2},
        {"num_attention_heads", 4}, {"num_key_value_heads", 2},       {"intermediate_size", 64},
        {"vocab_size", 257},        {"max_position_embeddings", 128}, {"rms_norm_eps", 1e-5}};
    std::ofstream(path("config.json")) << config;
    const Outcome made =
        run(FORGE_MODEL " random --type F32 --config " + path("config.json") + " " + path("m"));
    ASSERT_EQ(made.status, 0) << made.output;
  }

  /// Sets numbers of a tensor by their row and column.
  void change(const std::string& name, const std::function<void(int, int, float&)>& edit) const {
    const std::string file = path("m/model.safetensors");
    std::vector<float> numbers;
    std::uint64_t offset = 0;
    int columns = 0;
    {
      const auto tensors = formats::SafeTensors::open(file);
      ASSERT_TRUE(tensors.has_value());
      const formats::Tensor* const tensor = tensors->find(name);
      ASSERT_NE(tensor, nullptr) << name;
      offset = tensor->offset;
      columns = static_cast<int>(tensor->shape.back());
      numbers.resize(tensor->bytes.size() / sizeof(float));
      std::memcpy(numbers.data(), tensor->bytes.data(), tensor->bytes.size());
    }
    for (int i = 0; i < static_cast<int>(numbers.size()); ++i) {
      edit(i / columns, i % columns, numbers[static_cast<std::size_t>(i)]);
    }
    std::fstream out(file, std::ios::binary | std::ios::in | std::ios::out);
    out.seekp(static_cast<std::streamoff>(offset));
    out.write(reinterpret_cast<const char*>(numbers.data()),
              static_cast<std::streamsize>(numbers.size() * sizeof(float)));
    ASSERT_TRUE(out.flush().good());
  }

  /// From now on a text with the trigger overflows in the first layer's MLP: its weights are as
  /// large as floats are, in a dimension that other tokens do not have.
  void overflow_after_the_trigger() const {
    change("model.embed_tokens.weight", [](int token, int column, float& x) {
      if (column == kDimension) x = token == kTrigger + 1 ? 1000 : 0;
    });
    change("model.layers.0.self_attn.o_proj.weight", [](int row, int, float& x) {
      if (row == kDimension) x = 0;
    });
    change("model.layers.0.mlp.up_proj.weight", [](int, int column, float& x) {
      if (column == kDimension) x = 3e38F;
    });
  }

  static json body(const std::string& prompt) {
    return {{"model", "m"}, {"prompt", prompt}, {"max_tokens", 20}, {"temperature", 0}};
  }

  static std::string text_of(const HttpClient::Response& response) {
    EXPECT_EQ(response.status, 200u) << response.body;
    return response.json()["choices"][0]["text"];
  }
};

TEST_F(OverflowingModel, a_weight_that_is_no_number_is_named_and_nothing_is_served) {
  change("model.layers.1.mlp.down_proj.weight", [](int row, int column, float& x) {
    if (row == 3 && column == 17) x = std::numeric_limits<float>::quiet_NaN();
  });
  const Outcome outcome = run(FORGE_INFER " --model " + path("m"));
  EXPECT_EQ(outcome.status, 1);
  EXPECT_NE(outcome.output.find("m/model.safetensors: tensor "
                                "'model.layers.1.mlp.down_proj.weight': has nan at [3, 17]; "
                                "accepted are finite numbers"),
            std::string::npos)
      << outcome.output;
}

TEST_F(OverflowingModel, a_text_that_overflows_is_an_error_of_its_own_request) {
  overflow_after_the_trigger();
  for (const std::string drafts : {"0", "3"}) {
    const ServerProcess server({"--model", path("m"), "--speculative", drafts});
    const std::string before = text_of(server.complete(body("a text")));
    for (int i = 0; i < 3; ++i) {  // with and without its prefix in the cache
      const auto failed = server.complete(body("a text with ~ in it"));
      EXPECT_EQ(failed.status, 500u);
      EXPECT_NE(failed.json()["error"]["message"].get<std::string>().find(
                    "the logits are not finite at position 19"),
                std::string::npos)
          << failed.body;
    }
    EXPECT_EQ(text_of(server.complete(body("a text"))), before);
    EXPECT_EQ(server.health().status, 200u);
  }
}

TEST_F(OverflowingModel, a_stream_that_overflows_ends_with_an_error) {
  overflow_after_the_trigger();
  const ServerProcess server({"--model", path("m")});
  json streamed = body("~");
  streamed["stream"] = true;
  const auto response = server.complete(streamed);
  EXPECT_NE(response.body.find("the logits are not finite at position 1"), std::string::npos)
      << response.body;
  EXPECT_EQ(response.body.find("[DONE]"), std::string::npos);
}

}  // namespace
}  // namespace forge::testing
