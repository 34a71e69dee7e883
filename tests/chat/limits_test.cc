// Whatever a template asks for: an error, soon, and no more memory than the limits say.
#include "golden_chat.h"

namespace forge::chat::testing {
namespace {

std::string repeated(const std::string& text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

RenderOptions small() {
  RenderOptions small = options();
  small.limits = {100'000, 10'000'000, 100'000};
  return small;
}

TEST(Limits, of_steps_bytes_and_output_hold) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"{% for a in range(1000) %}{% for b in range(1000) %}{% endfor %}{% endfor %}",
       "more than 100000 steps"},
      {"{% for a in range(99999) %}0123456789{% endfor %}", "a result of more than 100000 bytes"},
      {"{{ 'x' * 1000000000000 }}", "texts and lists of more than 10000000 bytes together"},
      {"{{ [0] * 1000000000000 }}", "texts and lists"},
      {"{{ '%1000000000d' % 1 }}", "texts and lists"},
      {"{{ '{:1000000000}'.format(1) }}", "texts and lists"},
      {"{{ 'x'.center(1000000000) }}", "texts and lists"},
      {"{{ 'x'|indent(1000000000) }}", "texts and lists"},
      {"{{ [1]|tojson(indent=1000000000) }}", "texts and lists"},
      {"{{ [1]|batch(1000000000, 0)|list }}", "texts and lists"},
      {"{{ [1]|slice(1000000000)|list }}", "more than 100000 steps"},
      {"{{ ('x' * 9999).replace('x', 'y' * 9999) }}", "texts and lists"},
      {"{{ ('x' * 9999)|list|join('y' * 9999) }}", "texts and lists"},
      {"{{ ('\t' * 9).expandtabs(1000000000) }}", "texts and lists"},
      {"{% set ns = namespace(s='0123456789') %}{% for i in range(40) %}"
       "{% set ns.s = ns.s ~ ns.s %}{% endfor %}",
       "texts and lists"},
      {"{% set ns = namespace(s=[1]) %}{% for i in range(40) %}{% set ns.s = [ns.s, ns.s] %}"
       "{% endfor %}{{ ns.s }}",
       "texts and lists"},
      {"{% set ns = namespace(s=[1]) %}{% for i in range(40) %}{% set ns.s = [ns.s, ns.s] %}"
       "{% endfor %}{{ ns.s|tojson }}",
       "than"},
      {"{% set a = namespace(s=[1]) %}{% set b = namespace(s=[1]) %}{% for i in range(40) %}"
       "{% set a.s = [a.s, a.s] %}{% set b.s = [b.s, b.s] %}{% endfor %}{{ a.s == b.s }}",
       "more than 100000 steps"},
  };
  for (const auto& [text, expected] : cases) {
    const std::string out = rendered(text, Json::object(), small());
    EXPECT_TRUE(out.starts_with("limit: ") && out.find(expected) != std::string::npos)
        << text << "\n"
        << out.substr(0, 200);
  }
}

TEST(Limits, of_nesting_hold_while_rendering) {
  const std::vector<std::string> cases = {
      "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
      "{% macro m() %}{% if false %}{{ caller() }}{% endif %}{% call m() %}x{% endcall %}"
      "{% endmacro %}{% call m() %}x{% endcall %}",
      "{% for a in [1] recursive %}{{ loop([1]) }}{% endfor %}",
      "{% set ns = namespace(s=[]) %}{% for i in range(9999) %}{% set ns.s = [ns.s] %}{% endfor %}",
      "{% set ns = namespace(s={}) %}{% for i in range(9999) %}{% set ns.s = {'a': ns.s} %}"
      "{% endfor %}",
      "{% set ns = namespace(s=[]) %}{% for i in range(9999) %}{% set ns.s = ns.s|map('list') %}"
      "{% endfor %}",
      "{% set ns = namespace() %}{% set ns.ns = ns %}{{ ns }}",
      "{% set ns = namespace() %}{% set ns.a = [ns] %}{{ ns.a }}",
  };
  for (const std::string& text : cases) {
    const std::string out = rendered(text, Json::object());
    EXPECT_TRUE(out.starts_with("limit: ")) << text << "\n" << out.substr(0, 200);
  }
  Json deep = 1;
  for (int i = 0; i < 5000; ++i) deep = Json::array({std::move(deep)});
  EXPECT_TRUE(rendered("x", {{"deep", std::move(deep)}}).starts_with("limit: "));
}

TEST(Limits, of_nesting_hold_while_parsing) {
  const int times = 100'000;
  for (const auto& [open, close] :
       std::vector<std::pair<std::string, std::string>>{{"(", ")"},
                                                        {"[", "]"},
                                                        {"{1:", "}"},
                                                        {"not ", ""},
                                                        {"-", ""},
                                                        {"a if ", ""},
                                                        {"f(", ")"},
                                                        {"a[", "]"},
                                                        {"1 + ", ""},
                                                        {"1 ~ (", ")"},
                                                        {"a is b ", ""}}) {
    const std::string text = "{{ " + repeated(open, times) + "1" + repeated(close, times) + " }}";
    EXPECT_TRUE(rendered(text, Json::object()).starts_with("syntax: ")) << open;
  }
  for (const std::string tail : {".a", "[0]", "()", "|upper", " + 1", " and 1", " ** 1"}) {
    const std::string text = "{{ a" + repeated(tail, times) + " }}";
    EXPECT_TRUE(rendered(text, Json::object()).starts_with("syntax: ")) << tail;
  }
  for (const std::string tag : {"{% if a %}", "{% for a in b %}", "{% macro a() %}", "{% set a %}",
                                "{% filter upper %}", "{% with %}", "{% call a() %}"}) {
    EXPECT_TRUE(rendered(repeated(tag, times), Json::object()).starts_with("syntax: ")) << tag;
  }
}

TEST(Limits, are_far_from_what_conversations_need) {
  Json messages = Json::array();
  const std::string content = repeated("0123456789 ", 100);
  for (int i = 0; i < 2000; ++i) {
    messages.push_back({{"role", i % 2 == 0 ? "user" : "assistant"}, {"content", content}});
  }
  const std::string out =
      rendered("{% for m in messages %}{{ m.role ~ ': ' ~ m.content | trim ~ '\n' }}{% endfor %}",
               {{"messages", std::move(messages)}});
  EXPECT_EQ(out.substr(0, 10), "user: 0123");
  EXPECT_GT(out.size(), 2'000'000U);
}

TEST(Limits, what_holds_itself_is_freed) {
  // The address sanitizer would tell.
  for (const char* const text : {
           "{% set ns = namespace() %}{% set ns.self = ns %}ok",
           "{% macro m() %}{% macro i() %}{% endmacro %}{% endmacro %}{{ m() }}{{ m() }}ok",
           "{% set ns = namespace() %}{% for a in [1] if a %}{% set ns.l = loop %}"
           "{{ loop.changed(loop) and '' }}{% endfor %}ok",
           "{% for a in [1] recursive %}{% set f = loop %}{% endfor %}ok",
       }) {
    EXPECT_EQ(rendered(text, Json::object()), "ok") << text;
  }
}

}  // namespace
}  // namespace forge::chat::testing
