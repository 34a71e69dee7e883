// Receipts from forge-infer to `forge-trace verify`: bits are those of the request alone, whoever
// else was served, and whatever runs it again.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "apps/programs.h"
#include "apps/server_process.h"
#include "forge/receipt/receipt.h"
#include "forge/trace/trace_json.h"

namespace forge::testing {
namespace {

using nlohmann::json;
using test::HttpClient;
using ::testing::HasSubstr;
using ::testing::StartsWith;

/// Requests that share a prefix and differ in all else.
json question(int number) {
  json body = {{"model", "forge-tiny"},
               {"prompt", "Ada is at the mill. The key is given to Ada. Where is the key?"},
               {"max_tokens", 12 + 9 * number},
               {"temperature", number % 3 == 0 ? 0.0 : 0.5 + 0.1 * number},
               {"seed", number},
               {"ignore_eos", number % 4 == 1}};
  if (number % 4 == 2) body["stop"] = {"the", "."};
  if (number % 4 == 3) body["top_p"] = 0.8;
  if (number == 5) body["prompt"] = {7, 8, 9};
  if (number == 6) {
    body["json_schema"] = {{"type", "object"}, {"properties", {{"a", {{"type", "integer"}}}}}};
  }
  if (number == 7) body["logit_bias"] = {{"16", -3}, {"260", 2}};
  return body;
}

class ReceiptPrograms : public ProgramTest {
 protected:
  static constexpr int kRequests = 8;

  /// The answer of the server to a request, and a file that has it.
  json ask(const ServerProcess& server, const json& body, const std::string& name) const {
    const auto answer = HttpClient(server.port()).post("/forge/v1/generate", body);
    EXPECT_EQ(answer.status, 200U) << answer.body;
    write(name, answer.body);
    return answer.json();
  }

  /// An answer that nobody else was served beside.
  json ask_alone(const json& body) const {
    const ServerProcess server(std::vector<std::string>{});
    EXPECT_TRUE(server.listens()) << server.said();
    return ask(server, body, "answer.json");
  }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
  }

  Outcome verify(const std::string& name, const std::string& flags = "") const {
    return run(FORGE_TRACE " verify " + path(name) + " " + flags);
  }

  /// The receipt with `patch`, and with the digest of what it says then.
  void forge(const json& answer, const json& patch, const std::string& name) const {
    json receipt = answer["receipt"];
    receipt.update(patch, true);
    receipt.erase("digest");
    receipt["digest"] = trace::digest_text(receipt::text_digest(receipt.dump()));
    write(name, receipt.dump());
  }
};

TEST_F(ReceiptPrograms, of_a_busy_server_are_those_of_each_request_alone) {
  // Eight at once on 24 blocks: they share a prefix, are batched, chunked, drafted for, preempted.
  ServerProcess server({"--num-blocks", "24", "--block-size", "8", "--max-batch-size", "6",
                        "--max-batch-tokens", "32", "--prefill-chunk-size", "5", "--speculative",
                        "4"});
  ASSERT_TRUE(server.listens()) << server.said();
  std::vector<std::thread> clients;
  for (int i = 0; i < kRequests; ++i) {
    clients.emplace_back([&, i] { ask(server, question(i), std::to_string(i) + ".json"); });
  }
  for (std::thread& client : clients) client.join();
  const char* const others[] = {"", "--prefill-chunk-size 3 --block-size 4",
                                "--max-batch-size 1 --max-batch-tokens 7 --threads 2",
                                "--speculative 3 --draft ngram --prefix-cache none",
                                "--target sim"};
  for (int i = 0; i < kRequests; ++i) {
    for (const char* const flags : others) {
      const Outcome verified = verify(std::to_string(i) + ".json", flags);
      EXPECT_EQ(verified.status, 0) << flags;
      EXPECT_THAT(verified.output, HasSubstr(" tokens run again, all equal in every bit, fp_"))
          << question(i) << flags;
    }
  }
}

TEST_F(ReceiptPrograms, of_the_end_of_a_stream_are_the_same) {
  const ServerProcess server(std::vector<std::string>{});
  ASSERT_TRUE(server.listens()) << server.said();
  json body = question(2);
  const json whole = ask(server, body, "answer.json");
  body["stream"] = true;
  HttpClient client(server.port());
  client.send(HttpClient::text("/forge/v1/generate", body));
  ASSERT_EQ(client.read_header().status, 200U);
  const std::vector<std::string> events = client.read_events();
  ASSERT_GE(events.size(), 2U);
  const json last = json::parse(events[events.size() - 2]);
  EXPECT_EQ(last["receipt"], whole["receipt"]);
  write("receipt.json", last["receipt"].dump(2));
  EXPECT_EQ(verify("receipt.json").status, 0);
}

TEST_F(ReceiptPrograms, of_a_request_that_was_cut_are_verified_as_far_as_they_go) {
  json body = question(1);
  body["deadline_steps"] = 6;
  const json answer = ask_alone(body);
  ASSERT_EQ(answer["receipt"]["finish_reason"], "deadline");
  const Outcome verified = verify("answer.json");
  EXPECT_EQ(verified.status, 0);
  EXPECT_EQ(verified.output, std::to_string(answer["tokens"].size()) +
                                 " tokens run again, all equal in every bit, " +
                                 answer["system_fingerprint"].get<std::string>() +
                                 "; the request was out of time then\n");
}

TEST_F(ReceiptPrograms, that_were_altered_are_refused) {
  const json answer = ask_alone(question(0));
  json altered = answer["receipt"];
  altered["output"][2] = 7;
  write("altered.json", altered.dump());
  const Outcome verified = verify("altered.json");
  EXPECT_EQ(verified.status, 2);
  EXPECT_THAT(verified.output, HasSubstr("altered.json: digest is "));
  EXPECT_THAT(verified.output, HasSubstr("that of the rest: the receipt was altered"));
}

TEST_F(ReceiptPrograms, that_were_forged_differ_when_they_are_run) {
  const json answer = ask_alone(question(0));
  const json receipt = answer["receipt"];
  const auto outcome_with = [&](const json& patch) {
    forge(answer, patch, "forged.json");
    return verify("forged.json");
  };
  EXPECT_EQ(outcome_with(json::object()).status, 0);

  json output = receipt["output"];
  output[2] = 7;
  Outcome outcome = outcome_with({{"output", output}});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_EQ(outcome.output,
            "output[2] differs, receipt against run: token 7 against "
            "token " +
                receipt["output"][2].dump() + "\n2 tokens before it are equal in every bit\n");

  for (const char* const name : {"logprobs", "margins"}) {
    json bits = receipt[name];
    std::string& text = bits[1].get_ref<std::string&>();
    text.back() = text.back() == '0' ? '1' : '0';
    outcome = outcome_with({{name, bits}});
    EXPECT_EQ(outcome.status, 1);
    EXPECT_THAT(outcome.output, StartsWith("output[1] differs, receipt against run: "));
    EXPECT_THAT(outcome.output, HasSubstr("(" + text + ")")) << "a bit of one float";
  }

  EXPECT_EQ(outcome_with({{"request", {{"prompt", {1, 2, 3}}}}}).status, 1);
  EXPECT_EQ(outcome_with({{"finish_reason", "deadline"}}).status, 1) << "it ended by itself";
  EXPECT_EQ(outcome_with({{"stop", {"The"}}}).status, 1) << "that would have ended it before";
}

TEST_F(ReceiptPrograms, of_another_model_are_told_apart_by_the_fingerprint) {
  ask_alone(question(0));
  Outcome outcome = verify("answer.json", "--model forge-tiny:seed=7");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.output, StartsWith("fingerprint.config differs, receipt against here: '"));
  outcome = verify("answer.json", "--kv bf16");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_EQ(outcome.output, "fingerprint.kv differs, receipt against here: 'f32' against 'bf16'\n");

