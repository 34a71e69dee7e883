// The lines of a batch, in OpenAI's form.
#include "batch_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace forge::test {
namespace {

using nlohmann::json;
using serve::RequestKind;
using ::testing::HasSubstr;

serve::BatchFault fault(const std::string& line) {
  const auto parsed = serve::parse_batch_line(line);
  EXPECT_FALSE(parsed) << line;
  return parsed ? serve::BatchFault() : parsed.error();
}

TEST(BatchLine, is_that_of_openai) {
  const auto line = serve::parse_batch_line(
      R"({"custom_id": "request-1", "method": "POST", "url": "/v1/chat/completions", )"
      R"("body": {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 9}})");
  ASSERT_TRUE(line) << line.error().error.message;
  EXPECT_EQ(line->custom_id, "request-1");
  EXPECT_EQ(line->kind, RequestKind::chat);
  EXPECT_EQ(line->body,
            R"({"model":"m","messages":[{"role":"user","content":"Hi"}],"max_tokens":9})")
      << "members in their order: schemas and tools have one";
}

TEST(BatchLine, says_by_its_body_what_it_is_where_no_url_does) {
  EXPECT_EQ(serve::parse_batch_line(R"({"custom_id":"a","body":{"prompt":"x"}})")->kind,
            RequestKind::completions);
  EXPECT_EQ(serve::parse_batch_line(R"({"custom_id":"a","body":{"messages":[]}})")->kind,
            RequestKind::chat);
}

TEST(BatchLine, is_refused_by_name) {
  EXPECT_THAT(fault("nonsense").error.message, HasSubstr("the line"));
  EXPECT_EQ(fault(R"({"body":{}})").error.param, "custom_id");
  EXPECT_EQ(fault(R"({"custom_id":7,"body":{}})").error.param, "custom_id");
  EXPECT_EQ(fault(R"({"custom_id":"","body":{}})").error.param, "custom_id");
  const std::string long_id(serve::kCustomIdBytesMax + 1, 'x');
  EXPECT_EQ(fault(R"({"body":{},"custom_id":")" + long_id + R"("})").error.param, "custom_id");
  const auto embeddings = fault(R"({"custom_id":"a","url":"/v1/embeddings","body":{}})");
  EXPECT_EQ(embeddings.custom_id, "a");
  EXPECT_EQ(embeddings.error.param, "url");
  EXPECT_EQ(fault(R"({"custom_id":"a","method":"GET","body":{}})").error.param, "method");
  EXPECT_EQ(fault(R"({"custom_id":"a"})").error.param, "body");
  EXPECT_EQ(fault(R"({"custom_id":"a","body":{},"bodies":1})").error.code, "unknown_parameter");
}

TEST(BatchLine, comes_back_as_that_of_openai) {
  const json line = json::parse(
      serve::response_line("a\"b", "r-1", serve::Reply{.status = 400, .body = R"({"x":1})"}));
  EXPECT_THAT(line["id"].get<std::string>(), HasSubstr("batch_req_"));
  EXPECT_EQ(line["custom_id"], "a\"b");
  EXPECT_EQ(line["response"],
            json({{"status_code", 400}, {"request_id", "r-1"}, {"body", {{"x", 1}}}}));
  EXPECT_EQ(line["error"], nullptr);
}

TEST(BatchLine, that_is_no_request_comes_back_as_an_error) {
  const std::string text =
      serve::fault_line({std::nullopt, serve::bad_field("url", "no\nno", "wrong")}, 7);
  EXPECT_EQ(text.find('\n'), text.size() - 1);
  const json line = json::parse(text);
  EXPECT_EQ(line["custom_id"], nullptr);
  EXPECT_EQ(line["response"], nullptr);
  EXPECT_EQ(line["error"],
            json({{"code", "wrong"}, {"message", "no\nno"}, {"param", "url"}, {"line", 7}}));
}

}  // namespace
}  // namespace forge::test
