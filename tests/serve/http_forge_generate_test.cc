// POST /forge/v1/generate, and the fingerprint in all answers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "forge/cpu/cpu_executor.h"
#include "forge/receipt/receipt.h"
#include "serve/test_server.h"

namespace forge::test {
namespace {

using nlohmann::json;
using receipt::Receipt;

const receipt::Fingerprint kFingerprint{.weights = "of a test", .numerics = "canonical"};

json question(const json& patch = json::object()) {
  json body = {{"model", "fake"}, {"prompt", "Hello"}, {"max_tokens", 6}};
  body.update(patch);
  return body;
}

/// What an answer, or the last event of a stream, has as its receipt.
Receipt receipt_in(const json& answer) {
  const auto parsed = receipt::parse_receipt(answer["receipt"].dump());
  if (!parsed) throw std::runtime_error(parsed.error());
  return *parsed;
}

class HttpForgeGenerate : public ::testing::Test {
 protected:
  json answer(const json& patch = json::object(), const char* path = "/forge/v1/generate") {
    const auto answer = client_.post(path, question(patch));
    EXPECT_EQ(answer.status, 200U) << answer.body;
    return answer.json();
  }
  json error(const json& patch) {
    const auto answer = client_.post("/forge/v1/generate", question(patch));
    EXPECT_EQ(answer.status, 400U) << answer.body;
    return answer.json()["error"];
  }

