// Random schemas of a small language, against a validator that is as plain as can be.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

#include "forge/grammar/matcher.h"
#include "grammar/json_forms.h"

namespace forge::grammar {
namespace {

using testing::Json;

bool is_type(const Json& value, const std::string& type) {
  if (type == "null") return value.is_null();
  if (type == "boolean") return value.is_boolean();
  if (type == "integer")
    return value.is_number() && value.get<double>() == std::floor(value.get<double>());
  if (type == "number") return value.is_number();
  if (type == "string") return value.is_string();
  return type == "array" ? value.is_array() : value.is_object();
}

bool is_valid(const Json& schema, const Json& value);

int valid_branches(const Json& branches, const Json& value) {
  int count = 0;
  for (const Json& branch : branches) count += is_valid(branch, value) ? 1 : 0;
  return count;
}

bool are_members_valid(const Json& schema, const Json& object) {
  for (const Json& name : schema.value("required", Json::array())) {
    if (!object.contains(name.get<std::string>())) return false;
  }
  if (object.size() < schema.value("minProperties", std::size_t{0})) return false;
  if (object.size() > schema.value("maxProperties", std::size_t{99})) return false;
  for (const auto& [key, member] : object.items()) {
    if (schema.contains("propertyNames") && !is_valid(schema["propertyNames"], key)) return false;
    bool named = false;
    if (schema.contains("properties") && schema["properties"].contains(key)) {
      named = true;
      if (!is_valid(schema["properties"][key], member)) return false;
    }
    // The one pattern that the maker has: keys that begin with "a".
    if (schema.contains("patternProperties") && key.starts_with("a")) {
      named = true;
      if (!is_valid(schema["patternProperties"]["^a"], member)) return false;
    }
    if (!named && schema.contains("additionalProperties") &&
        !is_valid(schema["additionalProperties"], member)) {
      return false;
    }
  }
  return true;
}

bool are_items_valid(const Json& schema, const Json& array) {
  if (array.size() < schema.value("minItems", std::size_t{0})) return false;
  if (array.size() > schema.value("maxItems", std::size_t{99})) return false;
  const Json prefix = schema.value("prefixItems", Json::array());
  std::size_t contained = 0;
  for (std::size_t i = 0; i < array.size(); ++i) {
    if (i < prefix.size() && !is_valid(prefix[i], array[i])) return false;
    if (i >= prefix.size() && schema.contains("items") && !is_valid(schema["items"], array[i])) {
      return false;
    }
    if (schema.contains("contains") && is_valid(schema["contains"], array[i])) ++contained;
  }
  if (!schema.contains("contains")) return true;
  return contained >= schema.value("minContains", std::size_t{1}) &&
         contained <= schema.value("maxContains", std::size_t{99});
}

bool is_valid(const Json& schema, const Json& value) {
  if (schema.is_boolean()) return schema.get<bool>();
  if (schema.contains("type") && !is_type(value, schema["type"])) return false;
  if (schema.contains("const") && schema["const"] != value) return false;
  if (schema.contains("enum") &&
      std::find(schema["enum"].begin(), schema["enum"].end(), value) == schema["enum"].end()) {
    return false;
  }
  if (value.is_number()) {
    const double number = value;
    if (number < schema.value("minimum", -1e9) || number > schema.value("maximum", 1e9))
      return false;
    if (number >= schema.value("exclusiveMaximum", 1e9)) return false;
    if (schema.contains("multipleOf") &&
        std::fmod(number, schema["multipleOf"].get<double>()) != 0) {
      return false;
    }
  }
  if (value.is_string()) {
    const std::size_t length = value.get<std::string>().size();
    if (length < schema.value("minLength", std::size_t{0})) return false;
    if (length > schema.value("maxLength", std::size_t{99})) return false;
    if (schema.contains("pattern") && value.get<std::string>().find('b') == std::string::npos) {
      return false;
    }
  }
  if (value.is_array() && !are_items_valid(schema, value)) return false;
  if (value.is_object() && !are_members_valid(schema, value)) return false;
  if (schema.contains("allOf") &&
      valid_branches(schema["allOf"], value) != static_cast<int>(schema["allOf"].size())) {
    return false;
  }
  if (schema.contains("anyOf") && valid_branches(schema["anyOf"], value) == 0) return false;
  if (schema.contains("oneOf") && valid_branches(schema["oneOf"], value) != 1) return false;
  if (schema.contains("not") && is_valid(schema["not"], value)) return false;
  if (schema.contains("if")) {
    const char* const branch = is_valid(schema["if"], value) ? "then" : "else";
    if (schema.contains(branch) && !is_valid(schema[branch], value)) return false;
  }
  return true;
}

class Maker {
 public:
  explicit Maker(unsigned seed) : random_(seed) {}

  Json schema(int depth) {
    if (below(12) == 0) return below(3) > 0;
    Json result = Json::object();
    for (int keywords = 1 + below(3); keywords > 0; --keywords) add_keyword(result, depth);
    return result;
  }

  Json value(int depth) {
    switch (below(depth > 0 ? 9 : 6)) {
      case 0:
        return nullptr;
      case 1:
        return below(2) == 0;
      case 2:
        return below(9) - 4;
      case 3:
        return 0.5 * (below(9) - 4);
      case 4:
      case 5:
        return kTexts[below(6)];
      case 6: {
        Json array = Json::array();
        for (int size = below(4); size > 0; --size) array.push_back(value(depth - 1));
        return array;
      }
      default:
        break;
    }
    Json object = Json::object();
    for (int size = below(4); size > 0; --size) object[kTexts[below(6)]] = value(depth - 1);
    return object;
  }

