// The writers of openai_api.h: whole bodies, compared as text.
#include <gtest/gtest.h>

#include "forge/serve/api_error.h"
#include "forge/serve/openai_api.h"

namespace forge::serve {
namespace {

const AnswerHead kHead{.id = "cmpl-1", .created = 5, .model = "m"};

TEST(OpenAiResponse, a_completion_has_choices_and_usage) {
  const std::vector<Choice> choices = {
      {.text = "ab", .completion_tokens = 2, .finish = FinishReason::length},
      {.text = "\"\n", .completion_tokens = 3, .finish = FinishReason::eos}};
  EXPECT_EQ(
      answer_json(kHead, choices, {.prompt_tokens = 7, .cached_tokens = 4, .completion_tokens = 5}),
      R"({"id":"cmpl-1","object":"text_completion","created":5,"model":"m","choices":[)"
      R"({"index":0,"text":"ab","logprobs":null,"finish_reason":"length"},)"
      R"({"index":1,"text":"\"\n","logprobs":null,"finish_reason":"stop"}],)"
      R"("usage":{"prompt_tokens":7,"completion_tokens":5,"total_tokens":12,)"
      R"("prompt_tokens_details":{"cached_tokens":4}}})");
}

TEST(OpenAiResponse, a_chunk_has_one_choice_that_is_finished_only_in_the_last) {
  EXPECT_EQ(ChunkWriter(kHead).chunk({.index = 2, .text = "a"}),
            R"({"id":"cmpl-1","object":"text_completion","created":5,"model":"m","choices":[)"
            R"({"index":2,"text":"a","logprobs":null,"finish_reason":null}]})");
  EXPECT_EQ(
      ChunkWriter(kHead).chunk({.text = "", .finish = FinishReason::stop, .usage_follows = true}),
      R"({"id":"cmpl-1","object":"text_completion","created":5,"model":"m","choices":[)"
      R"({"index":0,"text":"","logprobs":null,"finish_reason":"stop"}],"usage":null})");
}

TEST(OpenAiResponse, a_request_out_of_time_says_so) {
  EXPECT_EQ(finish_reason_name(FinishReason::deadline), "deadline");
}

TEST(OpenAiResponse, the_usage_chunk_has_no_choice) {
  EXPECT_EQ(ChunkWriter(kHead).usage({.prompt_tokens = 1, .completion_tokens = 2}),
            R"({"id":"cmpl-1","object":"text_completion","created":5,"model":"m","choices":[],)"
            R"("usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3,)"
            R"("prompt_tokens_details":{"cached_tokens":0}}})");
}

TEST(OpenAiResponse, usage_has_the_drafts_where_something_proposes_them) {
  EXPECT_EQ(ChunkWriter(kHead).usage({.prompt_tokens = 1,
                                      .completion_tokens = 9,
                                      .drafts = {.proposed = 8, .accepted = 6},
                                      .draft_source = "ngram"}),
            R"({"id":"cmpl-1","object":"text_completion","created":5,"model":"m","choices":[],)"
            R"("usage":{"prompt_tokens":1,"completion_tokens":9,"total_tokens":10,)"
            R"("prompt_tokens_details":{"cached_tokens":0},"completion_tokens_details":)"
            R"({"accepted_prediction_tokens":6,"rejected_prediction_tokens":2},)"
            R"("drafts":{"source":"ngram","proposed":8,"accepted":6}}})");
}

TEST(OpenAiResponse, models_are_a_list_of_one) {
  const ModelCard model{.id = "m", .vocabulary_size = 320, .context_tokens = 8, .created = 9};
  EXPECT_EQ(
      model_json(model),
      R"({"id":"m","object":"model","created":9,"owned_by":"forge","root":"m","parent":null,"max_model_len":8})");
  EXPECT_EQ(models_json(model), R"({"object":"list","data":[)" + model_json(model) + "]}");
}

TEST(OpenAiResponse, generate_answers_with_text_and_counts) {
  EXPECT_EQ(answer_json({.kind = RequestKind::generate}, std::vector<Choice>{{.text = "x"}},
                        {.prompt_tokens = 1, .completion_tokens = 2}),
            R"({"text":"x","prompt_tokens":1,"completion_tokens":2})");
}

