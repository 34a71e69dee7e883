// The JSON-Schema-Test-Suite: of each schema that compiles, every valid instance is accepted, in
// several textual forms, and every invalid one is refused.
#include <gtest/gtest.h>

#include <iostream>

#include "forge/grammar/matcher.h"
#include "grammar/json_forms.h"
#include "grammar/small_vocabulary.h"
#include "grammar/suite.h"

namespace forge::grammar {
namespace {

using testing::accepts;
using testing::Json;
using testing::JsonForm;
using testing::kJsonForms;

/// format.json says that a format is an annotation unless it is asked to be more; here it always
/// is. What the formats are is checked by optional/format.
bool is_about_annotation(const testing::SuiteSchema& schema,
                         const testing::SuiteInstance& instance) {
  return schema.file == "format.json" && instance.data.is_string();
}

/// 1e308 has 309 digits without an exponent.
bool is_too_long(const Json& data) {
  return data.is_number() && testing::json_text(data, JsonForm::compact).size() > kNumberCharsMax;
}

TEST(SchemaSuite, extra_every_instance_of_a_schema_that_compiles) {
  if (!testing::has_suite()) GTEST_SKIP() << "an extra test: there is no " << FORGE_JSON_SCHEMA;
  std::size_t compiled = 0;
  std::size_t all = 0;
  for (const auto& schema : testing::read_suite(FORGE_JSON_SCHEMA)) {
    const bool is_main = !schema.file.starts_with("optional");
    all += is_main ? 1 : 0;
    const auto grammar = Grammar::from_json_schema(schema.schema.dump());
    if (!grammar) {
      const bool nothing = grammar.error().kind == GrammarError::Kind::empty;
      for (const auto& instance : schema.instances) {
        EXPECT_FALSE(nothing && instance.valid)
            << schema.file << ": " << schema.description << ": " << instance.data;
      }
      compiled += nothing && is_main ? 1 : 0;
      // Otherwise it is a keyword that is refused, and where it is in the schema is said.
      const auto place = Json::json_pointer(grammar.error().pointer);
      EXPECT_TRUE(nothing || (!place.empty() && schema.schema.contains(place)))
          << schema.file << ": " << schema.description << ": " << to_string(grammar.error());
      continue;
    }
    compiled += is_main ? 1 : 0;
    for (const auto& instance : schema.instances) {
      if (is_about_annotation(schema, instance)) continue;
      for (const JsonForm form : kJsonForms) {
        const std::string text = testing::json_text(instance.data, form);
        if (is_too_long(instance.data)) continue;
        EXPECT_EQ(accepts(*grammar, text), instance.valid)
            << schema.file << ": " << schema.description << ": " << instance.description << '\n'
            << schema.schema << '\n'
            << text;
      }
    }
  }
  std::cout << compiled << " of " << all << " schemas compile\n";
  EXPECT_GE(compiled, 310);
}

}  // namespace
}  // namespace forge::grammar