  cpu::CpuExecutor executor_{{.drafts = 3}, cpu::seeded_cpu_model({}, {.drafts = 3})};
  RunningServer server_{executor_, {.fingerprint = kFingerprint}};
  HttpClient client_{server_.port()};
};

TEST_F(HttpForgeGenerate, answers_with_the_tokens_of_completions_and_what_is_told_of_them) {
  const json own = answer();
  const json completion =
      answer({{"logprobs", 0}, {"forge", {{"flip_risk", true}}}}, "/v1/completions");
  const json& choice = completion["choices"][0];
  EXPECT_EQ(own["object"], "forge.generation");
  EXPECT_EQ(own["text"], choice["text"]);
  EXPECT_EQ(own["logprobs"], choice["logprobs"]["token_logprobs"]);
  EXPECT_EQ(own["flip_risk"], choice["forge"]["flip_risk"]);
  EXPECT_EQ(own["finish_reason"], "length");
  EXPECT_EQ(own["usage"]["completion_tokens"], 6);
  EXPECT_EQ(
      client_.post("/detokenize", {{"model", "fake"}, {"tokens", own["tokens"]}}).json()["prompt"],
      own["text"]);
}

TEST_F(HttpForgeGenerate, has_a_receipt_of_what_was_asked_and_answered) {
  const json whole = answer();
  const Receipt receipt = receipt_in(whole);
  EXPECT_EQ(receipt.model, "fake");
  EXPECT_EQ(receipt.fingerprint, kFingerprint);
  Request asked{.prompt = text::ByteTokenizer::tokens_of("Hello"), .max_new_tokens = 6};
  asked.sampling.temperature = 1;
  EXPECT_EQ(receipt.request, asked) << "with the seed that it has by default";
  ASSERT_EQ(receipt.output.size(), 6U);
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(receipt.output[i], receipt::ReceiptToken::of(TokenId(whole["tokens"][i]),
                                                           whole["logprobs"][i].get<float>(),
                                                           whole["flip_risk"][i].get<float>()));
  }
  EXPECT_EQ(receipt.finish, FinishReason::length);
}

TEST_F(HttpForgeGenerate, takes_token_ids_and_every_parameter_of_sampling_into_the_receipt) {
  const json sampling = {{"temperature", 0.5},
                         {"seed", -1},
                         {"top_k", 40},
                         {"top_p", 0.5},
                         {"min_p", 0.25},
                         {"repetition_penalty", 1.5},
                         {"presence_penalty", 0.5},
                         {"frequency_penalty", 0.25},
                         {"logit_bias", {{"70", 2}}},
                         {"ignore_eos", true}};
  json patch = sampling;
  patch["prompt"] = {5, 6, 7};
  Request asked{.prompt = {TokenId(5), TokenId(6), TokenId(7)},
                .max_new_tokens = 6,
                .sampling = {.temperature = 0.5F,
                             .seed = ~std::uint64_t{0},
                             .logit_bias = {{TokenId(70), 2.0F}},
                             .repetition_penalty = 1.5F,
                             .presence_penalty = 0.5F,
                             .frequency_penalty = 0.25F,
                             .top_k = 40,
                             .top_p = 0.5F,
                             .min_p = 0.25F},
                .ignore_eos = true};
  EXPECT_EQ(receipt_in(answer(patch)).request, asked);
  patch["priority"] = "low";  // what decides no bits is not in it
  patch["user"] = "somebody";
  patch["cache_salt"] = "secret";
  EXPECT_EQ(receipt_in(answer(patch)).request, asked);
}

TEST_F(HttpForgeGenerate, streams_the_same_with_the_receipt_at_the_end) {
  const json whole = answer();
  client_.send(HttpClient::text("/forge/v1/generate", question({{"stream", true}})));
  ASSERT_EQ(client_.read_header().status, 200U);
  const std::vector<std::string> events = client_.read_events();
  ASSERT_EQ(events.size(), 8U) << "six tokens, the end and its mark";
  EXPECT_EQ(events.back(), "[DONE]");
  json together = {{"text", ""}, {"tokens", json::array()}, {"flip_risk", json::array()}};
  for (std::size_t i = 0; i < 6; ++i) {
    const json event = json::parse(events[i]);
    EXPECT_EQ(event["object"], "forge.generation.chunk");
    EXPECT_EQ(event["finish_reason"], i == 5 ? json("length") : json());
    together["text"] = together["text"].get<std::string>() + event["text"].get<std::string>();
    for (const char* const name : {"tokens", "flip_risk"}) {
      EXPECT_EQ(event[name].size(), 1U);
      together[name].push_back(event[name][0]);
    }
  }
  for (const auto& [name, value] : together.items()) EXPECT_EQ(value, whole[name]) << name;
  const json last = json::parse(events[6]);
  EXPECT_EQ(last["usage"]["completion_tokens"], 6);
  EXPECT_EQ(last["receipt"], whole["receipt"]);
}

TEST_F(HttpForgeGenerate, says_how_an_output_ended) {
  const std::string text = answer()["text"];
  const json stopped = answer({{"stop", text.substr(2, 2)}});
  EXPECT_EQ(stopped["finish_reason"], "stop");
  EXPECT_EQ(stopped["text"], text.substr(0, 2));
  EXPECT_EQ(stopped["tokens"].size(), 4U) << "with those of the stop string";
  EXPECT_EQ(receipt_in(stopped).finish, FinishReason::stop);
  EXPECT_EQ(receipt_in(stopped).stop, std::vector<std::string>{text.substr(2, 2)});
  const json cut = answer({{"max_tokens", 60}, {"deadline_steps", 2}, {"ignore_eos", true}});
  EXPECT_EQ(cut["finish_reason"], "deadline");
  EXPECT_EQ(receipt_in(cut).finish, FinishReason::deadline);
  EXPECT_LT(receipt_in(cut).output.size(), 60U);
  EXPECT_EQ(receipt_in(cut).output.size(), cut["tokens"].size());
}

TEST_F(HttpForgeGenerate, refuses_by_name_what_it_does_not_take) {
  EXPECT_EQ(error({{"prompt", {"a", "b"}}})["message"],
            "prompt is a list of 2; accepted is a text or a list of token ids");
  for (const char* const name : {"n", "best_of", "echo", "logprobs", "forge", "stream_options"}) {
    EXPECT_EQ(error({{name, 1}})["message"], "unknown field '" + std::string(name) + "'");
  }
  EXPECT_EQ(error({{"max_tokens", 0}})["param"], "max_tokens");
}

TEST_F(HttpForgeGenerate, names_the_fingerprint_in_every_answer) {
  const std::string name = to_string(kFingerprint);
  EXPECT_EQ(answer()["system_fingerprint"], name);
  EXPECT_EQ(answer(json::object(), "/v1/completions")["system_fingerprint"], name);
  const json chat = {
      {"model", "fake"}, {"messages", {{{"role", "user"}, {"content", "hi"}}}}, {"max_tokens", 2}};
  EXPECT_EQ(client_.post("/v1/chat/completions", chat).json()["system_fingerprint"], name);
  EXPECT_EQ(client_.get("/forge/v1/health").json()["system_fingerprint"], name);
}

TEST(HttpForgeGenerateWithoutModel, refuses_to_write_receipts) {
  TestServer server;
  HttpClient client(server.port());
  const auto refused = client.post("/forge/v1/generate", question());
  EXPECT_EQ(refused.status, 501U);
  EXPECT_EQ(refused.json()["error"]["code"], "no_receipts");
  EXPECT_FALSE(client.post("/v1/completions", question()).json().contains("system_fingerprint"));
}

}  // namespace
}  // namespace forge::test