const AnswerHead kChatHead{
    .kind = RequestKind::chat, .id = "chatcmpl-1", .created = 5, .model = "m"};

TEST(OpenAiResponse, of_chat_is_a_message) {
  const std::vector<Choice> choices = {
      {.text = "Hi", .completion_tokens = 2, .finish = FinishReason::eos}};
  EXPECT_EQ(answer_json(kChatHead, choices, {.prompt_tokens = 7, .completion_tokens = 2}),
            R"({"id":"chatcmpl-1","object":"chat.completion","created":5,"model":"m","choices":[)"
            R"({"index":0,"message":{"role":"assistant","content":"Hi","refusal":null},)"
            R"("logprobs":null,"finish_reason":"stop"}],)"
            R"("usage":{"prompt_tokens":7,"completion_tokens":2,"total_tokens":9,)"
            R"("prompt_tokens_details":{"cached_tokens":0}}})");
}

TEST(OpenAiResponse, a_chunk_of_chat_says_first_whose_it_is) {
  const std::string head =
      R"({"id":"chatcmpl-1","object":"chat.completion.chunk","created":5,"model":"m","choices":[)";
  EXPECT_EQ(ChunkWriter(kChatHead).chunk({.index = 1, .first = true, .text = ""}),
            head + R"({"index":1,"delta":{"role":"assistant","content":""},"logprobs":null,)" +
                R"("finish_reason":null}]})");
  EXPECT_EQ(ChunkWriter(kChatHead).chunk({.text = "a"}),
            head + R"({"index":0,"delta":{"content":"a"},"logprobs":null,"finish_reason":null}]})");
  EXPECT_EQ(ChunkWriter(kChatHead).chunk({.text = "", .finish = FinishReason::length}),
            head + R"({"index":0,"delta":{},"logprobs":null,"finish_reason":"length"}]})");
}

TEST(OpenAiResponse, log_probabilities_of_chat_have_the_bytes_of_tokens) {
  const std::vector<ToldText> told = {
      {.bytes = "\xe2\x82", .logprob = -1.0F, .likely = {{"a", -0.5F}}}};
  EXPECT_EQ(ChunkWriter(kChatHead).chunk({.text = "", .told = told}),
            R"({"id":"chatcmpl-1","object":"chat.completion.chunk","created":5,"model":"m",)"
            R"("choices":[{"index":0,"delta":{},"logprobs":{"content":[)"
            R"({"token":"bytes:\\xe2\\x82","logprob":-1.0,"bytes":[226,130],"top_logprobs":[)"
            R"({"token":"a","logprob":-0.5,"bytes":[97]}]}],"refusal":null},)"
            R"("finish_reason":null}]})");
}

TEST(OpenAiResponse, names_the_fingerprint_of_what_answers) {
  AnswerHead head = kChatHead;
  head.system_fingerprint = "fp_0123456789abcdef";
  const std::string named = R"("model":"m","system_fingerprint":"fp_0123456789abcdef","choices":[)";
  EXPECT_THAT(answer_json(head, {}, {}), ::testing::HasSubstr(named));
  EXPECT_THAT(ChunkWriter(head).chunk({}), ::testing::HasSubstr(named));
  EXPECT_THAT(ChunkWriter(head).usage({}), ::testing::HasSubstr(named));
  head.kind = RequestKind::completions;
  EXPECT_THAT(answer_json(head, {}, {}), ::testing::HasSubstr(named));
}

TEST(OpenAiResponse, an_error_names_field_and_code_or_null) {
  EXPECT_EQ(to_json(ApiError{.status = 400, .message = "no", .param = "n"}),
            R"({"error":{"message":"no","type":"invalid_request_error","param":"n","code":null}})");
}

TEST(OpenAiResponse, bytes_that_are_not_utf8_do_not_reach_an_answer) {
  EXPECT_EQ(to_json(ApiError{.message = "\xff", .code = "c"}),
            "{\"error\":{\"message\":\"\xef\xbf\xbd\",\"type\":\"invalid_request_error\","
            "\"param\":null,\"code\":\"c\"}}");
}

}  // namespace
}  // namespace forge::serve