 private:
  static constexpr const char* kTexts[] = {"", "a", "b", "ab", "abc", "c"};
  static constexpr const char* kTypes[] = {"null",   "boolean", "integer", "number",
                                           "string", "array",   "object"};

  int below(int limit) { return static_cast<int>(random_() % static_cast<unsigned>(limit)); }
  Json schemas(int depth) {
    Json list = Json::array();
    for (int size = 1 + below(3); size > 0; --size) list.push_back(schema(depth - 1));
    return list;
  }

  /// Those after the first 11 have schemas in them.
  void add_keyword(Json& to, int depth) {
    const int keyword = below(depth > 0 ? 26 : 11);
    if (keyword < 11) {
      add_plain_keyword(to, keyword);
    } else {
      add_nested_keyword(to, keyword, depth);
    }
  }

  void add_plain_keyword(Json& to, int keyword) {
    switch (keyword) {
      case 0:
      case 1:
        to["type"] = kTypes[below(7)];
        break;
      case 2:
        to["const"] = value(1);
        break;
      case 3:
        to["enum"] = {value(1), value(1), value(0)};
        break;
      case 4:
        to["minimum"] = below(5) - 2;
        break;
      case 5:
        to["maximum"] = 0.5 * (below(7) - 2);
        break;
      case 6:
        to["multipleOf"] = below(2) == 0 ? 1.5 : 2;
        break;
      case 7:
        to["minLength"] = below(3);
        break;
      case 8:
        to["maxLength"] = below(3);
        break;
      case 9:
        to["pattern"] = "b";
        break;
      default:
        to["exclusiveMaximum"] = below(4);
        break;
    }
  }

  void add_nested_keyword(Json& to, int keyword, int depth) {
    switch (keyword) {
      case 11:
        to["items"] = schema(depth - 1);
        break;
      case 12:
        to["prefixItems"] = schemas(depth);
        break;
      case 13:
        to["minItems"] = below(3);
        break;
      case 14:
        to["maxItems"] = below(3);
        break;
      case 15:
        to["contains"] = schema(depth - 1);
        if (below(2) == 0) to["minContains"] = below(3);
        if (below(3) == 0) to["maxContains"] = below(3);
        break;
      case 16:
      case 17:
        to["properties"][kTexts[below(6)]] = schema(depth - 1);
        break;
      case 18:
        to["required"] = {kTexts[below(6)]};
        break;
      case 19:
        to["additionalProperties"] = schema(depth - 1);
        break;
      case 20:
        if (below(2) == 0) {
          to["patternProperties"]["^a"] = schema(depth - 1);
        } else {
          to["propertyNames"] = schema(0);
        }
        break;
      case 21:
        to[below(2) == 0 ? "minProperties" : "maxProperties"] = below(3);
        break;
      case 22:
        to["anyOf"] = schemas(depth);
        break;
      case 23:
        to["oneOf"] = schemas(depth);
        break;
      case 24:
        to[below(2) == 0 ? "not" : "allOf"] = Json();
        add_logic(to, depth);
        break;
      default:
        to["if"] = schema(depth - 1);
        to["then"] = schema(depth - 1);
        if (below(2) == 0) to["else"] = schema(depth - 1);
        break;
    }
  }

  void add_logic(Json& to, int depth) {
    if (to.contains("not")) to["not"] = schema(depth - 1);
    if (to.contains("allOf")) to["allOf"] = schemas(depth);
  }

  std::mt19937 random_;
};

TEST(RandomSchemas, accept_what_is_valid_and_nothing_else) {
  int compiled = 0;
  int valid = 0;
  int refused = 0;
  for (unsigned seed = 0; seed < 3000; ++seed) {
    Maker maker(seed);
    const Json schema = maker.schema(2);
    const auto grammar = Grammar::from_json_schema(schema.dump());
    if (!grammar && grammar.error().kind != GrammarError::Kind::empty) {
      ++refused;
      EXPECT_NE(grammar.error().kind, GrammarError::Kind::invalid) << schema;
      continue;
    }
    ++compiled;
    for (int i = 0; i < 30; ++i) {
      const Json value = maker.value(2);
      const bool expected = is_valid(schema, value);
      valid += expected ? 1 : 0;
      bool accepted = false;
      if (grammar) {
        const auto form = testing::kJsonForms[i % 5];
        Matcher matcher(*grammar);
        accepted = matcher.accept(testing::json_text(value, form)).has_value() && matcher.can_end();
      }
      EXPECT_EQ(accepted, expected) << "seed " << seed << ": " << schema << "\n" << value;
    }
    if (!grammar) continue;
    // What it closes with is valid, too.
    const std::string text = Matcher(*grammar).closing_text(2000);
    ASSERT_TRUE(Json::accept(text)) << "seed " << seed << ": " << schema << "\n" << text;
    EXPECT_TRUE(is_valid(schema, Json::parse(text))) << "seed " << seed << ": " << schema << "\n"
                                                     << text;
  }
  EXPECT_GT(compiled, 2700);
  EXPECT_GT(valid, 20000);
  EXPECT_LT(refused, 150);
}

}  // namespace
}  // namespace forge::grammar
