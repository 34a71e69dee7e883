#include "schema_document.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "forge/core/quoted.h"
#include "forge/json/events.h"
#include "uri.h"

namespace forge::grammar {
namespace {

using Kind = SchemaValue::Kind;

/// Builds the tree from the events of a text.
class TreeBuilder final : public json::Visitor {
 public:
  explicit TreeBuilder(SchemaValue& root) : root_(root) {}

  bool key(std::string_view key) override {
    const SchemaValue& object = *open_.back();
    const auto is_key = [&](const SchemaMember& member) { return member.key == key; };
    // Quadratic in the keys of one object, with a bound that keeps it short.
    if (object.members.size() < kSearched &&
        std::any_of(object.members.begin(), object.members.end(), is_key)) {
      return fail("has the key " + in_quotes(key) + " twice");
    }
    key_ = key;
    return true;
  }

  bool value(const json::Value& value) override {
    SchemaValue& place = next_place();
    if (const auto* const b = std::get_if<bool>(&value)) {
      place.kind = Kind::boolean;
      place.boolean = *b;
    } else if (const auto* const n = std::get_if<std::uint64_t>(&value)) {
      place.kind = Kind::number;
      place.text = std::to_string(*n);
    } else if (const auto* const i = std::get_if<std::int64_t>(&value)) {
      place.kind = Kind::number;
      place.text = std::to_string(*i);
    } else if (const auto* const f = std::get_if<json::Fraction>(&value)) {
      place.kind = Kind::number;
      place.text = f->text;
    } else if (const auto* const s = std::get_if<std::string_view>(&value)) {
      place.kind = Kind::text;
      place.text = *s;
    } else if (std::holds_alternative<json::Object>(value)) {
      place.kind = Kind::object;
      open_.push_back(&place);
    } else if (std::holds_alternative<json::Array>(value)) {
      place.kind = Kind::list;
      open_.push_back(&place);
    }
    return true;
  }

  bool end() override {
    SchemaValue& closed = *open_.back();
    if (closed.members.size() > kSearched && has_a_key_twice(closed)) {
      return fail("has a key twice in an object of " + std::to_string(closed.members.size()));
    }
    open_.pop_back();
    return true;
  }

 private:
  static constexpr std::size_t kSearched = 64;

  static bool has_a_key_twice(const SchemaValue& object) {
    std::vector<std::string_view> keys;
    keys.reserve(object.members.size());
    for (const auto& member : object.members) keys.push_back(member.key);
    std::sort(keys.begin(), keys.end());
    return std::adjacent_find(keys.begin(), keys.end()) != keys.end();
  }

  SchemaValue& next_place() {
    if (open_.empty()) return root_;
    SchemaValue& parent = *open_.back();
    if (parent.kind == Kind::list) return parent.items.emplace_back();
    return parent.members.emplace_back(SchemaMember{key_, {}}).value;
  }

