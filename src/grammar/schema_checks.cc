// Is it a schema, and one whose keywords are all understood?
#include <algorithm>
#include <array>
#include <charconv>

#include "forge/core/quoted.h"
#include "formats.h"
#include "regex.h"
#include "schema_sets.h"

namespace forge::grammar {
namespace {

using Kind = SchemaValue::Kind;

/// What a keyword's value must be.
enum class Wants : std::uint8_t {
  anything,
  schema,
  schemas,
  schema_map,
  schema_or_schemas,
  count,
  number,
  bound,
  positive,
  text,
  texts,
  list,
  boolean,
  types,
  dependencies,
  text_lists,
  unsupported,
};

struct Keyword {
  std::string_view name;
  Wants wants;
};

constexpr Keyword kKeywords[] = {
    {"$dynamicRef", Wants::unsupported},
    {"$recursiveRef", Wants::unsupported},
    {"disallow", Wants::unsupported},  // of draft 3, as are the next two
    {"divisibleBy", Wants::unsupported},
    {"extends", Wants::unsupported},
    {"propertyDependencies", Wants::unsupported},  // a proposal
    {"$ref", Wants::text},
    {"$id", Wants::text},
    {"$anchor", Wants::text},
    {"additionalItems", Wants::schema},
    {"additionalProperties", Wants::schema},
    {"allOf", Wants::schemas},
    {"anyOf", Wants::schemas},
    {"contains", Wants::schema},
    {"dependencies", Wants::dependencies},
    {"dependentRequired", Wants::text_lists},
    {"dependentSchemas", Wants::schema_map},
    {"else", Wants::schema},
    {"enum", Wants::list},
    {"exclusiveMaximum", Wants::bound},
    {"exclusiveMinimum", Wants::bound},
    {"format", Wants::text},
    {"if", Wants::schema},
    {"items", Wants::schema_or_schemas},
    {"maxContains", Wants::count},
    {"maxItems", Wants::count},
    {"maxLength", Wants::count},
    {"maxProperties", Wants::count},
    {"maximum", Wants::number},
    {"minContains", Wants::count},
    {"minItems", Wants::count},
    {"minLength", Wants::count},
    {"minProperties", Wants::count},
    {"minimum", Wants::number},
    {"multipleOf", Wants::positive},
    {"not", Wants::schema},
    {"oneOf", Wants::schemas},
    {"pattern", Wants::text},
    {"patternProperties", Wants::schema_map},
    {"prefixItems", Wants::schemas},
    {"properties", Wants::schema_map},
    {"propertyNames", Wants::schema},
    {"then", Wants::schema},
    {"type", Wants::types},
    {"unevaluatedItems", Wants::schema},
    {"unevaluatedProperties", Wants::schema},
    {"uniqueItems", Wants::boolean},
};

constexpr std::string_view kTypeNames[] = {"null",   "boolean", "integer", "number",
                                           "string", "array",   "object"};

bool is_schema(const SchemaValue& v) { return v.is(Kind::boolean) || v.is(Kind::object); }
bool is_texts(const SchemaValue& v) {
  return v.is(Kind::list) && std::all_of(v.items.begin(), v.items.end(),
                                         [](const SchemaValue& i) { return i.is(Kind::text); });
}
bool is_schemas(const SchemaValue& v) {
  return v.is(Kind::list) && std::all_of(v.items.begin(), v.items.end(), is_schema);
}
bool is_count(const SchemaValue& v) {
  const auto value = v.is(Kind::number) ? decimal_of(v.text) : std::nullopt;
  return value && !value->negative && value->fraction.empty();
}
bool is_types(const SchemaValue& v) {
  const auto is_type = [](const SchemaValue& t) {
    return t.is(Kind::text) &&
           std::find(std::begin(kTypeNames), std::end(kTypeNames), t.text) != std::end(kTypeNames);
  };
  return is_type(v) || (v.is(Kind::list) && !v.items.empty() &&
                        std::all_of(v.items.begin(), v.items.end(), is_type));
}
template <class Fits>
bool is_map(const SchemaValue& v, const Fits& fits) {
  return v.is(Kind::object) && std::all_of(v.members.begin(), v.members.end(),
                                           [&](const auto& m) { return fits(m.value); });
}

/// What is accepted, where `v` is not; empty where it is.
std::string_view missing(const SchemaValue& v, Wants wants) {
  const auto unless = [](bool fits, std::string_view accepted) {
    return fits ? std::string_view() : accepted;
  };
  const auto number = v.is(Kind::number) ? decimal_of(v.text) : std::nullopt;
  switch (wants) {
    case Wants::anything:
    case Wants::unsupported:
      return "";
    case Wants::schema:
      return unless(is_schema(v), "an object or a boolean");
    case Wants::schemas:
      return unless(is_schemas(v), "a list of objects or booleans");
    case Wants::schema_or_schemas:
      return unless(is_schema(v) || is_schemas(v), "an object or a boolean, or a list of these");
    case Wants::schema_map:
      return unless(is_map(v, is_schema), "an object of schemas");
    case Wants::count:
      return unless(is_count(v), "an integer, 0 or above");
    case Wants::number:
      return unless(number.has_value(), "a number of at most 1000 digits");
    case Wants::bound:
      return unless(number || v.is(Kind::boolean), "a number of at most 1000 digits");
    case Wants::positive:
      return unless(number && !number->negative && !number->is_zero(), "a number above 0");
    case Wants::text:
      return unless(v.is(Kind::text), "a text");
    case Wants::texts:
      return unless(is_texts(v), "a list of texts");
    case Wants::list:
      return unless(v.is(Kind::list), "a list");
    case Wants::boolean:
      return unless(v.is(Kind::boolean), "true or false");
    case Wants::types:
      return unless(is_types(v), "null, boolean, integer, number, string, array, object or a list");
    case Wants::text_lists:
      return unless(is_map(v, is_texts), "an object of lists of texts");
    case Wants::dependencies:
      return unless(is_map(v, [](const SchemaValue& d) { return is_schema(d) || is_texts(d); }),
                    "an object of schemas or lists of texts");
  }
  return "";
}

std::string format_names() {
  std::string names;
  for (const std::string_view name : kFormats)
    names += (names.empty() ? "" : ", ") + std::string(name);
  return names;
}

/// Keywords that say nothing of instances, which may stand beside a $ref in every draft.
bool is_annotation(std::string_view name) {
  const auto is = [&](const Keyword& keyword) { return keyword.name == name; };
  return name == "$anchor" || name == "$ref" ||
         (std::none_of(std::begin(kKeywords), std::end(kKeywords), is) && name != "required");
}

}  // namespace

unsigned types_of(const SchemaValue& type) {
  unsigned bits = 0;
  const auto add = [&](const std::string& name) {
    for (unsigned i = 0; i < std::size(kTypeNames); ++i)
      bits |= name == kTypeNames[i] ? 1U << i : 0;
  };
  add(type.text);
  for (const SchemaValue& item : type.items) add(item.text);
  return bits;
}

void SchemaSets::refuse(const SchemaValue& at, const std::string& message) {
  compilation_.fail({GrammarError::Kind::unsupported, pointer_of(at), message});
}
void SchemaSets::invalid(const SchemaValue& at, const std::string& message) {
  compilation_.fail({GrammarError::Kind::invalid, pointer_of(at), message});
}

bool SchemaSets::check(const SchemaValue& schema) {
  const auto [place, is_new] = checked_.try_emplace(&schema, true);
  if (!is_new || compilation_.failed()) return !compilation_.failed();
  compilation_.spend(1 + schema.members.size());
  if (!is_schema(schema)) invalid(schema, "is no schema; accepted is an object or a boolean");
  for (const Keyword& keyword : kKeywords) {
    const SchemaValue* const value = schema.find(keyword.name);
    if (value == nullptr) continue;
    if (keyword.wants == Wants::unsupported) {
      refuse(*value, std::string(keyword.name) + " is not supported");
    }
    if (const std::string_view accepted = missing(*value, keyword.wants); !accepted.empty()) {
      invalid(*value,
              std::string(keyword.name) + " is not accepted; accepted is " + std::string(accepted));
    }
  }
  if (const SchemaValue* const required = schema.find("required")) {
    // In draft 3 it was a boolean beside the property.
    if (!is_texts(*required))
      invalid(*required, "required is not accepted; accepted is a list of texts");
  }
  if (const SchemaValue* const id = schema.find("id"); id != nullptr && id->is(Kind::text)) {
    refuse(*id, "id as a keyword of draft 4 is not supported; $id is");
  }
  const SchemaValue* const format = schema.find("format");
  if (format != nullptr && format->is(Kind::text) && !regex_of_format(format->text)) {
    refuse(*format, "format " + in_quotes(format->text) + " is not supported; accepted are " +
                        format_names());
  }
  if (schema.find("$ref") != nullptr && document_.root().find("$schema") == nullptr &&
      document_.root().find("definitions") != nullptr) {
    for (const auto& [name, value] : schema.members) {
      if (!is_annotation(name)) {
        refuse(value, name +
                          " beside $ref, which drafts before 2019-09 ignore: say which draft it "
                          "is by $schema");
      }
    }
  }
  return !compilation_.failed();
}

const SchemaValue* SchemaSets::keyword(const SchemaValue& schema, std::string_view name) const {
  if (document_.refs_hide_siblings() && name != "$ref" && schema.find("$ref") != nullptr) {
    return nullptr;
  }
  return schema.find(name);
}

const SchemaValue* SchemaSets::target_of_ref(const SchemaValue& schema) {
  const SchemaValue* const ref = schema.find("$ref");
  if (ref == nullptr) return nullptr;
  const SchemaValue* const target = document_.resolve(schema, ref->text);
  if (target == nullptr) {
    refuse(*ref, "$ref " + in_quotes(ref->text) + " names no schema of this document");
    return &document_.nothing();
  }
  return target;
}

std::uint64_t SchemaSets::count(const SchemaValue& schema, std::string_view name,
                                std::uint64_t otherwise) {
  const SchemaValue* const value = keyword(schema, name);
  if (value == nullptr) return otherwise;
  const auto decimal = decimal_of(value->text);
  if (!decimal || decimal->whole.size() > 18) return kMany;
  std::uint64_t result = 0;
  std::from_chars(decimal->whole.data(), decimal->whole.data() + decimal->whole.size(), result);
  return result;
}

DfaPtr SchemaSets::key_pattern(const std::string& pattern, const SchemaValue& at) {
  const auto [place, is_new] = patterns_.try_emplace(pattern);
  if (is_new) {
    const AtPlace here(compilation_, at);
    place->second = std::make_shared<const Dfa>(
        dfa_of_regex(pattern, RegexMatch::anywhere, pointer_of(at), compilation_));
  }
  return place->second;
}

Enter::Enter(SchemaSets& sets, const SchemaValue& schema)
    : sets_(sets), place_(sets.compilation(), schema) {
  constexpr std::size_t kDepthMax = 256;
  ok_ = sets.check(schema) && sets.compilation().spend(1);
  if (ok_ && schema.find("$ref") != nullptr) {
    if (std::find(sets.active_.begin(), sets.active_.end(), &schema) != sets.active_.end()) {
      sets.refuse(schema, "$ref leads back to itself without reading anything");
      ok_ = false;
    }
  }
  if (ok_ && sets.active_.size() >= kDepthMax) {
    sets.refuse(schema, "schemas that refer to each other are nested deeper than 256");
    ok_ = false;
  }
  sets.active_.push_back(&schema);
}

bool equal_values(const SchemaValue& a, const SchemaValue& b) {
  if (a.kind != b.kind) return false;
  switch (a.kind) {
    case Kind::null:
      return true;
    case Kind::boolean:
      return a.boolean == b.boolean;
    case Kind::text:
      return a.text == b.text;
    case Kind::number: {
      const auto x = decimal_of(a.text);
      const auto y = decimal_of(b.text);
      return x && y ? *x == *y : a.text == b.text;
    }
    case Kind::list:
      return std::equal(a.items.begin(), a.items.end(), b.items.begin(), b.items.end(),
                        equal_values);
    case Kind::object:
      break;
  }
  return a.members.size() == b.members.size() &&
         std::all_of(a.members.begin(), a.members.end(), [&](const auto& member) {
           const SchemaValue* const other = b.find(member.key);
           return other != nullptr && equal_values(member.value, *other);
         });
}

}  // namespace forge::grammar
