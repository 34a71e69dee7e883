// Errors name the line, what was at work, and what is wrong.
#include "golden_chat.h"

namespace forge::chat::testing {
namespace {

struct ErrorCase {
  const char* text;
  const char* expected;
};

const ErrorCase kErrorCases[] = {
    // The text is no template.
    {"a\n{{ 1 + }}", "syntax: line 2: unexpected 'end of print statement'"},
    {"{% if a %}\n\n",
     "syntax: line 2: Unexpected end of template. Jinja was looking for the "
     "following tags: 'elif' or 'else' or 'endif'. The innermost block that needs "
     "to be closed is 'if'."},
    {"{% for a in b %}{% endif %}",
     "syntax: line 1: Encountered unknown tag 'endif'. The innermost block that needs to be closed "
     "is 'for'."},
    {"{{ 'abc }}", "syntax: line 1: unexpected char ''': a text without end"},
    {"{# never", "syntax: line 1: Missing end of comment tag"},
    {"x\n{% break %}", "syntax: line 2: 'break' outside loop"},
    {"{{ a|nope }}", "syntax: line 1: No filter named 'nope'."},
    {"{{ a|random }}", "syntax: line 1: the filter 'random' is not supported"},
    {"{{ a is nope }}", "syntax: line 1: No test named 'nope'."},
    {"{{ (1] }}", "syntax: line 1: unexpected ']', expected ')'"},
    {"{{ '%é' % 3 }}", "runtime: line 1: operator '%': unsupported format character 'é'"},
    {"{{ a! }}", "syntax: line 1: unexpected char '!'"},
    {"{{ 99999999999999999999 }}",
     "syntax: line 1: the integer 99999999999999999999 needs more than 64 bits"},
    {"{% autoescape true %}{% endautoescape %}",
     "syntax: line 1: the tag 'autoescape' is not supported"},
    {"\xC3(", "syntax: line 1: the template is not UTF-8 at byte 0"},
    // It fails with this context.
    {"a\n\n{{ nope.x }}", "runtime: line 3: 'nope' is undefined"},
    {"{{ d.x.y }}", "runtime: line 1: 'dict object' has no attribute 'x'"},
    {"{{ l[9].y }}", "runtime: line 1: list object has no element 9"},
    {"{{ 'a' + 1 }}",
     "runtime: line 1: operator '+': can only concatenate str (not \"int\") to str"},
    {"{{ 1 / 0 }}", "runtime: line 1: operator '/': division by zero"},
    {"{{ 5|join }}", "runtime: line 1: filter 'join': 'int' object is not iterable"},
    {"{{ 'x' is divisibleby 2 }}",
     "runtime: line 1: test 'divisibleby': not all arguments converted during string formatting"},
    {"{{ s.index('z') }}", "runtime: line 1: function 'index': substring not found"},
    {"{% for a, b in l %}{% endfor %}", "runtime: line 1: cannot unpack non-iterable int object"},
    {"{% macro m(a) %}\n{{ a.b.c }}{% endmacro %}\n{{ m({}) }}",
     "runtime: line 2: 'dict object' has no attribute 'b'"},
    {"{% include 'x' %}",
     "runtime: line 1: the tag 'include' is not supported: there are no other templates"},
    {"{% if t %}{{ 1|nope }}{% endif %}",
     "runtime: line 1: filter 'nope': No filter named 'nope'."},
    {"{{ range(3)|tojson }}",
     "runtime: line 1: filter 'tojson': Object of type range is not JSON serializable"},
    // It has said so itself.
    {"{% if l %}\n{{ raise_exception('Roles must alternate: ' ~ l) }}{% endif %}",
     "raised: Roles must alternate: [3, 1]"},
};

TEST(TemplateError, names_line_construct_and_reason) {
  const Json context = {{"l", {3, 1}}, {"d", {{"a", 1}}}, {"s", "abc"}, {"t", true}};
  for (const ErrorCase& one : kErrorCases)
    EXPECT_EQ(rendered(one.text, context), one.expected) << one.text;
}

TEST(TemplateError, of_a_context_that_is_none) {
  EXPECT_EQ(rendered("x", Json::array()), "runtime: line 1: the context is no object");
  EXPECT_EQ(rendered("x", {{"n", UINT64_MAX}}),
            "limit: line 1: an integer needs more than 64 bits, which is not supported");
  EXPECT_EQ(rendered("x", {{"s", "\xFF"}}), "runtime: line 1: a text of the context is not UTF-8");
}

}  // namespace
}  // namespace forge::chat::testing