  const std::vector<std::string> flags = {"--model", "forge-tiny:seed=7"};
  const ServerProcess server(flags);
  ASSERT_TRUE(server.listens()) << server.said();
  ask(server, question(0), "seven.json");
  EXPECT_EQ(verify("seven.json", "--model forge-tiny:seed=7").status, 0);
  outcome = verify("seven.json", "--model forge-tiny:seed=8");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.output, StartsWith("fingerprint.weights differs, receipt against here: '"));
}

TEST_F(ReceiptPrograms, that_cannot_be_used_are_refused_with_what_is_accepted) {
  const json answer = ask_alone(question(0));
  const auto refusal = [&](const std::string& name, const std::string& flags = "") {
    const Outcome outcome = verify(name, flags);
    EXPECT_EQ(outcome.status, 2) << outcome.output;
    return outcome.output;
  };
  EXPECT_THAT(refusal("nowhere.json"), HasSubstr("nowhere.json: cannot be read"));
  EXPECT_THAT(refusal("."), HasSubstr("cannot be read: it is a directory"));
  write("empty.json", "{}");
  EXPECT_THAT(refusal("empty.json"), HasSubstr("forge_receipt is missing; accepted is 1"));
  json altered = answer;
  altered["receipt"]["stop"] = {"x"};
  write("altered.json", altered.dump());
  EXPECT_THAT(refusal("altered.json"), HasSubstr("altered.json: receipt.digest is '"));
  write("half.json", answer.dump().substr(0, 200));
  EXPECT_THAT(refusal("half.json"), HasSubstr("is not JSON"));
  forge(answer, {{"request", {{"prompt", {1, 100000}}}}}, "tokens.json");
  EXPECT_THAT(
      refusal("tokens.json"),
      HasSubstr("request.prompt has the token id 100000; accepted is an integer, 0 .. 511"));
  forge(answer, {{"request", {{"sampling", {{"logit_bias", {{100000, 1.0}}}}}}}}, "bias.json");
  EXPECT_THAT(refusal("bias.json"),
              HasSubstr("request.sampling.logit_bias has the token id 100000"));
  EXPECT_THAT(refusal("answer.json", "--sim-checked"), HasSubstr("does not apply to --target cpu"));
  EXPECT_THAT(refusal("answer.json", "--num-blocks 1"), HasSubstr("exceeds the KV cache"));
}

}  // namespace
}  // namespace forge::testing
