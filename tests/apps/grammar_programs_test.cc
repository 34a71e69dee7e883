// forge-grammar as a user runs it.
#include "apps/programs.h"

namespace forge::testing {
namespace {

class GrammarPrograms : public ProgramTest {
 protected:
  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(path(name)) << text;
    return path(name);
  }
  Outcome accepts(const std::string& arguments, const std::string& lines) const {
    return run(FORGE_GRAMMAR " accepts " + arguments + " < " + file("lines", lines));
  }
};

TEST_F(GrammarPrograms, says_of_each_line_whether_it_is_accepted) {
  const std::string schema =
      file("schema.json", R"({"type": "array", "items": {"type": "integer"}})");
  const Outcome mixed = accepts("--schema " + schema, "[1, 2]\n[1, \"2\"]\n[1\n");
  EXPECT_EQ(mixed.status, 1);
  EXPECT_EQ(mixed.output,
            "accepted\n"
            "refused at byte 4: expected '-', '0' to '9' or white space\n"
            "refused at byte 2: expected ',', '.', '0' to '9', 'E', ']', 'e' or white space\n");
  EXPECT_EQ(accepts("--schema " + schema, "[]\n").status, 0);
  const Outcome regex = accepts("--regex '[a-c]+'", "abc\nabd\n\n");
  EXPECT_EQ(regex.status, 1);
  EXPECT_EQ(regex.output,
            "accepted\n"
            "refused at byte 2: expected 'a' to 'c' or the end\n"
            "refused at byte 0: expected 'a' to 'c'\n");
}

TEST_F(GrammarPrograms, refuse_grammars_by_what_is_wrong_with_them) {
  const std::string schema = file("schema.json", R"({"items": {"uniqueItems": true}})");
  const Outcome unsupported = accepts("--schema " + schema, "");
  EXPECT_EQ(unsupported.status, 2);
  EXPECT_EQ(unsupported.output,
            "forge-grammar: " + schema +
                ": at /items/uniqueItems: uniqueItems is not supported, but for at "
                "most one item\n");
  const Outcome regex = accepts("--regex '(?=a)'", "");
  EXPECT_EQ(regex.status, 2);
  EXPECT_EQ(regex.output,
            "forge-grammar: --regex: the regular expression '(?=a)' has look-ahead (?= or "
            "(?!, which is not supported\n");
  EXPECT_TRUE(has(accepts("", ""), "one of --schema and --regex is required"));
  EXPECT_TRUE(has(accepts("--schema " + path("none.json"), ""), "cannot read "));
  EXPECT_EQ(accepts("--schema " + schema + " --regex a", "").status, 2);
}

TEST_F(GrammarPrograms, bench_times_the_masks_of_a_suite) {
  file("suite.json", R"([{"description": "pairs", "schema": {"maxItems": 2},
                          "tests": [{"description": "", "data": [1, "two"], "valid": true},
                                    {"description": "", "data": [1, 2, 3], "valid": false}]},
                         {"description": "sets", "schema": {"uniqueItems": true}, "tests": []}])");
  const Outcome bench = run(FORGE_GRAMMAR " bench " + path(""));
  EXPECT_EQ(bench.status, 0) << bench.output;
  EXPECT_TRUE(has(bench, "tokens    131072")) << bench.output;
  EXPECT_TRUE(has(bench, "schemas   2, 1 refused")) << bench.output;
  EXPECT_TRUE(has(bench, "\nmask ")) << bench.output;
  EXPECT_EQ(run(FORGE_GRAMMAR " bench " + path("none")).status, 2);
}

}  // namespace
}  // namespace forge::testing