  SchemaValue& root_;
  // The last of a list or object alone is open, so that its place does not move.
  std::vector<SchemaValue*> open_;
  std::string key_;
};

constexpr std::string_view kSchemaMembers[] = {"additionalItems",
                                               "additionalProperties",
                                               "contains",
                                               "contentSchema",
                                               "else",
                                               "if",
                                               "items",
                                               "not",
                                               "propertyNames",
                                               "then",
                                               "unevaluatedItems",
                                               "unevaluatedProperties"};
constexpr std::string_view kSchemaLists[] = {"allOf", "anyOf", "items", "oneOf", "prefixItems"};
constexpr std::string_view kSchemaMaps[] = {
    "$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"};

bool is_old_draft(std::string_view schema_uri) {
  for (const char* const draft : {"draft-04", "draft-06", "draft-07"}) {
    if (schema_uri.find(draft) != std::string_view::npos) return true;
  }
  return false;
}
bool is_known_draft(std::string_view uri) {
  if (uri.ends_with('#')) uri.remove_suffix(1);
  for (const char* const scheme : {"http://", "https://"}) {
    if (uri.starts_with(scheme)) uri.remove_prefix(std::string_view(scheme).size());
  }
  for (const char* const draft :
       {"draft-04", "draft-06", "draft-07", "draft/2019-09", "draft/2020-12"}) {
    if (uri == "json-schema.org/" + std::string(draft) + "/schema") return true;
  }
  return uri == "json-schema.org/schema";
}

}  // namespace

SchemaValue::SchemaValue() = default;
SchemaValue::SchemaValue(const SchemaValue&) = default;
SchemaValue::SchemaValue(SchemaValue&&) noexcept = default;
SchemaValue& SchemaValue::operator=(const SchemaValue&) = default;
SchemaValue& SchemaValue::operator=(SchemaValue&&) noexcept = default;
SchemaValue::~SchemaValue() = default;

const SchemaValue* SchemaValue::find(std::string_view key) const {
  for (const auto& [name_of_member, value] : members) {
    if (name_of_member == key) return &value;
  }
  return nullptr;
}

std::string pointer_of(const SchemaValue& value) {
  std::vector<const SchemaValue*> path;
  for (const SchemaValue* v = &value; v->parent != nullptr; v = v->parent) path.push_back(v);
  std::string pointer;
  std::reverse(path.begin(), path.end());
  for (const SchemaValue* step : path) {
    pointer += '/';
    for (const char c : step->name) {
      if (c == '~' || c == '/') {
        pointer += c == '~' ? "~0" : "~1";
      } else {
        pointer += c;
      }
    }
  }
  return pointer;
}

SchemaDocument::SchemaDocument(std::string_view text, Compilation& compilation)
    : compilation_(compilation) {
  anything_.kind = nothing_.kind = Kind::boolean;
  anything_.boolean = true;
  if (!compilation.spend(text.size())) return;
  TreeBuilder builder(root_);
  if (const auto read = json::visit(text, compilation.limits().depth_max, builder); !read) {
    compilation.fail({GrammarError::Kind::invalid, "", "the schema " + to_string(read.error())});
    return;
  }
  anything_.index = count_++;
  nothing_.index = count_++;
  number(root_);
  if (const SchemaValue* const draft = root_.find("$schema")) {
    if (!draft->is(Kind::text) || !is_known_draft(draft->text)) {
      compilation.fail({GrammarError::Kind::unsupported, "/$schema",
                        "$schema is " + in_quotes(draft->text) +
                            "; accepted are those of json-schema.org from draft-04 to 2020-12"});
    }
    refs_hide_siblings_ = is_old_draft(draft->text);
  }
  find_schemas(root_, "");
}

void SchemaDocument::number(SchemaValue& value) {
  value.index = count_++;
  for (std::size_t i = 0; i < value.items.size(); ++i) {
    value.items[i].parent = &value;
    value.items[i].name = std::to_string(i);
    number(value.items[i]);
  }
  for (auto& [key, member] : value.members) {
    member.parent = &value;
    member.name = key;
    number(member);
  }
}

void SchemaDocument::find_schemas(const SchemaValue& schema, const std::string& base) {
  if (!schema.is(Kind::object)) return;
  std::string inner = base;
  const SchemaValue* id = schema.find("$id");
  // Beside a $ref of an old draft, it is not one.
  if (refs_hide_siblings_ && schema.find("$ref") != nullptr) id = nullptr;
  if (id != nullptr && id->is(Kind::text)) {
    const std::string uri = resolved_uri(base, id->text);
    const std::size_t mark = std::min(uri.find('#'), uri.size());
    if (mark + 1 < uri.size()) {
      anchors_.try_emplace(uri, &schema);
    } else {
      inner = uri.substr(0, mark);
    }
  }
  if (inner != base || &schema == &root_) {
    bases_.emplace(&schema, inner);
    resources_.try_emplace(inner, &schema);
  }
  for (const char* const keyword : {"$anchor", "$dynamicAnchor"}) {
    const SchemaValue* const anchor = schema.find(keyword);
    if (anchor != nullptr && anchor->is(Kind::text)) {
      anchors_.try_emplace(inner + "#" + anchor->text, &schema);
    }
  }
  for (const std::string_view key : kSchemaMembers) {
    if (const SchemaValue* const member = schema.find(key)) find_schemas(*member, inner);
  }
  for (const std::string_view key : kSchemaLists) {
    if (const SchemaValue* const list = schema.find(key)) {
      for (const SchemaValue& item : list->items) find_schemas(item, inner);
    }
  }
  for (const std::string_view key : kSchemaMaps) {
    if (const SchemaValue* const map = schema.find(key)) {
      for (const auto& member : map->members) find_schemas(member.value, inner);
    }
  }
}

const SchemaValue& SchemaDocument::constant(const SchemaValue& value) {
  const SchemaValue*& place = constant_of_[&value];
  if (place == nullptr) {
    compilation_.spend(1);
    SchemaValue& schema = constants_.emplace_back();
    schema.kind = Kind::object;
    schema.index = count_++;
    schema.parent = value.parent;
    schema.name = value.name;
    schema.members.push_back({"const", value});
    place = &schema;
  }
  return *place;
}

std::string SchemaDocument::base_of(const SchemaValue& value) const {
  for (const SchemaValue* v = &value; v != nullptr; v = v->parent) {
    if (const auto found = bases_.find(v); found != bases_.end()) return found->second;
  }
  return "";
}

const SchemaValue* SchemaDocument::resolve(const SchemaValue& from,
                                           std::string_view reference) const {
  const std::string uri = resolved_uri(base_of(from), reference);
  const std::size_t mark = std::min(uri.find('#'), uri.size());
  const auto fragment =
      percent_decoded(std::string_view(uri).substr(std::min(mark + 1, uri.size())));
  if (!fragment) return nullptr;
  const auto resource = resources_.find(uri.substr(0, mark));
  if (!fragment->empty() && !fragment->starts_with('/')) {
    const auto anchor = anchors_.find(uri.substr(0, mark) + "#" + *fragment);
    return anchor == anchors_.end() ? nullptr : anchor->second;
  }
  if (resource == resources_.end()) return nullptr;
  const SchemaValue* value = resource->second;
  for (std::size_t at = 0; at < fragment->size() && value != nullptr;) {
    const std::size_t end = std::min(fragment->find('/', at + 1), fragment->size());
    std::string key;
    for (std::size_t i = at + 1; i < end; ++i) {
      const bool is_escape = (*fragment)[i] == '~' && i + 1 < end;
      if (is_escape) ++i;
      key += !is_escape ? (*fragment)[i] : (*fragment)[i] == '0' ? '~' : '/';
    }
    if (value->is(Kind::list)) {
      std::size_t place = value->items.size();
      const auto read = std::from_chars(key.data(), key.data() + key.size(), place);
      const bool is_place = read.ec == std::errc() && read.ptr == key.data() + key.size();
      value = is_place && place < value->items.size() ? &value->items[place] : nullptr;
    } else {
      value = value->find(key);
    }
    at = end;
  }
  return value;
}

}  // namespace forge::grammar
