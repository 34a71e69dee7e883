// The language of templates, a line for each thing that one might get wrong.
#include "forge/chat/template.h"

#include <thread>

#include "golden_chat.h"

namespace forge::chat::testing {
namespace {

struct Case {
  const char* text;
  const char* expected;
};

void expect_all(const std::vector<Case>& cases) {
  const Json context = {
      {"n", 7}, {"s", "Größe"}, {"l", {3, 1, 2}}, {"d", {{"b", 1}, {"a", 2}, {"items", 3}}}};
  for (const Case& one : cases) EXPECT_EQ(rendered(one.text, context), one.expected) << one.text;
}

TEST(Template, values_print_as_in_python) {
  expect_all({
      {"{{ [1, 2.0, 'x', none, true, (1,), {'k': []}] }}",
       "[1, 2.0, 'x', None, True, (1,), {'k': []}]"},
      {"{{ 1e16 }} {{ 0.1 + 0.2 }} {{ 1e-5 }} {{ 10 / 2 }}", "1e+16 0.30000000000000004 1e-05 5.0"},
      {"{{ [\"it's\", '\\n', s] }}", "[\"it's\", '\\n', 'Größe']"},
      {"{{ undefined_thing }}|{{ [undefined_thing] }}", "|[Undefined]"},
  });
}

TEST(Template, text_is_counted_in_code_points) {
  expect_all({
      {"{{ s|length }} {{ s[2] }} {{ s[-2:] }} {{ s[::-1] }} {{ s.find('e') }}", "5 ö ße eßörG 4"},
      {"{{ s.upper() }} {{ s|title }} {{ 'ΑΣ'.lower() }}", "GRÖSSE Größe ας"},
  });
}

TEST(Template, integers_round_down_and_comparisons_chain) {
  expect_all({
      {"{{ -7 // 2 }} {{ -7 % 3 }} {{ 2 ** 3 ** 2 }} {{ -2 ** 2 }}", "-4 2 64 4"},
      {"{{ 1 < 2 < 3 }} {{ 1 == 1.0 == true }} {{ 'a' in 'abc' }}", "True True True"},
  });
}

TEST(Template, a_name_is_an_attribute_first_and_an_index_a_member_first) {
  expect_all({
      {"{{ d.a }} {{ d['b'] }} {{ d['items'] }} {{ d.items is callable }}", "2 1 3 True"},
      {"{{ d.missing is defined }} {{ l.append is defined }} {{ l.5 is defined }}",
       "False False False"},
  });
}

TEST(Template, what_a_loop_sets_is_gone_after_each_turn) {
  expect_all({
      {"{% set x = 0 %}{% for i in l %}{{ x }}{% set x = i %}{{ x }} {% endfor %}{{ x }}",
       "03 01 02 0"},
      {"{% set ns = namespace(x=0) %}{% for i in l %}{% set ns.x = ns.x + i %}{% endfor %}{{ ns.x "
       "}}",
       "6"},
  });
}

TEST(Template, filters_that_go_through_a_list_can_be_gone_through_once) {
  expect_all({
      {"{% set g = l|select('odd') %}{{ 'yes' if g else 'no' }}{{ g|list }}{{ g|list }}",
       "yes[3, 1][]"},
      {"{% set g = l|select('gt', 9) %}{{ 'yes' if g else 'no' }}", "yes"},
      {"{% set unused = l|map('no_such_filter') %}fine", "fine"},
  });
}

TEST(Template, an_else_belongs_to_loops_of_which_no_turn_has_come_to_its_end) {
  expect_all({
      {"{% for i in [] %}{% else %}none{% endfor %}", "none"},
      {"{% for i in l %}{{ i }}{% else %}none{% endfor %}", "312"},
      {"{% for i in l %}{% continue %}{% else %}none{% endfor %}", "none"},
  });
}

TEST(Template, statements_take_their_line_along) {
  expect_all({
      {"a\n  {% if n %}\n  b\n  {% endif %}\nc\n", "a\n  b\nc"},
      {"a\n  {{ n }}\nb", "a\n  7\nb"},
      {"a  {%- if n -%}  b  {%- endif -%}  c", "abc"},
      {"  {%+ if n %}x{%+ endif +%}\ny", "  x\ny"},
  });
}

TEST(Template, members_keep_their_order) {
  const Json context = {{"d", {{"z", 1}, {"a", {{"y", 2}, {"b", 3}}}}}};
  EXPECT_EQ(rendered("{{ d|tojson }} {{ d }}", context),
            R"({"z": 1, "a": {"y": 2, "b": 3}} {'z': 1, 'a': {'y': 2, 'b': 3}})");
}

TEST(Template, the_time_is_the_callers) {
  EXPECT_EQ(rendered("{{ strftime_now('%d %b %Y, %H:%M:%S %A %j') }}", Json::object()),
            "26 Jul 2024, 14:03:09 Friday 208");
}

TEST(Template, is_rendered_by_many_threads_at_once) {
  const auto parsed = Template::parse(
      "{% macro m(x) %}<{{ x }}>{% endmacro %}"
      "{% set ns = namespace(t='') %}{% for i in range(100) %}{% set ns.t = ns.t ~ m(i ~ who) %}"
      "{% endfor %}{{ ns.t }}");
  ASSERT_TRUE(parsed.has_value());
  std::vector<std::string> out(4);
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < out.size(); ++i) {
      threads.emplace_back([&, i] {
        for (int turn = 0; turn < 20; ++turn) out[i] = *parsed->render({{"who", "x"}}, options());
      });
    }
  }
  for (const std::string& text : out) EXPECT_EQ(text, out[0]);
  EXPECT_TRUE(out[0].starts_with("<0x><1x>"));
}

}  // namespace
}  // namespace forge::chat::testing
