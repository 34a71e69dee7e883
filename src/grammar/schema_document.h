// A schema's text as a tree, with what its references lead to.
//
// Numbers keep the text that they have, so that bounds are exact.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "compilation.h"

namespace forge::grammar {

struct SchemaMember;

struct SchemaValue {
  enum class Kind : std::uint8_t { null, boolean, number, text, list, object };
  Kind kind = Kind::null;
  bool boolean = false;
  std::string text;                   ///< of a text; of a number as written
  std::vector<SchemaValue> items;     ///< of a list
  std::vector<SchemaMember> members;  ///< of an object

  const SchemaValue* parent = nullptr;
  std::string name;         ///< in the parent: key or index
  std::uint32_t index = 0;  ///< in the order of the text; unique in the document

  SchemaValue();
  SchemaValue(const SchemaValue&);
  SchemaValue(SchemaValue&&) noexcept;
  SchemaValue& operator=(const SchemaValue&);
  SchemaValue& operator=(SchemaValue&&) noexcept;
  ~SchemaValue();

  bool is(Kind what) const { return kind == what; }
  const SchemaValue* find(std::string_view key) const;
};

struct SchemaMember {
  std::string key;
  SchemaValue value;
};

/// "/properties/a", as JSON pointers are written.
std::string pointer_of(const SchemaValue& value);

class SchemaDocument {
 public:
  /// Errors, as the compilation's: not JSON; a key twice; nested too deep.
  SchemaDocument(std::string_view text, Compilation& compilation);
  SchemaDocument(const SchemaDocument&) = delete;
  SchemaDocument& operator=(const SchemaDocument&) = delete;

  const SchemaValue& root() const { return root_; }
  /// The schemas true and false.
  const SchemaValue& anything() const { return anything_; }
  const SchemaValue& nothing() const { return nothing_; }
  /// The schema {"const": value}.
  const SchemaValue& constant(const SchemaValue& value);

  /// What `$ref: reference` at `from` names; null if the document has no such schema.
  const SchemaValue* resolve(const SchemaValue& from, std::string_view reference) const;

  /// Is it a document of draft 7 or before, in which a $ref hides the keywords beside it?
  bool refs_hide_siblings() const { return refs_hide_siblings_; }

 private:
  void number(SchemaValue& value);
  void find_schemas(const SchemaValue& schema, const std::string& base);
  std::string base_of(const SchemaValue& value) const;

  Compilation& compilation_;
  std::uint32_t count_ = 0;
  SchemaValue root_;
  SchemaValue anything_;
  SchemaValue nothing_;
  std::deque<SchemaValue> constants_;
  std::unordered_map<const SchemaValue*, const SchemaValue*> constant_of_;
  std::unordered_map<const SchemaValue*, std::string> bases_;  ///< of those with an $id
  std::map<std::string, const SchemaValue*, std::less<>> resources_;
  std::map<std::string, const SchemaValue*, std::less<>> anchors_;  ///< "uri#name"
  bool refs_hide_siblings_ = false;
};

}  // namespace forge::grammar
