// The tokenizer over HTTP, as clients of vLLM, llama.cpp and lm-eval use it. The server's tokenizer
// is of bytes: "Hi" is 73 and 106.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "serve/test_server.h"
#include "serve/wrapped_tokenizer.h"

namespace forge::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

/// A tokenizer of bytes without one for '!'.
class NoMarkTokenizer final : public WrappedTokenizer {
 public:
  text::EncodedText encode(std::string_view text, text::EncodeOptions options) const override {
    if (text.find('!') != text.npos) return tl::unexpected(text::MissingByte{'!'});
    return WrappedTokenizer::encode(text, options);
  }
};

class HttpTokenizer : public ::testing::Test {
 protected:
  json asked(const std::string& path, const json& body) {
    const auto response = client_.post(path, body);
    EXPECT_EQ(response.status, 200U) << response.body;
    return response.json();
  }
  std::string refusal(const std::string& path, const json& body, unsigned status = 400) {
    const auto response = client_.post(path, body);
    EXPECT_EQ(response.status, status) << response.body;
    return response.json()["error"]["message"];
  }

  NoMarkTokenizer tokenizer_;
  TestServer server_{{.tokenizer = &tokenizer_}};
  HttpClient client_{server_.port()};
};

TEST_F(HttpTokenizer, gives_tokens_as_vllm_does) {
  json answer =
      asked("/tokenize", {{"model", "fake"}, {"prompt", "Hi"}, {"add_special_tokens", false}});
  EXPECT_TRUE(answer["max_model_len"].is_number_unsigned());
  answer.erase("max_model_len");
  EXPECT_EQ(answer, json({{"count", 2}, {"tokens", {73, 106}}, {"token_strs", nullptr}}));
  EXPECT_EQ(asked("/tokenize", {{"prompt", "Hi"}, {"return_token_strs", true}})["token_strs"],
            json({"H", "i"}));
  EXPECT_EQ(asked("/tokenize", {{"prompt", ""}})["count"], 0) << "an empty text has no tokens";
}

TEST_F(HttpTokenizer, gives_tokens_of_messages) {
  const json messages = json::array({{{"role", "user"}, {"content", "Hi"}}});
  const auto text_of = [&](const json& body) {
    return asked("/detokenize", {{"tokens", asked("/tokenize", body)["tokens"]}})["prompt"]
        .get<std::string>();
  };
  EXPECT_THAT(text_of({{"messages", messages}}), HasSubstr("Hi"));
  EXPECT_GT(text_of({{"messages", messages}}).size(),
            text_of({{"messages", messages}, {"add_generation_prompt", false}}).size());
}

TEST_F(HttpTokenizer, gives_tokens_as_llama_cpp_does) {
  EXPECT_EQ(asked("/tokenize", {{"content", "Hi"}}), json({{"tokens", {73, 106}}}));
  EXPECT_EQ(
      asked("/tokenize", {{"content", "\u00e9"}, {"add_special", true}, {"with_pieces", true}}),
      json::parse(R"({"tokens": [{"id": 196, "piece": [195]}, {"id": 170, "piece": [169]}]})"));
}

TEST_F(HttpTokenizer, gives_text_by_both_names) {
  EXPECT_EQ(asked("/detokenize", {{"tokens", {73, 106}}}),
            json({{"prompt", "Hi"}, {"content", "Hi"}}));
  EXPECT_EQ(asked("/detokenize", {{"tokens", json::array()}})["prompt"], "");
  EXPECT_EQ(asked("/detokenize", {{"tokens", {196}}})["prompt"], "\uFFFD") << "half a character";
}

TEST_F(HttpTokenizer, says_what_remote_tokenizers_ask) {
  const json info = client_.get("/tokenizer_info").json();
  for (const char* name : {"bos_token", "eos_token", "pad_token"}) {
    EXPECT_TRUE(info.contains(name)) << name;
  }
  EXPECT_TRUE(info["chat_template"].is_string());
}

TEST_F(HttpTokenizer, refuses_by_name) {
  EXPECT_EQ(refusal("/tokenize", {{"prompt", "Hi!"}}),
            "prompt cannot become tokens: the vocabulary has no token for the byte 33");
  EXPECT_EQ(refusal("/v1/completions", {{"model", "fake"}, {"prompt", "Hi!"}}),
            "prompt cannot become tokens: the vocabulary has no token for the byte 33");
  EXPECT_THAT(refusal("/tokenize", json::object()), HasSubstr("there are 0 of prompt, content"));
  EXPECT_THAT(refusal("/tokenize", {{"prompt", "a"}, {"content", "b"}}),
              HasSubstr("there are 2 of prompt, content"));
  EXPECT_THAT(refusal("/tokenize", {{"prompt", 3}}), HasSubstr("prompt is 3"));
  EXPECT_THAT(refusal("/detokenize", {{"tokens", {1, 320}}}),
              HasSubstr("tokens has the token id 320; accepted is"));
  EXPECT_THAT(refusal("/detokenize", {{"tokens", {1}}, {"prompt", "x"}}),
              HasSubstr("unknown field 'prompt'"));
  EXPECT_THAT(refusal("/tokenize", {{"prompt", "x"}, {"model", "other"}}, 404),
              HasSubstr("the model 'other' does not exist"));
}

}  // namespace
}  // namespace forge::test
