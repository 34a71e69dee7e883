// The table of fields: the parsers do what it says, field by field.
#include "forge/serve/request_fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>

#include "forge/serve/openai_api.h"

namespace forge::serve {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

const ModelCard kFieldsCard{.id = "m", .vocabulary_size = 320, .context_tokens = 100, .created = 1};

tl::expected<UntokenizedRequest, ApiError> parsed(RequestKind kind, const json& patch) {
  json body = json::object();
  if (kind != RequestKind::generate) body["model"] = "m";
  if (kind == RequestKind::detokenize) {
    body["tokens"] = {1};
  } else if (kind == RequestKind::chat) {
    body["messages"] = json::array({{{"role", "user"}, {"content", "hi"}}});
  } else {
    body["prompt"] = "hi";
  }
  for (const auto& [name, value] : patch.items()) body[name] = value;
  return parse_request(kind, body.dump(), kFieldsCard);
}

constexpr std::array kGenerating = {RequestKind::completions, RequestKind::generate,
                                    RequestKind::chat, RequestKind::forge_generate};
constexpr std::array kKinds = {RequestKind::completions, RequestKind::generate,
                               RequestKind::chat,        RequestKind::forge_generate,
                               RequestKind::tokenize,    RequestKind::detokenize};

TEST(RequestFields, have_names_of_their_own) {
  std::set<std::pair<std::string_view, RequestKind>> names;
  for (const RequestField& field : request_fields()) {
    bool is_of_any = false;
    for (const RequestKind kind : kKinds) {
      if (!field.is_of(kind)) continue;
      is_of_any = true;
      EXPECT_TRUE(names.emplace(field.name, kind).second) << field.name;
    }
    EXPECT_TRUE(is_of_any) << field.name;
    EXPECT_FALSE(field.accepted.empty()) << field.name;
    EXPECT_TRUE(field.honoured() || json::accept(field.accepted)) << field.name;
  }
}

/// Whether the table has the name for the kind, in any row.
bool is_field(std::string_view name, RequestKind kind) {
  return std::ranges::any_of(request_fields(), [&](const RequestField& field) {
    return field.name == name && field.is_of(kind);
  });
}

TEST(RequestFields, that_are_honoured_are_read_and_no_other_type_is_taken) {
  for (const RequestField& field : request_fields()) {
    if (!field.honoured()) continue;
    const json wrong = {{std::string(field.name), json::array({json::object()})}};
    for (const RequestKind kind : kKinds) {
      const auto request = parsed(kind, wrong);
      ASSERT_FALSE(request.has_value()) << field.name;
      EXPECT_EQ(request.error().status, 400U);
      if (is_field(field.name, kind)) {
        EXPECT_THAT(request.error().param.value_or(""), ::testing::StartsWith(field.name));
      } else {
        EXPECT_EQ(request.error().message, "unknown field '" + std::string(field.name) + "'");
      }
    }
  }
}

TEST(RequestFields, that_are_not_honoured_are_taken_at_their_one_value_and_change_nothing) {
  for (const RequestKind kind : kKinds) {
    const auto nothing = parsed(kind, json::object());
    for (const RequestField& field : request_fields()) {
      if (field.honoured() || is_field(field.name, kind) != field.is_of(kind)) continue;
      const std::string name(field.name);
      if (!field.is_of(kind)) {
        EXPECT_EQ(parsed(kind, {{name, nullptr}}).error().message, "unknown field '" + name + "'");
        continue;
      }
      const auto neutral = parsed(kind, {{name, json::parse(field.accepted)}});
      ASSERT_TRUE(neutral.has_value()) << neutral.error().message;
      EXPECT_EQ(static_cast<const CompletionOptions&>(*neutral),
                static_cast<const CompletionOptions&>(*nothing));
      const auto refused = parsed(kind, {{name, "something else"}});
      ASSERT_FALSE(refused.has_value());
      EXPECT_EQ(refused.error().param, name);
      EXPECT_EQ(refused.error().code, "unsupported_parameter");
      EXPECT_THAT(refused.error().message,
                  HasSubstr("accepted is only " + std::string(field.accepted)));
    }
  }
}

TEST(RequestFields, null_stands_for_each_that_is_not_required) {
  for (const RequestField& field : request_fields()) {
    const std::set<std::string_view> required = {"model", "prompt", "messages", "tokens"};
    if (required.contains(field.name)) continue;
    for (const RequestKind kind : kKinds) {
      if (!field.is_of(kind)) continue;
      const auto request = parsed(kind, {{std::string(field.name), nullptr}});
      ASSERT_TRUE(request.has_value()) << request.error().message;
      EXPECT_EQ(static_cast<const CompletionOptions&>(*request),
                static_cast<const CompletionOptions&>(*parsed(kind, json::object())));
    }
  }
}

TEST(RequestFields, of_extra_count_as_fields_of_the_body) {
  for (const RequestKind kind : kGenerating) {
    const auto outside = parsed(kind, {{"top_k", 5}, {"temperature", 0.5}, {"priority", "high"}});
    const auto inside =
        parsed(kind, {{"temperature", 0.5}, {"extra", {{"top_k", 5}, {"priority", "high"}}}});
    ASSERT_TRUE(inside.has_value()) << inside.error().message;
    EXPECT_EQ(static_cast<const CompletionOptions&>(*inside),
              static_cast<const CompletionOptions&>(*outside));
    EXPECT_TRUE(parsed(kind, {{"extra", nullptr}}).has_value());
    EXPECT_EQ(parsed(kind, {{"extra", 3}}).error().message, "extra is 3; accepted is an object");
    EXPECT_EQ(parsed(kind, {{"top_k", 5}, {"extra", {{"top_k", 5}}}}).error().message,
              "extra.top_k is there, and so is the field outside; accepted is either");
    EXPECT_EQ(parsed(kind, {{"extra", {{"topk", 5}}}}).error().message, "unknown field 'topk'");
    EXPECT_EQ(parsed(kind, {{"extra", {{"extra", json::object()}}}}).error().message,
              "unknown field 'extra'");
  }
}

TEST(RequestFields, so_many_choices_of_each_prompt) {
  EXPECT_EQ(parsed(RequestKind::completions, {{"n", 3}})->n, 3U);
  EXPECT_EQ(parsed(RequestKind::completions, {{"n", 3}, {"best_of", 3}})->n, 3U);
  EXPECT_EQ(parsed(RequestKind::completions, {{"n", 65}}).error().message,
            "n is 65; accepted is an integer, 1 .. 64");
  EXPECT_EQ(parsed(RequestKind::completions, {{"n", 33}, {"prompt", {"a", "b"}}}).error().message,
            "n is 33, for each of 2 prompts; accepted are up to 64 choices in all");
  EXPECT_EQ(parsed(RequestKind::completions, {{"n", 2}, {"session", 1}}).error().message,
            "session is accepted with one choice; there are 2");
}

TEST(RequestFields, the_best_of_so_many_choices) {
  const auto refusal = [](RequestKind kind, const json& fields) {
    return parsed(kind, fields).error().message;
  };
  const auto request = parsed(RequestKind::completions, {{"n", 3}, {"best_of", 4}});
  EXPECT_EQ(request->n, 3U);
  EXPECT_EQ(request->best_of, 4U);
  EXPECT_EQ(parsed(RequestKind::completions, {{"n", 3}})->best_of, 3U);
  EXPECT_EQ(refusal(RequestKind::completions, {{"n", 3}, {"best_of", 2}}),
            "best_of is 2; accepted is an integer, 3 .. 64");
  EXPECT_EQ(refusal(RequestKind::completions, {{"best_of", 33}, {"prompt", {"a", "b"}}}),
            "best_of is 33, for each of 2 prompts; accepted are up to 64 choices in all");
  EXPECT_EQ(refusal(RequestKind::completions, {{"best_of", 2}, {"stream", true}}),
            "best_of is 2; accepted with stream is 1, as the best are known at the end");
  EXPECT_EQ(refusal(RequestKind::completions, {{"best_of", 2}, {"session", 1}}),
            "session is accepted with one choice; there are 2");
  EXPECT_EQ(refusal(RequestKind::chat, {{"best_of", 2}}), "best_of is 2; accepted is only 1");
}

TEST(RequestFields, page_has_a_line_for_each) {
  const std::string page = request_fields_page();
  for (const RequestField& field : request_fields()) {
    EXPECT_THAT(page, HasSubstr("\n| `" + std::string(field.name) + "` |"));
  }
}

}  // namespace
}  // namespace forge::serve
