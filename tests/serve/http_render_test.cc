// What a request would run, told without running it; and what clients of other servers ask first.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "serve/test_server.h"

namespace forge::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class HttpRender : public ::testing::Test {
 protected:
  json asked(const std::string& path, const json& body) {
    const auto response = client_.post(path, body);
    EXPECT_EQ(response.status, 200U) << response.body;
    return response.json();
  }

  TestServer server_;
  HttpClient client_{server_.port()};
};

TEST_F(HttpRender, of_completions_is_a_list_of_one_for_each_prompt) {
  json body = completion("Hi", 5);
  const json one = asked("/v1/completions/render", body);
  ASSERT_EQ(one.size(), 1U);
  EXPECT_EQ(one[0]["token_ids"], json({73, 106}));
  EXPECT_EQ(one[0]["max_tokens"], 5);
  EXPECT_EQ(one[0]["model"], "fake");
  EXPECT_THAT(one[0]["request_id"].get<std::string>(), ::testing::StartsWith("cmpl-"));
  body["prompt"] = {"Hi", "H"};
  EXPECT_EQ(asked("/v1/completions/render", body)[1]["token_ids"], json({73}));
  EXPECT_EQ(server_.loop().status().steps, 0U) << "nothing has run";
}

TEST_F(HttpRender, of_chat_is_what_chat_runs) {
  json body = {{"model", "fake"}, {"messages", {{{"role", "user"}, {"content", "Hello"}}}}};
  const json tokens = asked("/tokenize", body)["tokens"];
  body["max_tokens"] = 3;
  const json rendered = asked("/v1/chat/completions/render", body);
  EXPECT_EQ(rendered["token_ids"], tokens);
  EXPECT_EQ(rendered["token_ids"].size(),
            asked("/v1/chat/completions", body)["usage"]["prompt_tokens"]);
}

TEST_F(HttpRender, refuses_what_the_request_would_be_refused_for) {
  for (const json& wrong : {json{{"model", "fake"}}, json{{"model", "x"}, {"prompt", "Hi"}},
                            json{{"model", "fake"}, {"prompt", std::string(9000, 'x')}},
                            json{{"model", "fake"}, {"prompt", "Hi"}, {"top_p", 7}}}) {
    const auto refused = client_.post("/v1/completions", wrong);
    const auto rendered = client_.post("/v1/completions/render", wrong);
    EXPECT_EQ(rendered.status, refused.status);
    EXPECT_EQ(rendered.body, refused.body);
    EXPECT_GE(rendered.status, 400U);
  }
}

TEST_F(HttpRender, leaves_the_session_of_a_chat_as_it_is) {
  const json body = {{"model", "fake"},
                     {"session", 7},
                     {"messages", {{{"role", "user"}, {"content", "Hello"}}}},
                     {"max_tokens", 3}};
  asked("/v1/chat/completions/render", body);
  EXPECT_EQ(asked("/v1/chat/completions", body)["forge"]["session_messages"], 0);
}

TEST_F(HttpRender, what_clients_of_other_servers_ask_first_is_there) {
  EXPECT_EQ(client_.get("/ping").status, 200U);
  EXPECT_THAT(client_.get("/version").body, ::testing::MatchesRegex(R"(\{"version":"[0-9.]+"\})"));
  EXPECT_EQ(client_.get("/load").json(), json({{"server_load", 0}}));
  server_.executor.allow_only(0);
  HttpClient busy(server_.port());
  busy.send(HttpClient::text("/v1/completions", completion("x", 5)));
  ASSERT_TRUE(server_->eventually(
      [](const engine::EngineStatus& s) { return s.running + s.waiting == 1; }));
  EXPECT_EQ(client_.get("/load").json(), json({{"server_load", 1}}));
  server_.executor.release();
  const json props = client_.get("/props").json();
  EXPECT_EQ(props["default_generation_settings"]["n_ctx"], 512 * 16);
  EXPECT_EQ(props["total_slots"], 16);
  EXPECT_EQ(props["model_alias"], "fake");
  EXPECT_THAT(props["chat_template"].get<std::string>(), HasSubstr("message"));
  EXPECT_EQ(busy.read().status, 200U);
}

}  // namespace
}  // namespace forge::test
