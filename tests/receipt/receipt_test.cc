#include "forge/receipt/receipt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "receipt/some_receipt.h"
#include "trace/generators.h"

namespace forge::receipt {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

/// With the digest of what it says now, as somebody would make it who alters a receipt on purpose.
std::string with_new_digest(Json json) {
  json.erase("digest");
  char digits[17];
  const std::string canonical = nlohmann::json(json).dump();
  std::snprintf(digits, sizeof digits, "%016llx",
                static_cast<unsigned long long>(text_digest(canonical)));
  json["digest"] = digits;
  return json.dump();
}

std::string refusal(const Json& json) {
  const auto parsed = parse_receipt(json.dump());
  return parsed ? "taken" : parsed.error();
}

std::string refusal_with_new_digest(const Json& json) {
  const auto parsed = parse_receipt(with_new_digest(json));
  return parsed ? "taken" : parsed.error();
}

TEST(Receipt, is_written_as_documented) {
  Receipt receipt = testing::some_receipt();
  receipt.request.sampling = {.temperature = 0.5F, .seed = 7};
  EXPECT_EQ(
      to_json(receipt).dump(),
      R"({"forge_receipt":1,"model":"forge-tiny","system_fingerprint":"fp_5cf0a596ef3010b9",)"
      R"("fingerprint":{"config":"7c2f000000000001","weights":"93a000000000000193a0000000000002",)"
      R"("vocabulary":"51c0000000000003","eos":"0 2","numerics":"canonical","machine":"",)"
      R"("kv":"f32","version":"0.1.0"},"request":{"prompt":[73,106],"max_new_tokens":16,)"
      R"("sampling":{"temperature":0.5,"seed":7}},"stop":["\n\n","énd"],"output":[105,300],)"
      R"("logprobs":["be800000","ba83126f"],"margins":["3fc00000","7f61b1e6"],)"
      R"("finish_reason":"stop","digest":"ac851c8eb9242b41"})");
}

TEST(Receipt, is_read_as_it_was_written) {
  EXPECT_EQ(parse_receipt(to_json(testing::some_receipt()).dump()), testing::some_receipt());
  EXPECT_EQ(parse_receipt(to_json(testing::some_receipt()).dump(2)), testing::some_receipt());
  EXPECT_EQ(parse_receipt(nlohmann::json(to_json(testing::some_receipt())).dump()),
            testing::some_receipt());
}

RC_GTEST_PROP(ReceiptProperty, any_request_is_read_as_it_was_written, ()) {
  Receipt receipt = testing::some_receipt();
  receipt.request = request_in_receipt(testing::any_request());
  receipt.request.max_new_tokens = std::max(receipt.request.max_new_tokens, 2U);
  RC_ASSERT(parse_receipt(to_json(receipt).dump()) == receipt);
}

TEST(Receipt, keeps_of_a_request_what_decides_bits) {
  Request request = testing::some_receipt().request;
  const Request kept = request;
  request.sampling.logprobs = 5;
  request.sampling.margins = true;
  request.sampling.prompt_logprobs = true;
  request.priority = Priority::high;
  request.client = ClientId(7);
  request.user = UserId(8);
  request.weight = 3;
  request.prefix_cache = PrefixCacheUse::disable;
  request.cache_salt = CacheSalt(9);
  request.deadline_steps = 100;
  request.session = SessionId(1);
  EXPECT_EQ(request_in_receipt(request), kept);
  request.ignore_eos = true;
  EXPECT_NE(request_in_receipt(request), kept);
}

/// Every value that `json` has, changed one at a time; each change is given to `check`.
template <class Check>
void alter_each(Json& whole, Json& part, const std::string& path, const Check& check) {
  if (part.is_structured()) {
    for (auto item = part.begin(); item != part.end(); ++item) {
      alter_each(whole, *item, path + "/" + (part.is_object() ? item.key() : "item"), check);
    }
    return;
  }
  const Json before = part;
  if (part.is_string()) {
    std::string text = part.get<std::string>();
    const char last = !text.empty() && text.back() == '1' ? '2' : '1';
    text = text.substr(0, std::max<std::size_t>(text.size(), 1) - 1) + last;
    part = text;
  } else if (part.is_number_float()) {
    part = part.get<double>() / 2;
  } else {
    part = part.get<std::uint64_t>() - 1;
  }
  check(path);
  part = before;
}

TEST(Receipt, that_was_altered_in_any_value_is_refused) {
  Json json = to_json(testing::some_receipt());
  int altered = 0;
  alter_each(json, json, "", [&](const std::string& path) {
    EXPECT_NE(refusal(json), "taken") << path;
    ++altered;
  });
  EXPECT_GE(altered, 30);
  EXPECT_EQ(refusal(json), "taken");
}

TEST(Receipt, that_lacks_a_field_or_has_another_is_refused) {
  const Json json = to_json(testing::some_receipt());
  for (const auto& [name, value] : json.items()) {
    Json without = json;
    without.erase(name);
    EXPECT_NE(refusal(without), "taken") << name;
  }
  Json with = json;
  with["signature"] = "x";
  EXPECT_EQ(refusal(with), "unknown field 'signature'");
}

TEST(Receipt, says_what_was_altered) {
  Json json = to_json(testing::some_receipt());
  json["output"][0] = 106;
  EXPECT_THAT(refusal(json), HasSubstr("that of the rest: the receipt was altered"));
  EXPECT_EQ(refusal_with_new_digest(json), "taken");  // only running it shows that
  json["fingerprint"]["kv"] = "f16";
  EXPECT_THAT(refusal_with_new_digest(json), HasSubstr("system_fingerprint is 'fp_"));
}

TEST(Receipt, names_field_value_and_what_is_accepted) {
  const Json json = to_json(testing::some_receipt());
  const auto refusal_of = [&](const char* name, const Json& value) {
    Json other = json;
    other[name] = value;
    return refusal_with_new_digest(other);
  };
  EXPECT_EQ(refusal_of("forge_receipt", 2), "forge_receipt is 2; accepted is 1");
  EXPECT_EQ(refusal_of("logprobs", {"be800000"}),
            "logprobs has 1 texts; accepted are 2, as many as output has tokens");
  EXPECT_EQ(refusal_of("margins", {"3FC00000", "7f61b1e6"}),
            "margins has '3FC00000'; accepted are 8 lower-case hexadecimal digits");
  EXPECT_EQ(refusal_of("finish_reason", "cancelled"),
            "finish_reason is \"cancelled\"; accepted is \"length\", \"eos\", \"stop\", "
            "\"deadline\"");
  EXPECT_EQ(refusal_of("finish_reason", "length"),
            "output has 2 tokens; accepted with this finish_reason and max_new_tokens are 16");
  EXPECT_EQ(refusal_of("stop", Json::array()),
            "stop is empty; accepted with finish_reason \"stop\" is one text or more");
  EXPECT_EQ(refusal_of("request", {{"prompt", Json::array()}, {"max_new_tokens", 16}}),
            "request.prompt: a list of 0 is not a list of at least 1 element");
  EXPECT_EQ(refusal_of("request", {{"prompt", {1}}, {"max_new_tokens", 16}, {"priority", "high"}}),
            "request has what changes no bits; accepted are prompt, max_new_tokens, ignore_eos and "
            "sampling without logprobs, prompt_logprobs and margins");
  EXPECT_EQ(parse_receipt("{").has_value(), false);
  EXPECT_EQ(parse_receipt("[]").has_value(), false);
}

TEST(Receipt, of_a_request_that_was_cut_may_have_no_tokens) {
  Receipt receipt = testing::some_receipt();
  receipt.output.clear();
  receipt.finish = FinishReason::deadline;
  EXPECT_EQ(parse_receipt(to_json(receipt).dump()), receipt);
  receipt.finish = FinishReason::eos;
  EXPECT_EQ(refusal(to_json(receipt)),
            "output has 0 tokens; accepted with this finish_reason and max_new_tokens are 1 .. 16");
}

}  // namespace
}  // namespace forge::receipt
